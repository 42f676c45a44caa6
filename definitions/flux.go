package definitions

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
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
	s          *Scanner
	o          *object
	spec       *node.Node
	host, path string
	r          Registry
}

// newFluxSource reads host and path of an address, which at has without its scheme. It returns nil, and reports why, if there is nothing to check.
func (s *Scanner) newFluxSource(o *object, at *node.Node, address string) *fluxSource {
	if isTemplate(at.Text()) {
		s.skip(o.at(at), SkipTemplate, "The address is a placeholder. Scan what is rendered from it, or the objects of the cluster.")
		return nil
	}
	f := &fluxSource{s: s, o: o, spec: o.node.Get("spec")}
	f.host, f.path, _ = strings.Cut(strings.TrimRight(address, "/"), "/")
	f.r = Registry{Sources: []Source{o.at(at)}, Format: Kubernetes, Consumer: Flux}
	f.r.Definition = regcheck.Definition{Endpoint: endpointOf(f.host), BaseContentPath: f.path, Auth: &regcheck.Auth{}}
	switch {
	case f.host == "":
		s.problem(o.at(at), ProblemNoHost, "The address has no host.")
		return nil
	case strings.Contains(f.host, "@"):
		s.problem(o.at(at), ProblemWrongShape, "The address has credentials, which Flux does not accept. Move them to a Secret, and refer to it with spec.secretRef.")
		return nil
	case f.r.Definition.Registry() == "":
		s.problem(o.at(at), ProblemNoHost, "The address %q does not name a registry.", dockerauth.Show(at.Text()))
		return nil
	}
	f.r.reachedFrom(f.host)
	f.suspended(o)
	return f
}

func (f *fluxSource) suspended(o *object) {
	if o.node.Get("spec", "suspend").Bool() {
		f.r.notice(NoticeSuspended, "The %s is suspended: Flux does not use it until spec.suspend is removed.", o.kind)
	}
}

func resolveHelmRepository(s *Scanner, o *object) {
	if f := s.helmRepository(o); f != nil {
		s.found(f.r)
	}
}

// helmRepository returns what a HelmRepository defines. It returns nil, and reports why, if there is nothing to check.
func (s *Scanner) helmRepository(o *object) *fluxSource {
	at := o.node.Get("spec", "url")
	address, oci := strings.CutPrefix(at.Text(), "oci://")
	typed := o.node.Get("spec", "type").Text() == "oci"
	switch {
	case !typed && !oci:
		s.skip(o.at(at), SkipClassicHelm, "The HelmRepository is a classic one with an index.yaml. In an OCI registry it has type: oci and a URL with oci://.")
		return nil
	case !oci && !isTemplate(at.Text()):
		s.problem(o.at(at), ProblemWrongShape, "Flux rejects the HelmRepository: with type: oci, the URL must begin with oci://.")
		return nil
	}
	f := s.newFluxSource(o, at, address)
	if f == nil {
		return nil
	}
	if !typed {
		f.r.notice(NoticeTypeMissing, "Flux looks for a classic Helm repository at this URL, and fails. Add type: oci to the spec.")
	}
	if f.spec.Get("insecure").Bool() {
		f.r.plainHTTP("With spec.insecure, Flux")
	}
	f.addCertificates()
	f.addHelmCredentials()
	return f
}

// addHelmCredentials adds the credentials of a HelmRepository.
func (f *fluxSource) addHelmCredentials() {
	name := f.spec.Get("secretRef", "name").Text()
	if name == "" {
		f.addProvider()
		return
	}
	f.ignoreProvider("secretRef")
	found, g := f.s.cluster.secret(f.o, name)
	switch {
	case g != nil:
		f.r.lacks(g)
	case found.secretType() == dockerConfigSecret:
		f.useDockerConfig(found)
	default:
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
		f.r.lacks(gapf(UnresolvedCloudIdentity, "Flux gets credentials from the identity of its pod at the cloud provider %q.", dockerauth.Show(provider)))
	}
	return provider != ""
}

func (f *fluxSource) ignoreProvider(because string) {
	if f.provider() != "" {
		f.r.notice(NoticeIgnoredField, "Flux ignores spec.provider, because spec.%s is set.", because)
	}
}

