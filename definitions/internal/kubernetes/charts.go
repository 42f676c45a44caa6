package kubernetes

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// chartField is where a kind of object names charts in chart repositories. repository, chart and version are relative to at; secret, the
// name of a Secret with username and password, and its namespace are relative to the object.
type chartField struct {
	kind, at, repository, chart, version, secret, namespace string
}

// clusterRepo is the kind of Rancher's repositories, which are in no namespace.
const (
	clusterRepo         = "catalog.cattle.io/ClusterRepo"
	secretOfClusterRepo = "spec.clientSecret.namespace"
)

var chartFields = []chartField{
	{"helm.cattle.io/HelmChart", "spec", "repo", "chart", "version", "spec.authSecret.name", ""},
	{clusterRepo, "spec", "url", "", "", "spec.clientSecret.name", secretOfClusterRepo},
	{"fleet.cattle.io/HelmOp", "spec.helm", "repo", "chart", "version", "spec.helmSecretName", ""},
	{"kargo.akuity.io/Warehouse", "spec.subscriptions[].chart", "repoURL", "name", "semverConstraint", "", ""},
	{"zarf.dev/ZarfPackageConfig", "components[].charts[]", "url", "repoName name", "version", "", ""},
}

// chartKinds returns what resolves the objects of the table, and Rancher's clusters.
func chartKinds() map[string]resolver {
	all := map[string]resolver{rancherCluster: resolveRancherCluster}
	for _, field := range chartFields {
		all[field.kind] = resolveCharts
	}
	return all
}

func resolveCharts(c *Cluster, o *object) {
	for _, field := range chartFields {
		if field.kind != o.groupKind() {
			continue
		}
		for _, p := range node.At(o.node, field.at) {
			field.add(c, o, p.Value)
		}
	}
}

// text returns the first of several values.
func textOf(n *node.Node, keys string) (text string) {
	for key := range strings.FieldsSeq(keys) {
		text = cmp.Or(text, n.Get(key).Text())
	}
	return text
}

func (f chartField) add(c *Cluster, o *object, n *node.Node) {
	address := n.Get(f.repository)
	isGit := n.Get("gitPath") != nil || strings.Contains(address.Text(), ".git")
	if !isClassicHelm(address.Text()) || isGit && f.kind == "zarf.dev/ZarfPackageConfig" {
		return
	}
	if scanner.IsTemplate(address.Text() + textOf(n, f.chart)) {
		c.Skip(o.at(address), model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
		return
	}
	e := scanner.Entry{At: o.at(address), Address: address.Text()}
	e.Format, e.Consumer = model.Kubernetes, model.Helm
	e.OfCharts(textOf(n, f.chart), n.Get(f.version).Text())
	e.Definition.Auth = &regcheck.Auth{}
	setChartTLS(&e.Registry, o, n)
	if name := firstText(o.node, f.secret); name != "" {
		f.addCredentials(c, o, &e, name)
	}
	e.Definition.Auth.PassCredentials = n.Get("authPassCredentials").Bool()
	e.Add(c.Scanner)
}

// firstText returns the text at a path, "" for no path.
func firstText(n *node.Node, path string) string {
	for _, p := range node.At(n, path) {
		return p.Value.Text()
	}
	return ""
}

// inNamespace returns the object as if it were in the namespace that a path names: of objects without one, and their Secrets.
func (o *object) inNamespace(path string) *object {
	namespace := firstText(o.node, path)
	if namespace == "" {
		return o
	}
	of := *o
	of.namespace = namespace
	return &of
}

func (f chartField) addCredentials(c *Cluster, o *object, e *scanner.Entry, name string) {
	found, g := c.secret(o.inNamespace(f.namespace), name)
	if lacks(&e.Registry, g); g != nil {
		return
	}
	e.Secret = found.place()
	useLogin(c, &e.Registry, found)
}

// useLogin sets username and password of a Secret.
func useLogin(c *Cluster, r *model.Registry, o *object) {
	login := o.login(r)
	if login.Username == "" || login.Password == "" {
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "The Secret %s lacks a username or a password.", scanner.Shown(o.name))
		return
	}
	scanner.SetAuth(r, login)
	r.Notices = append(r.Notices, o.plainNotices(c)...)
}

