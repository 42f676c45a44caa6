package kubernetes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/argorepo"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/secret"
)

// argoKinds has what resolves the objects of Argo CD.
var argoKinds = map[string]resolver{
	"Secret":                     resolveArgoSecret,
	"ConfigMap":                  resolveUpdaterConfig,
	updaterFile:                  resolveUpdaterFile,
	bitnamiSecret:                resolveArgoUnreadable,
	externalSecret:               resolveArgoUnreadable,
	"argoproj.io/Application":    resolveApplication,
	"argoproj.io/ApplicationSet": resolveApplicationSet,
}

// argoSecrets is what the Secrets of Argo CD have.
type argoSecrets struct {
	readers, writers argorepo.Set
	of               map[*argorepo.Repository]*argoSecret
	bySecret         map[*object]*argoSecret
	namespaces       map[string]bool
	certificates     argorepo.Index[*certificateText] // by host
	unreadable       *gap                             // Secrets exist whose URL is not known
}

// certificateText is a value of the ConfigMap argocd-tls-certs-cm.
type certificateText struct {
	text   string
	blocks *string // its certificates, nil until they are needed
}

// Same reports whether the texts are the same.
func (t *certificateText) Same(other *certificateText) bool { return t.text == other.text }

func (t *certificateText) pem() string {
	if t.blocks == nil {
		certificates, _ := scanner.PemBlocks([]byte(t.text))
		t.blocks = &certificates
	}
	return *t.blocks
}

// argoSecret is a Secret with a repository or a credential template.
type argoSecret struct {
	argorepo.Repository
	o        *object
	template bool
	write    bool
	gap      *gap   // why a credential is not known
	urlGap   *gap   // why the URL is not known
	wrong    string // the key for which Argo CD rejects the Secret
}

// argoLabel returns the label by which Argo CD finds its Secrets, for a Secret and what creates one.
func (o *object) argoLabel() string {
	for _, path := range [][]string{{"metadata"}, {"spec", "template", "metadata"}, {"spec", "target", "template", "metadata"}} {
		if label := o.node.Get(path...).Get("labels", "argocd.argoproj.io/secret-type").Text(); label != "" {
			return label
		}
	}
	return ""
}

// argoCD returns what the Secrets of Argo CD have, which are read once.
func (c *Cluster) argoCD() *argoSecrets {
	if c.argo != nil {
		return c.argo
	}
	c.argo = &argoSecrets{of: map[*argorepo.Repository]*argoSecret{}, bySecret: map[*object]*argoSecret{}, namespaces: map[string]bool{}}
	for _, o := range c.objects {
		switch label := o.argoLabel(); {
		case o.kind == "ConfigMap" && o.name == "argocd-tls-certs-cm":
			for _, p := range o.node.Get("data").Pairs() {
				c.argo.certificates.Add(c.argo.place(o), p.Key, &certificateText{text: p.Value.Text()})
			}
		case !scanner.IsOneOf(label, "repository", "repo-creds", "repository-write", "repo-write-creds"):
		case o.kind == "Secret":
			c.argo.add(readArgoSecret(o, label))
		default:
			c.argo.unreadable = gapf(model.UnresolvedEncrypted, "A %s creates a Secret of Argo CD, which may have the credentials. %s",
				o.kind, readInstead)
		}
	}
	return c.argo
}

func (a *argoSecrets) add(r *argoSecret) {
	a.namespaces[r.o.namespace] = true
	a.of[&r.Repository], a.bySecret[r.o] = r, r
	set := a.set(r)
	switch {
	case r.urlGap != nil && r.urlGap.reason != model.UnresolvedIncomplete:
		a.unreadable = gapf(r.urlGap.reason, "The URL in the Secret %q is not known, which may have the credentials. %s",
			dockerauth.Show(r.o.name), readInstead)
	case r.urlGap != nil: // Kubernetes rejects the Secret
	case r.template:
		set.AddTemplate(&r.Repository, a.place(r.o))
	default:
		set.AddRepository(&r.Repository, a.place(r.o))
	}
}