// useBasic uses the keys username and password of a Secret, whatever its type is except that of a docker config.
func (f *fluxSource) useBasic(o *object) {
	if f.spec.Get("certSecretRef") == nil && f.useCertificates(o) == nil {
		f.r.notice(NoticeDeprecatedKeys, "Flux uses the certificates of the Secret %q, but this is deprecated. Set spec.certSecretRef.", dockerauth.Show(o.name))
	}
	username, password := o.secretValue("username"), o.secretValue("password")
	f.r.lacks(username.gap)
	f.r.lacks(password.gap)
	switch {
	case username.gap != nil || password.gap != nil:
	case username.text == "" && password.text == "" && (username.at == nil) == (password.at == nil):
		f.r.notice(NoticeNoMatchingCredentials, "The Secret %q has neither username and password nor the type %s: Flux connects without credentials.", dockerauth.Show(o.name), dockerConfigSecret)
	case username.text == "" || password.text == "":
		f.r.lacks(gapf(UnresolvedIncomplete, "Flux rejects the Secret %q: it must have both username and password.", dockerauth.Show(o.name)))
	default:
		f.r.setAuth(&regcheck.Auth{Username: username.text, Password: secret.String(password.text)})
	}
}

// useDockerConfig uses the entry of a docker config as Helm's part of Flux does: like docker, but without docker's other names for Docker Hub.
func (f *fluxSource) useDockerConfig(o *object) {
	config, g := o.readableConfig()
	if g != nil {
		f.r.lacks(g)
		return
	}
	if rejected := config.Rejected(dockerauth.Docker); rejected != nil {
		f.r.lacks(gapf(UnresolvedIncomplete, "%s For this reason Flux rejects the Secret %q.", rejected.Message, dockerauth.Show(o.name)))
		return
	}
	entries := f.sameHost(config)
	switch {
	case f.usesHelper(config):
	case len(entries) == 0 && endpointOf(f.host) == dockerHub:
		f.r.lacks(gapf(UnresolvedNoMatchingEntry, "The Secret %q has no entry for %s, and Flux fails. The key %s, which kubectl writes, is only for oci://index.docker.io.", dockerauth.Show(o.name), f.host, dockerauth.HubKey))
	case len(entries) == 0:
		f.r.lacks(gapf(UnresolvedNoMatchingEntry, "The Secret %q has no entry for %s, and Flux fails.", dockerauth.Show(o.name), f.host))
	case len(entries) > 1:
		f.r.lacks(gapf(UnresolvedAmbiguous, "The Secret %q has %d entries for %s. Flux uses any one of them, by chance. Remove all but one.", dockerauth.Show(o.name), len(entries), f.host))
	case entries[0].Credential.Password == "":
		f.r.notice(NoticeNoMatchingCredentials, "The entry %q has no password, and Flux reads nothing else for a HelmRepository: it connects without credentials.", dockerauth.Show(entries[0].Key))
	default:
		f.r.use(dockerauth.Credential{Username: entries[0].Credential.Username, Password: entries[0].Credential.Password}, dockerauth.Docker)
	}
}

// sameHost returns the entry whose key is the host, or else all entries whose key has this host.
func (f *fluxSource) sameHost(config *dockerauth.Config) []*dockerauth.Entry {
	var found []*dockerauth.Entry
	for _, e := range config.Entries(dockerauth.Docker) {
		if e.Key == f.host {
			return []*dockerauth.Entry{e}
		}
		key := e.Key
		if _, after, ok := strings.Cut(key, "://"); ok {
			key = after
		}
		if host, _, _ := strings.Cut(key, "/"); host == f.host {
			found = append(found, e)
		}
	}
	return found
}

// usesHelper reports whether Flux would start a credential helper, which its container does not have.
func (f *fluxSource) usesHelper(config *dockerauth.Config) bool {
	helper, reason := config.Store, UnresolvedCredentialsStore
	for _, h := range config.Helpers {
		if h.Host == f.host {
			helper, reason = h.Name, UnresolvedCredentialHelper
		}
	}
	if helper != "" {
		f.r.lacks(gapf(reason, "The credentials are in docker-credential-%s, which Flux does not have. Create the Secret with kubectl create secret docker-registry.", dockerauth.Show(helper)))
	}
	return helper != ""
}

