package kubernetes

import (
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

const helmRepository = "source.toolkit.fluxcd.io/HelmRepository"

// fluxKinds has what resolves the objects of Flux.
var fluxKinds = map[string]resolver{
	helmRepository:                            resolveHelmRepository,
	"source.toolkit.fluxcd.io/HelmChart":      resolveHelmChart,
	"helm.toolkit.fluxcd.io/HelmRelease":      resolveHelmRelease,
	"source.toolkit.fluxcd.io/OCIRepository":  resolveOCIRepository,
	"image.toolkit.fluxcd.io/ImageRepository": resolveImageRepository,
}

// fluxSource is an object of Flux that names a registry.
type fluxSource struct {
	c          *Cluster
	o          *object
	spec       *node.Node
	host, path string
	r          model.Registry
}

// newFluxSource reads host and path of an address, which at has without its scheme. It returns nil, and reports why, if there is nothing to
// check.
func newFluxSource(c *Cluster, o *object, at *node.Node, address string) *fluxSource {
	if scanner.IsTemplate(at.Text()) {
		c.Skip(o.at(at), model.SkipTemplate, "The address is a placeholder. Scan what is rendered from it, or the objects of the cluster.")
		return nil
	}
	f := &fluxSource{c: c, o: o, spec: o.node.Get("spec")}
	f.host, f.path, _ = strings.Cut(strings.TrimRight(address, "/"), "/")
	f.r = model.Registry{Sources: []model.Source{o.at(at)}, Format: model.Kubernetes, Consumer: model.Flux}
	f.r.Definition = regcheck.Definition{Endpoint: scanner.EndpointOf(f.host), BaseContentPath: f.path, Auth: &regcheck.Auth{}}
	switch {
	case f.host == "":
		c.Problem(o.at(at), model.ProblemNoHost, "The address has no host.")
		return nil
	case strings.Contains(f.host, "@"):
		c.Problem(o.at(at), model.ProblemWrongShape,
			"The address has credentials, which Flux does not accept. Move them to a Secret, and refer to it with spec.secretRef.")
		return nil
	case f.r.Definition.Registry() == "":
		c.Problem(o.at(at), model.ProblemNoHost, "The address %q does not name a registry.", dockerauth.Show(address))
		return nil
	}
	scanner.ReachedFrom(&f.r, f.host)
	f.suspended(o)
	if c.named[objectName{o.groupKind(), o.namespace, o.name, o.file.Name}].count > 1 {
		scanner.AddNotice(&f.r, model.NoticeConflictingEntries,
			"The file has another %s of this name: kubectl applies the last of them, and kustomize rejects both. Rename one.", o.kind)
	}
	return f
}

func (f *fluxSource) suspended(o *object) {
	if o.node.Get("spec", "suspend").Bool() {
		scanner.AddNotice(&f.r, model.NoticeSuspended, "The %s is suspended: Flux does not use it until spec.suspend is removed.", o.kind)
	}
}

func resolveHelmRepository(c *Cluster, o *object) {
	if f := newHelmRepository(c, o); f != nil {
		c.Found(f.r)
	}
}

// newHelmRepository returns what a HelmRepository defines. It returns nil, and reports why, if there is nothing to check.
func newHelmRepository(c *Cluster, o *object) *fluxSource {
	at := o.node.Get("spec", "url")
	address, oci := strings.CutPrefix(at.Text(), "oci://")
	typed := o.node.Get("spec", "type").Text() == "oci"
	switch {
	case !typed && !oci:
		return newFluxCharts(c, o, at)
	case !oci && !scanner.IsTemplate(at.Text()):
		c.Problem(o.at(at), model.ProblemWrongShape, "Flux rejects the HelmRepository: with type: oci, the URL must begin with oci://.")
		return nil
	}
	f := newFluxSource(c, o, at, address)
	if f == nil {
		return nil
	}
	if !typed {
		scanner.AddNotice(&f.r, model.NoticeTypeMissing,
			"Flux looks for a classic Helm repository at this URL, and fails. Add type: oci to the spec.")
	}
	if f.spec.Get("insecure").Bool() {
		scanner.SetPlainHTTP(&f.r, "With spec.insecure, Flux")
	}
	f.addCertificates()
	f.addHelmCredentials()
	return f
}

// newFluxCharts returns the chart repository of a HelmRepository of the default type.
func newFluxCharts(c *Cluster, o *object, at *node.Node) *fluxSource {
	scheme, address, _ := strings.Cut(at.Text(), "://")
	var user *url.Userinfo // which Go's HTTP client sends
	if parsed, err := url.Parse(at.Text()); err == nil && parsed.User != nil {
		user = parsed.User
		address = strings.TrimPrefix(address, user.String()+"@")
	}
	if !scanner.IsOneOf(scheme, "https", "http") && !scanner.IsTemplate(at.Text()) {
		c.Problem(o.at(at), model.ProblemWrongShape,
			"Flux rejects the HelmRepository: its URL must begin with https://, http:// or oci://.")
		return nil
	}
	f := newFluxSource(c, o, at, address)
	if f == nil {
		return nil
	}
	f.r.Definition.Kind, f.r.Definition.BaseContentPath = regcheck.KindChartRepository, ""
	f.r.Definition.Endpoint = strings.TrimSuffix(scheme+"://"+f.host+"/"+f.path, "/")
	f.r.Notices = append(f.r.Notices, scanner.ConnectionNotices(f.r.Definition.Endpoint, regcheck.TLS{})...)
	for _, field := range []string{"provider", "insecure"} {
		if value := f.spec.Get(field); value.Bool() || value.Text() != "" && value.Text() != "generic" {
			scanner.AddNotice(&f.r, model.NoticeIgnoredField, "Flux ignores spec.%s, which is for type: oci only.", field)
		}
	}
	f.addCertificates()
	if name := f.spec.Get("secretRef", "name").Text(); name == "" && user != nil {
		password, _ := user.Password()
		scanner.SetAuth(&f.r, scanner.BasicAuth(user.Username(), password))
	} else if name != "" {
		found, g := c.secret(o, name)
		if lacks(&f.r, g); g == nil {
			f.r.Secret = found.place()
			f.useBasic(found)
		}
	}
	f.r.Definition.Auth.PassCredentials = f.spec.Get("passCredentials").Bool()
	return f
}

// isCharts reports whether the source is a chart repository.
func (f *fluxSource) isCharts() bool { return f.r.Definition.Kind == regcheck.KindChartRepository }

// addHelmCredentials adds the credentials of a HelmRepository.
func (f *fluxSource) addHelmCredentials() {
	name := f.spec.Get("secretRef", "name").Text()
	if name == "" {
		f.addProvider()
		return
	}
	f.ignoreProvider("secretRef")
	found, g := f.c.secret(f.o, name)
	switch {
	case g != nil:
		lacks(&f.r, g)
	case found.secretType() == dockerConfigSecret:
		f.r.Secret = found.place()
		f.useDockerConfig(found)
	default:
		f.r.Secret = found.place()
		f.useBasic(found)
	}
}

// provider returns the cloud provider whose identity Flux uses without a Secret, "" if there is none.
func (f *fluxSource) provider() string {
	if provider := f.spec.Get("provider").Text(); provider != "generic" {
		return provider
	}
	return ""
}

// addProvider makes the definition unresolved, and returns true, if it has a cloud provider.
func (f *fluxSource) addProvider() bool {
	provider := f.provider()
	if provider != "" {
		lacks(&f.r, gapf(model.UnresolvedCloudIdentity, "Flux gets credentials from the identity of its pod at the cloud provider %q.",
			dockerauth.Show(provider)))
	}
	return provider != ""
}

func (f *fluxSource) ignoreProvider(because string) {
	if f.provider() != "" {
		scanner.AddNotice(&f.r, model.NoticeIgnoredField, "Flux ignores spec.provider, because spec.%s is set.", because)
	}
}

// useBasic uses the keys username and password of a Secret, whatever its type is except that of a docker config.
func (f *fluxSource) useBasic(o *object) {
	if f.spec.Get("certSecretRef") == nil && f.useCertificates(o) == nil {
		scanner.AddNotice(&f.r, model.NoticeDeprecatedKeys,
			"Flux uses the certificates of the Secret %q, but this is deprecated. Set spec.certSecretRef.", dockerauth.Show(o.name))
	}
	username, password := o.secretValue("username"), o.secretValue("password")
	lacks(&f.r, username.gap)
	lacks(&f.r, password.gap)
	switch {
	case username.gap != nil || password.gap != nil:
	case username.text == "" && password.text == "" && (username.at == nil) == (password.at == nil):
		or := " nor the type " + dockerConfigSecret
		if f.isCharts() {
			or = ""
		}
		scanner.AddNotice(&f.r, model.NoticeNoMatchingCredentials,
			"The Secret %q has neither username and password%s: Flux connects without credentials.", dockerauth.Show(o.name), or)
	case username.text == "" || password.text == "":
		lacks(&f.r, gapf(model.UnresolvedIncomplete, "Flux rejects the Secret %q: it must have both username and password.",
			dockerauth.Show(o.name)))
	default:
		scanner.SetAuth(&f.r, &regcheck.Auth{Username: username.text, Password: secret.String(password.text)})
		f.r.Notices = append(f.r.Notices, o.plainNotices(f.c)...)
	}
}

// useDockerConfig uses the entry of a docker config as Helm's part of Flux does: like docker, but without docker's other names for Docker
// Hub.
func (f *fluxSource) useDockerConfig(o *object) {
	d := o.dockerFile()
	if g := d.usable(o); g != nil {
		lacks(&f.r, g)
		return
	}
	hosts := d.byHost()
	if rejected := hosts.Rejected(dockerauth.Docker); rejected != nil {
		lacks(&f.r, gapf(model.UnresolvedIncomplete, "%s For this reason Flux rejects the Secret %q.", rejected.Message,
			dockerauth.Show(o.name)))
		return
	}
	entries := hosts.entries(f.host)
	switch {
	case f.usesHelper(hosts):
	case len(entries) == 0 && scanner.EndpointOf(f.host) == scanner.DockerHub:
		lacks(&f.r, gapf(model.UnresolvedNoMatchingEntry,
			"The Secret %q has no entry for %s, and Flux fails. The key %s, which kubectl writes, is only for oci://index.docker.io.",
			dockerauth.Show(o.name), f.host, dockerauth.HubKey))
	case len(entries) == 0:
		lacks(&f.r, gapf(model.UnresolvedNoMatchingEntry, "The Secret %q has no entry for %s, and Flux fails.", dockerauth.Show(o.name),
			f.host))
	case len(entries) > 1:
		lacks(&f.r, gapf(model.UnresolvedAmbiguous,
			"The Secret %q has %d entries for %s. Flux uses any one of them, by chance. Remove all but one.", dockerauth.Show(o.name),
			len(entries), f.host))
	case entries[0].Credential.Password == "":
		scanner.AddNotice(&f.r, model.NoticeNoMatchingCredentials,
			"The entry %q has no password, and Flux reads nothing else for a HelmRepository: it connects without credentials.",
			dockerauth.Show(entries[0].Key))
	default:
		docker.Use(&f.r, dockerauth.Credential{Username: entries[0].Credential.Username, Password: entries[0].Credential.Password},
			dockerauth.Docker)
	}
}

// dockerHosts has the entries of a file as Helm's part of Flux reads them.
type dockerHosts struct {
	*dockerauth.Config
	sameKey  map[string]*dockerauth.Entry
	sameHost map[string][]*dockerauth.Entry
	helpers  map[string]string // by host
}

func (d *dockerFile) byHost() *dockerHosts {
	if d.hosts != nil {
		return d.hosts
	}
	h := &dockerHosts{d.only(dockerauth.Docker), map[string]*dockerauth.Entry{}, map[string][]*dockerauth.Entry{}, map[string]string{}}
	for _, e := range h.Entries(dockerauth.Docker) {
		h.sameKey[e.Key] = e
		host := scanner.HostOf(e.Key)
		h.sameHost[host] = append(h.sameHost[host], e)
	}
	for _, helper := range h.Helpers {
		h.helpers[helper.Host] = helper.Name
	}
	d.hosts = h
	return h
}

// entries returns the entry whose key is the host, or else all entries whose key has this host.
func (h *dockerHosts) entries(host string) []*dockerauth.Entry {
	if e := h.sameKey[host]; e != nil {
		return []*dockerauth.Entry{e}
	}
	return h.sameHost[host]
}

// usesHelper reports whether Flux would start a credential helper, which its container does not have.
func (f *fluxSource) usesHelper(hosts *dockerHosts) bool {
	helper, reason := hosts.Store, model.UnresolvedCredentialsStore
	if own, ok := hosts.helpers[f.host]; ok {
		helper, reason = own, model.UnresolvedCredentialHelper
	}
	if helper != "" {
		lacks(&f.r, gapf(reason,
			"The credentials are in docker-credential-%s, which Flux does not have. Create the Secret with kubectl create secret "+
				"docker-registry.", dockerauth.Show(helper)))
	}
	return helper != ""
}

// addCertificates adds what spec.certSecretRef refers to.
func (f *fluxSource) addCertificates() {
	name := f.spec.Get("certSecretRef", "name").Text()
	if name == "" {
		return
	}
	found, g := f.c.secret(f.o, name)
	if g == nil {
		g = f.useCertificates(found)
	}
	lacks(&f.r, g)
}

// useCertificates returns why Flux rejects the Secret, nil if it does not.
func (f *fluxSource) useCertificates(o *object) *gap {
	ca := f.certificate(o, "ca.crt", "caFile")
	certificate := f.certificate(o, "tls.crt", "certFile")
	key := f.certificate(o, "tls.key", "keyFile")
	switch {
	case (certificate == "") != (key == ""):
		return gapf(model.UnresolvedIncomplete, "Flux rejects the Secret %q: it must have both tls.crt and tls.key, or neither.",
			dockerauth.Show(o.name))
	case certificate == "" && ca == "":
		return gapf(model.UnresolvedIncomplete, "Flux rejects the Secret %q: it has neither ca.crt nor tls.crt and tls.key.",
			dockerauth.Show(o.name))
	}
	f.r.Definition.Auth.TLS = regcheck.TLS{Enabled: true, CA: ca, Certificate: certificate, Key: secret.String(key)}
	return nil
}

// certificate returns the value of a key, or of its old name.
func (f *fluxSource) certificate(o *object, key, old string) string {
	v := o.secretValue(key)
	if before := o.secretValue(old); v.at == nil && before.at != nil {
		scanner.AddNotice(&f.r, model.NoticeDeprecatedKeys, "The Secret %q has the key %s, which is the old name of %s.",
			dockerauth.Show(o.name), old, key)
		v = before
	}
	lacks(&f.r, v.gap)
	return v.text
}

func resolveHelmChart(c *Cluster, o *object) {
	addChart(c, o, o.node.Get("spec"))
}

func resolveHelmRelease(c *Cluster, o *object) {
	addChart(c, o, o.node.Get("spec", "chart", "spec"))
}

// addChart adds a chart of a HelmRepository. Charts of other sources are those of the source.
func addChart(c *Cluster, o *object, spec *node.Node) {
	chart, reference := spec.Get("chart"), spec.Get("sourceRef")
	name := reference.Get("name").Text()
	if kind := reference.Get("kind").Text(); kind != "HelmRepository" || chart.Text() == "" {
		return
	}
	namespace := reference.Get("namespace").Text()
	if namespace == "" {
		namespace = o.namespace
	}
	repository, ambiguous := c.near(o, helmRepository, namespace, name)
	switch {
	case repository == nil:
		c.Skip(o.at(reference), model.SkipNoHost, "The HelmRepository %q was not read.", dockerauth.Show(name))
		return
	case ambiguous:
		c.Skip(o.at(reference), model.SkipNoHost, "Several files have the HelmRepository %q. Scan one environment at a time.",
			dockerauth.Show(name))
		return
	case scanner.IsTemplate(chart.Text()):
		c.Skip(o.at(chart), model.SkipTemplate, "The name of the chart is a placeholder.")
		return
	}
	if of := c.helmRepository(repository); of != nil {
		f := *of
		auth := *f.r.Definition.Auth
		f.r.Definition.Auth, f.r.Notices = &auth, slices.Clone(f.r.Notices)
		f.r.Sources = []model.Source{o.at(chart)}
		f.r.Definition.BaseContentPath = scanner.Tagged(strings.Trim(f.path+"/"+chart.Text(), "/"), spec.Get("version").Text())
		if f.isCharts() {
			f.r.Definition.BaseContentPath = scanner.ChartPath(chart.Text(), spec.Get("version").Text())
		}
		f.suspended(o)
		c.Found(f.r)
	}
}

// helmRepository returns what a HelmRepository defines for its charts, nil if there is nothing to check, which is reported with itself.
func (c *Cluster) helmRepository(o *object) *fluxSource {
	f, known := c.charts[o]
	if !known {
		c.WithoutReports(func() { f = newHelmRepository(c, o) })
		if c.charts == nil {
			c.charts = map[*object]*fluxSource{}
		}
		c.charts[o] = f
	}
	return f
}

func resolveOCIRepository(c *Cluster, o *object) {
	at := o.node.Get("spec", "url")
	address, oci := strings.CutPrefix(at.Text(), "oci://")
	if !oci && !scanner.IsTemplate(at.Text()) {
		c.Problem(o.at(at), model.ProblemWrongShape, "Flux rejects the OCIRepository: its URL must begin with oci://.")
		return
	}
	f := newRepositorySource(c, o, at, address)
	if f == nil {
		return
	}
	f.addCertificates()
	if f.spec.Get("insecure").Bool() {
		f.addInsecure()
	}
	f.addFallback()
	if f.addKeyring() {
		f.ignoreProvider("secretRef or spec.serviceAccountName")
	} else {
		f.addProvider()
	}
	f.r.Definition.BaseContentPath += suffixOf(f.spec.Get("ref"))
	c.Found(f.r)
}

// suffixOf returns the digest or tag that spec.ref of an OCIRepository names, "" for a range of versions.
func suffixOf(ref *node.Node) string {
	switch digest, tag := ref.Get("digest").Text(), ref.Get("tag").Text(); {
	case digest != "":
		return scanner.Suffix("@", digest)
	case ref.Get("semver").Text() == "":
		return scanner.Suffix(":", tag)
	case ref.Get("semverFilter") != nil: // an expression, by which Flux leaves out tags
		return ""
	}
	return strings.TrimPrefix(scanner.Tagged("/", ref.Get("semver").Text()), "/")
}

// addInsecure adds what spec.insecure of an OCIRepository means.
func (f *fluxSource) addInsecure() {
	if f.spec.Get("certSecretRef", "name").Text() != "" {
		scanner.AddNotice(&f.r, model.NoticeIgnoredField,
			"Flux verifies the certificate in spite of spec.insecure, because spec.certSecretRef is set.")
	} else {
		f.r.Definition.Auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
		scanner.AddNotice(&f.r, model.NoticeInsecureSkipVerify, "Flux does not verify the certificate, because spec.insecure is true.")
	}
}

// addFallback adds that Flux connects without TLS if TLS fails. go-containerregistry, which it uses, does this also for hosts that may
// have no certificate.
func (f *fluxSource) addFallback() {
	switch {
	case f.spec.Get("insecure").Bool():
		scanner.AddNotice(&f.r, model.NoticePlainHTTPFallback,
			"Flux connects without TLS if the registry has none, because spec.insecure is true.")
	case scanner.IsLocal(f.host):
		scanner.AddNotice(&f.r, model.NoticePlainHTTPFallback,
			"Flux connects without TLS if the registry has none, because the host is local or in a private network.")
	}
}

func resolveImageRepository(c *Cluster, o *object) {
	at := o.node.Get("spec", "image")
	if scheme, _, found := strings.Cut(at.Text(), "://"); found && !scanner.IsTemplate(at.Text()) {
		c.Problem(o.at(at), model.ProblemWrongShape, "Flux rejects the ImageRepository: its image must not begin with %q.",
			dockerauth.Show(scheme)+"://")
		return
	}
	f := newRepositorySource(c, o, at, at.Text())
	if f == nil {
		return
	}
	f.addCertificates()
	f.addFallback()
	if !f.addProvider() {
		f.addKeyring()
	} else if f.spec.Get("secretRef") != nil {
		scanner.AddNotice(&f.r, model.NoticeIgnoredField,
			"Flux ignores spec.secretRef, because spec.provider is set; old versions ignore spec.provider instead.")
	}
	c.Found(f.r)
}

// newRepositorySource is newFluxSource for the name of one repository, which is written as for docker but without a tag.
func newRepositorySource(c *Cluster, o *object, at *node.Node, address string) *fluxSource {
	host, path := scanner.SplitReference(address)
	if rest := strings.TrimPrefix(address, host); !scanner.IsTemplate(address) && strings.ContainsAny(rest, ":@") {
		c.Problem(o.at(at), model.ProblemWrongShape,
			"Flux rejects the %s: %q must not have a tag or digest. spec.ref of an OCIRepository and an ImagePolicy have tags.", o.kind,
			dockerauth.Show(at.Text()))
		return nil
	}
	if address != "" {
		address = host + "/" + path
	}
	f := newFluxSource(c, o, at, address)
	if f != nil && f.spec.Get("proxySecretRef", "name").Text() != "" {
		scanner.AddNotice(&f.r, model.NoticeIgnoredField,
			"Flux connects through the proxy of spec.proxySecretRef. The definition does not have it.")
	}
	return f
}

// addKeyring adds the credentials of pull Secrets: that of spec.secretRef and those of the ServiceAccount. It returns false if there are
// none.
func (f *fluxSource) addKeyring() bool {
	var all []string
	if name := f.spec.Get("secretRef", "name").Text(); name != "" {
		all = append(all, name)
	}
	if account := f.spec.Get("serviceAccountName").Text(); account != "" {
		found, ambiguous := f.c.near(f.o, "ServiceAccount", f.o.namespace, account)
		switch {
		case found == nil:
			lacks(&f.r, gapf(model.UnresolvedReferenceMissing, "The ServiceAccount %q was not read.", dockerauth.Show(account)))
			return true
		case ambiguous:
			lacks(&f.r, gapf(model.UnresolvedAmbiguous, "Several files have the ServiceAccount %q. Scan one environment at a time.",
				dockerauth.Show(account)))
			return true
		}
		all = append(all, found.pullSecrets()...)
	}
	if len(all) == 0 {
		return false
	}
	switch k, ok := newKeyring(f.c, f.o, all); {
	case !ok: // which is a problem of the result
	case k.missing != nil:
		lacks(&f.r, k.missing)
	default:
		f.useFirst(k)
	}
	return true
}

// useFirst uses the most specific entry, and no other, as go-containerregistry does.
func (f *fluxSource) useFirst(k keyring) {
	reference := f.host + "/" + f.path
	m, ok := k.match(f.c, f.r.Sources[0], reference)
	switch {
	case !ok: // which is a problem of the result
	case m.rejected != "":
		lacks(&f.r, gapf(model.UnresolvedIncomplete, "%s For this reason Flux rejects the Secret.", m.rejected))
	case m.first == nil:
		k.noMatch(&f.r, reference, "Flux")
	default:
		if m.differ {
			scanner.AddNotice(&f.r, model.NoticeAmbiguousCredentials, "%d entries match. Flux uses %q only.", m.count,
				dockerauth.Show(m.first.Key))
		}
		f.r.Secret = k.only()
		docker.UseFirst(&f.r, dockerauth.Kubelet, m.first, 1)
	}
}