func readArgoSecret(o *object, label string) *argoSecret {
	r := &argoSecret{o: o, template: strings.HasSuffix(label, "creds"), write: strings.Contains(label, "write")}
	address := func(key string) string { return r.text(key, &r.urlGap) }
	value := func(key string) string { return r.text(key, &r.gap) }
	r.URL, r.Type, r.Project = address("url"), address("type"), address("project")
	r.Username, r.Password = value("username"), secret.String(value("password"))
	r.Certificate, r.Key = value("tlsClientCertData"), secret.String(value("tlsClientCertKey"))
	r.Proxy, r.NoProxy = value("proxy"), value("noProxy")
	r.EnableOCI, r.ForceHTTP = r.boolean("enableOCI"), r.boolean("insecureOCIForceHttp")
	r.Insecure, r.AzureIdentity = r.boolean("insecure"), r.boolean("useAzureWorkloadIdentity")
	r.GitCredentials = slices.ContainsFunc([]string{"bearerToken", "sshPrivateKey", "githubAppPrivateKey",
		"azureServicePrincipalClientSecret"},
		func(key string) bool { return o.secretValue(key).at != nil })
	r.Unknown = r.gap != nil || r.wrong != ""
	return r
}

// text returns a value of the Secret. A value that is not known sets the gap.
func (r *argoSecret) text(key string, g **gap) string {
	v := r.o.secretValue(key)
	switch {
	case v.at == nil || v.at.Text() == "":
	case isSOPS(v.at):
		v.text, v.gap = "", gapf(model.UnresolvedEncrypted, "The Secret %q is encrypted with SOPS. %s", dockerauth.Show(r.o.name),
			readInstead)
	case !v.at.IsText():
		r.wrong = key
	case scanner.IsMask(v.text):
		v.gap = gapf(model.UnresolvedMasked, "The value %q of the Secret %q is masked.", key, dockerauth.Show(r.o.name))
	}
	if *g == nil {
		*g = v.gap
	}
	if v.gap != nil {
		return ""
	}
	return v.text
}

// unusable returns why the repository cannot be used as it is in the Secret, nil if it can.
func (r *argoSecret) unusable() *gap {
	switch {
	case r == nil:
		return nil
	case r.wrong != "":
		return gapf(model.UnresolvedIncomplete, "Argo CD cannot read the Secret %q because of the value of %s.", dockerauth.Show(r.o.name),
			r.wrong)
	}
	return r.gap
}

// boolean returns a value that Argo CD reads as strconv.ParseBool does. For another value it ignores the whole Secret.
func (r *argoSecret) boolean(key string) bool {
	text := r.text(key, &r.gap)
	value, err := strconv.ParseBool(text)
	if err != nil && text != "" {
		r.wrong = key
	}
	return value
}

func resolveArgoUnreadable(c *Cluster, o *object) {
	switch {
	case o.argoLabel() == "":
	case o.kind == "SealedSecret":
		c.Skip(o.at(nil), model.SkipEncrypted, "The SealedSecret with a repository of Argo CD is encrypted. %s", readInstead)
	default:
		c.Skip(o.at(nil), model.SkipTemplate,
			"The %s is a template for a repository of Argo CD, whose values are in another store. %s", o.kind, readInstead)
	}
}