// addCertificates adds what spec.certSecretRef refers to.
func (f *fluxSource) addCertificates() {
	name := f.spec.Get("certSecretRef", "name").Text()
	if name == "" {
		return
	}
	found, g := f.s.cluster.secret(f.o, name)
	if g == nil {
		g = f.useCertificates(found)
	}
	f.r.lacks(g)
}

// useCertificates returns why Flux rejects the Secret, nil if it does not.
func (f *fluxSource) useCertificates(o *object) *gap {
	ca := f.certificate(o, "ca.crt", "caFile")
	certificate := f.certificate(o, "tls.crt", "certFile")
	key := f.certificate(o, "tls.key", "keyFile")
	switch {
	case (certificate == "") != (key == ""):
		return gapf(UnresolvedIncomplete, "Flux rejects the Secret %q: it must have both tls.crt and tls.key, or neither.", dockerauth.Show(o.name))
	case certificate == "" && ca == "":
		return gapf(UnresolvedIncomplete, "Flux rejects the Secret %q: it has neither ca.crt nor tls.crt and tls.key.", dockerauth.Show(o.name))
	}
	f.r.Definition.Auth.TLS = regcheck.TLS{Enabled: true, CA: ca, Certificate: certificate, Key: secret.String(key)}
	return nil
}

// certificate returns the value of a key, or of its old name.
func (f *fluxSource) certificate(o *object, key, old string) string {
	v := o.secretValue(key)
	if before := o.secretValue(old); v.at == nil && before.at != nil {
		f.r.notice(NoticeDeprecatedKeys, "The Secret %q has the key %s, which is the old name of %s.", dockerauth.Show(o.name), old, key)
		v = before
	}
	f.r.lacks(v.gap)
	return v.text
}

func resolveHelmChart(s *Scanner, o *object) {
	s.addChart(o, o.node.Get("spec", "chart"), o.node.Get("spec", "sourceRef"))
}

func resolveHelmRelease(s *Scanner, o *object) {
	template := o.node.Get("spec", "chart", "spec")
	s.addChart(o, template.Get("chart"), template.Get("sourceRef"))
}

// addChart adds a chart of a HelmRepository. Charts of other sources are those of the source.
func (s *Scanner) addChart(o *object, chart, reference *node.Node) {
	name := reference.Get("name").Text()
	if kind := reference.Get("kind").Text(); kind != "HelmRepository" || chart.Text() == "" {
		return
	}
	namespace := reference.Get("namespace").Text()
	if namespace == "" {
		namespace = o.namespace
	}
	repository, ambiguous := s.cluster.near(o, helmRepository, namespace, name)
	switch {
	case repository == nil:
		s.skip(o.at(reference), SkipNoHost, "The HelmRepository %q was not read.", dockerauth.Show(name))
		return
	case ambiguous:
		s.skip(o.at(reference), SkipNoHost, "Several files have the HelmRepository %q. Scan one environment at a time.", dockerauth.Show(name))
		return
	case isTemplate(chart.Text()):
		s.skip(o.at(chart), SkipTemplate, "The name of the chart is a placeholder.")
		return
	}
	withoutReports := *s // what is wrong with the HelmRepository is reported there
	if f := withoutReports.helmRepository(repository); f != nil {
		f.r.Sources = []Source{o.at(chart)}
		f.r.Definition.BaseContentPath = strings.Trim(f.path+"/"+chart.Text(), "/")
		f.suspended(o)
		s.found(f.r)
	}
}

func resolveOCIRepository(s *Scanner, o *object) {
	at := o.node.Get("spec", "url")
	address, oci := strings.CutPrefix(at.Text(), "oci://")
	if !oci && !isTemplate(at.Text()) {
		s.problem(o.at(at), ProblemWrongShape, "Flux rejects the OCIRepository: its URL must begin with oci://.")
		return
	}
	f := s.newRepositorySource(o, at, address)
	if f == nil {
		return
	}
	f.addCertificates()
	if f.spec.Get("insecure").Bool() {
		f.addInsecure()
	}
	if f.addKeyring() {
		f.ignoreProvider("secretRef or spec.serviceAccountName")
	} else {
		f.addProvider()
	}
	s.found(f.r)
}