// setConnection sets how a chart in an OCI registry is reached, with notices. n is nil for other content.
func setConnection(r *model.Registry, o *object, n *node.Node) {
	if n.Get("insecurePlainHttp").Bool() || n.Get("plainHTTP").Bool() {
		scanner.SetPlainHTTP(r, "Helm")
		return
	}
	setChartTLS(r, o, n)
	r.Notices = append(r.Notices, scanner.ConnectionNotices(r.Definition.Endpoint, r.Definition.Auth.TLS)...)
}

// setsConnection reports whether a chart says how its registry is reached, which a reference has no place for.
func setsConnection(o *object, n *node.Node) bool {
	r := model.Registry{Definition: regcheck.Definition{Auth: &regcheck.Auth{}}}
	setConnection(&r, o, n)
	return r.Notices != nil || r.Definition.Auth.TLS.Enabled
}

// setChartTLS sets the CA that k3s has as PEM and Rancher as base64. Fleet has insecureSkipTLSVerify next to the object with the chart.
func setChartTLS(r *model.Registry, o *object, n *node.Node) {
	tls := &r.Definition.Auth.TLS
	tls.CA, _ = scanner.PemBlocks([]byte(n.Get("repoCA").Text()))
	if bundle := n.Get("caBundle").Text(); bundle != "" {
		tls.CA = bundleOf(bundle)
	}
	tls.InsecureSkipVerify = o.node.Get("spec", "insecureSkipTLSVerify").Bool()
	tls.Enabled = *tls != regcheck.TLS{}
}

// bundleOf returns the certificates of a PEM in base64, or the one in base64 that Rancher reads.
func bundleOf(text string) string {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	if certificate, err := x509.ParseCertificate(decoded); err == nil {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
	}
	certificates, _ := scanner.PemBlocks(decoded)
	return certificates
}

// rancherCluster is the kind of a cluster whose nodes Rancher configures.
const rancherCluster = "provisioning.cattle.io/Cluster"

// resolveRancherCluster adds the registries of a cluster of RKE2 or k3s that Rancher creates: mirrors, and hosts with credentials.
func resolveRancherCluster(c *Cluster, o *object) {
	registries := o.node.Get("spec", "rkeConfig", "registries")
	configs, used := members(registries.Get("configs")), map[string]bool{}
	for _, mirror := range registries.Get("mirrors").Pairs() {
		for _, endpoint := range mirror.Value.Get("endpoint").Items() {
			host := scanner.HostOf(endpoint.Text())
			used[host] = true
			c.addRancherRegistry(o, endpoint, endpoint.Text(), configs[host])
		}
	}
	for _, config := range registries.Get("configs").Pairs() {
		if !used[config.Key] {
			c.addRancherRegistry(o, config.Value, config.Key, config.Value)
		}
	}
}

func (c *Cluster) addRancherRegistry(o *object, at *node.Node, address string, config *node.Node) {
	e := scanner.Entry{At: o.at(at), Address: address, Path: scanner.PathIgnored}
	e.Format, e.Consumer = model.Kubernetes, model.Containerd
	tls := regcheck.TLS{CA: bundleOf(config.Get("caBundle").Text()), InsecureSkipVerify: config.Get("insecureSkipVerify").Bool()}
	tls.Enabled = tls != regcheck.TLS{}
	e.Definition.Auth = &regcheck.Auth{TLS: tls}
	if name := config.Get("authConfigSecretName").Text(); name != "" {
		found, g := c.secret(o, name)
		if lacks(&e.Registry, g); g == nil {
			e.Secret = found.place()
			useLogin(c, &e.Registry, found)
		}
	}
	if config.Get("tlsSecretName").Text() != "" {
		scanner.SetUnresolved(&e.Registry, model.UnresolvedConfigFile, "The client certificate of a Secret in tlsSecretName is not read.")
	}
	e.Add(c.Scanner)
}