func resolveArgoSecret(c *Cluster, o *object) {
	r := c.argoCD().bySecret[o]
	if r == nil {
		return
	}
	at := o.at(o.secretValue("url").at)
	used := &argoUse{argoCD: c.argoCD(), o: o, Repository: r.Repository, from: r, gap: r.gap}
	if r.template {
		used.Insecure = false // which Argo CD ignores
	} else {
		used.inherit()
	}
	if !r.isRegistry(c, at, used) {
		return
	}
	e := scanner.Entry{At: at, Address: r.URL}
	if isClassicHelm(r.URL) {
		e.OfCharts("", "")
	}
	if r.template {
		r.templateNotices(&e, used.argoCD)
	} else {
		r.repositoryNotices(&e, used)
	}
	if r.write {
		scanner.AddNotice(&e.Registry, model.NoticeNotUsedByConsumer, "Argo CD uses this Secret only to push to Git repositories.")
	}
	if r.Password != "" {
		e.Notices = append(e.Notices, o.plainNotices(c)...)
	}
	used.add(c, e)
}

func (r *argoSecret) repositoryNotices(e *scanner.Entry, used *argoUse) {
	a := used.argoCD
	if _, count := a.set(r).Repository(r.URL, r.Project, a.place(r.o)); count > 1 {
		scanner.AddNotice(&e.Registry, model.NoticeConflictingEntries,
			"Another Secret has this URL and other values. Argo CD uses any one of them, by chance. Remove all but one.")
	}
	switch {
	case strings.HasPrefix(r.URL, "oci://") && used.Type != "oci":
		scanner.AddNotice(&e.Registry, model.NoticeTypeMissing,
			"Argo CD uses the repository for Applications, but its own test of the connection fails. Set type to oci.")
	case r.EnableOCI && !used.EnableOCI:
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField,
			"The credential template replaces enableOCI, so that Argo CD's own test of the connection fails. Set enableOCI in the "+
				"template too.")
	}
}

func (r *argoSecret) templateNotices(e *scanner.Entry, a *argoSecrets) {
	_, count := a.set(r).Template(r.URL, a.place(r.o))
	if count > 1 {
		scanner.AddNotice(&e.Registry, model.NoticeConflictingEntries,
			"Another credential template has this URL and other values. Argo CD uses any one of them, by chance. Remove all but one.")
	}
	if r.o.secretValue("insecure").at != nil {
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField,
			"A credential template has no insecure: Argo CD ignores it. Set it in the Secrets of the repositories.")
	}
	switch {
	case count == 0:
		scanner.AddNotice(&e.Registry, model.NoticeNotUsedByConsumer,
			"Argo CD uses this credential template for no repository, because it cannot compare an IP address with a port and without a "+
				"scheme. Use a host name, or repositories of type oci.")
	case !strings.HasSuffix(r.URL, "/"):
		scanner.AddNotice(&e.Registry, model.NoticePrefixWithoutBoundary,
			"Argo CD uses these credentials for every URL that begins like this one, even in the middle of a name, such as %s. End the "+
				"URL with /, if the repositories that use it have a path.", dockerauth.Show(argorepo.Longer(r.URL)))
	}
}

// set returns where a Secret and the templates for it are.
func (a *argoSecrets) set(r *argoSecret) *argorepo.Set {
	if r != nil && r.write {
		return &a.writers
	}
	return &a.readers
}