// addInsecure adds what spec.insecure of an OCIRepository means.
func (f *fluxSource) addInsecure() {
	if f.spec.Get("certSecretRef", "name").Text() != "" {
		f.r.notice(NoticeIgnoredField, "Flux verifies the certificate in spite of spec.insecure, because spec.certSecretRef is set.")
	} else {
		f.r.Definition.Auth.TLS = regcheck.TLS{Enabled: true, InsecureSkipVerify: true}
		f.r.notice(NoticeInsecureSkipVerify, "Flux does not verify the certificate, because spec.insecure is true.")
	}
	f.r.notice(NoticePlainHTTPFallback, "Flux connects without TLS if the registry has none, because spec.insecure is true.")
}

func resolveImageRepository(s *Scanner, o *object) {
	at := o.node.Get("spec", "image")
	if scheme, _, found := strings.Cut(at.Text(), "://"); found && !isTemplate(at.Text()) {
		s.problem(o.at(at), ProblemWrongShape, "Flux rejects the ImageRepository: its image must not begin with %q.", dockerauth.Show(scheme)+"://")
		return
	}
	f := s.newRepositorySource(o, at, at.Text())
	if f == nil {
		return
	}
	if f.spec.Get("insecure").Bool() {
		f.r.plainHTTP("With spec.insecure, Flux")
	}
	f.addCertificates()
	if !f.addProvider() {
		f.addKeyring()
	} else if f.spec.Get("secretRef") != nil {
		f.r.notice(NoticeIgnoredField, "Flux ignores spec.secretRef, because spec.provider is set; old versions ignore spec.provider instead.")
	}
	s.found(f.r)
}

// newRepositorySource is newFluxSource for the name of one repository, which is written as for docker but without a tag.
func (s *Scanner) newRepositorySource(o *object, at *node.Node, address string) *fluxSource {
	host, path := splitReference(address)
	if rest := strings.TrimPrefix(address, host); !isTemplate(address) && strings.ContainsAny(rest, ":@") {
		s.problem(o.at(at), ProblemWrongShape, "Flux rejects the %s: %q must not have a tag or digest. spec.ref of an OCIRepository and an ImagePolicy have tags.", o.kind, dockerauth.Show(at.Text()))
		return nil
	}
	if address != "" {
		address = host + "/" + path
	}
	f := s.newFluxSource(o, at, address)
	if f != nil && f.spec.Get("proxySecretRef", "name").Text() != "" {
		f.r.notice(NoticeIgnoredField, "Flux connects through the proxy of spec.proxySecretRef. The definition does not have it.")
	}
	return f
}

// addKeyring adds the credentials of pull Secrets: that of spec.secretRef and those of the ServiceAccount. It returns false if there are none.
func (f *fluxSource) addKeyring() bool {
	var all []string
	if name := f.spec.Get("secretRef", "name").Text(); name != "" {
		all = append(all, name)
	}
	if account := f.spec.Get("serviceAccountName").Text(); account != "" {
		found, ambiguous := f.s.cluster.near(f.o, "ServiceAccount", f.o.namespace, account)
		switch {
		case found == nil:
			f.r.lacks(gapf(UnresolvedReferenceMissing, "The ServiceAccount %q was not read.", dockerauth.Show(account)))
			return true
		case ambiguous:
			f.r.lacks(gapf(UnresolvedAmbiguous, "Several files have the ServiceAccount %q. Scan one environment at a time.", dockerauth.Show(account)))
			return true
		}
		all = append(all, names(found.node.Get("imagePullSecrets"))...)
	}
	if len(all) == 0 {
		return false
	}
	k := f.s.newKeyring(f.o, all)
	if k.missing != nil {
		f.r.lacks(k.missing)
	} else {
		f.useFirst(k)
	}
	return true
}

// useFirst uses the most specific entry, and no other, as go-containerregistry does.
func (f *fluxSource) useFirst(k keyring) {
	reference := f.host + "/" + f.path
	entries, rejected := k.match(reference)
	switch {
	case rejected != "":
		f.r.lacks(gapf(UnresolvedIncomplete, "%s For this reason Flux rejects the Secret.", rejected))
	case len(entries) == 0:
		k.noMatch(&f.r, reference, "Flux")
	default:
		if slices.ContainsFunc(entries, func(e *dockerauth.Entry) bool { return e.Credential != entries[0].Credential }) {
			f.r.notice(NoticeAmbiguousCredentials, "%d entries match. Flux uses %q only.", len(entries), dockerauth.Show(entries[0].Key))
		}
		f.s.useFirst(&f.r, dockerauth.Kubelet, entries[:1])
	}
}