// isClassicHelm reports whether the URL of a Helm repository is that of a web server with an index.yaml.
func isClassicHelm(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// isRegistry reports whether the Secret is for an OCI registry or a chart repository, and adds why it is not. Argo CD also uses a Helm
// repository as an OCI registry whose template does not repeat enableOCI.
func (r *argoSecret) isRegistry(c *Cluster, at model.Source, used *argoUse) bool {
	helm, enabled := used.Type == "helm", used.EnableOCI || r.EnableOCI
	hasScheme := strings.Contains(r.URL, "://")
	switch {
	case r.wrong != "":
		c.Problem(at, model.ProblemWrongShape,
			"Argo CD cannot read the Secret: the value of %s must be text, such as \"true\" in quotes for a boolean.", r.wrong)
	case r.urlGap != nil && r.urlGap.reason == model.UnresolvedTemplate:
		c.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
	case r.urlGap != nil && r.urlGap.reason == model.UnresolvedEncrypted:
		c.Skip(at, model.SkipEncrypted, "%s", r.urlGap.detail)
	case r.urlGap != nil:
		c.Problem(at, model.ProblemInvalidBase64, "%s", r.urlGap.detail)
	case r.URL == "":
		c.Problem(at, model.ProblemNoHost, "The Secret has no url.")
	case strings.HasPrefix(r.URL, "oci://"), helm && enabled && !hasScheme:
		return true
	case used.Type == "oci":
		c.Problem(at, model.ProblemWrongShape, "Argo CD rejects the URL, because that of a repository of type oci must begin with oci://.")
	case helm && enabled:
		c.Problem(at, model.ProblemWrongShape,
			"Argo CD rejects the URL, because that of a Helm repository with enableOCI must not have a scheme. Remove it, or set type to "+
				"oci and begin the URL with oci://.")
	case helm && isClassicHelm(r.URL) && r.template:
		c.Skip(at, model.SkipClassicHelm, "The credential template is for all classic Helm repositories whose URL begins like this one.")
	case helm && isClassicHelm(r.URL):
		return true
	case helm:
		c.Skip(at, model.SkipClassicHelm,
			"The repository is a classic Helm repository. If it is an OCI registry, set enableOCI to \"true\".")
	default:
		c.Skip(at, model.SkipGit, "The repository is a Git repository, because its type is not oci or helm.")
	}
	return false
}

func resolveApplication(c *Cluster, o *object) {
	addArgoSources(c, o, o.node.Get("spec"))
}

func resolveApplicationSet(c *Cluster, o *object) {
	addArgoSources(c, o, o.node.Get("spec", "template", "spec"))
}

// addArgoSources adds what an Application is made of. If it has several sources, the single one is ignored.
func addArgoSources(c *Cluster, o *object, spec *node.Node) {
	sources := spec.Get("sources").Items()
	if single := spec.Get("source"); len(sources) == 0 && single.IsObject() {
		sources = []*node.Node{single}
	}
	project := spec.Get("project").Text()
	for _, source := range sources {
		if !c.Afford(o.at(source), costOfSource+len(project)>>6) {
			return
		}
		addArgoSource(c, o, project, source)
	}
}

// costOfSource is as many comparisons as a search for the Secrets of a URL.
const costOfSource = 4

func addArgoSource(c *Cluster, o *object, project string, source *node.Node) {
	address, chart := source.Get("repoURL").Text(), source.Get("chart").Text()
	at := o.at(source)
	if line := source.Get("repoURL"); line != nil {
		at = o.at(line)
	}
	e := scanner.Entry{At: at, Address: address, Version: source.Get("targetRevision").Text()}
	switch {
	case scanner.IsTemplate(address + chart):
		c.Skip(at, model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
		return
	case address == "":
		o.file.Template(source.Line, "The source has no repoURL, which a kustomization may set. Scan what is rendered from the file.")
		return
	case strings.HasPrefix(address, "oci://") && chart != "":
		scanner.AddNotice(&e.Registry, model.NoticeIgnoredField,
			"Argo CD ignores chart if repoURL begins with oci://. Append the chart to repoURL, or remove oci:// from it.")
	case strings.HasPrefix(address, "oci://"):
	case chart != "" && !strings.Contains(address, "://"):
		e.Address = strings.TrimSuffix(address, "/") + "/" + chart
	case chart != "" && isClassicHelm(address):
		e.OfCharts(chart, source.Get("targetRevision").Text())
	case chart != "":
		c.Skip(at, model.SkipUnsupportedScheme, "Argo CD reaches no Helm repository with the scheme of this URL.")
		return
	default:
		c.Skip(at, model.SkipGit, "The source is a Git repository.")
		return
	}
	used := c.argoCD().repository(o, address, project)
	used.passCredentials = source.Get("helm", "passCredentials").Bool()
	used.add(c, e)
}
