package kubernetes

import (
	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

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
		scanner.SetUnresolved(&f.r, model.UnresolvedCloudIdentity,
			"Flux gets credentials from the identity of its pod at the cloud provider %q.", dockerauth.Show(provider))
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
		scanner.SetUnresolved(&f.r, model.UnresolvedIncomplete, "Flux rejects the Secret %q: it must have both username and password.",
			dockerauth.Show(o.name))
	default:
		scanner.SetAuth(&f.r, scanner.BasicAuth(username.text, password.text))
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
		scanner.SetUnresolved(&f.r, model.UnresolvedIncomplete, "%s For this reason Flux rejects the Secret %q.", rejected.Message,
			dockerauth.Show(o.name))
		return
	}
	entries := hosts.entries(f.host)
	switch {
	case f.usesHelper(hosts):
	case len(entries) == 0 && scanner.EndpointOf(f.host) == scanner.DockerHub:
		scanner.SetUnresolved(&f.r, model.UnresolvedNoMatchingEntry,
			"The Secret %q has no entry for %s, and Flux fails. The key %s, which kubectl writes, is only for oci://index.docker.io.",
			dockerauth.Show(o.name), f.host, dockerauth.HubKey)
	case len(entries) == 0:
		scanner.SetUnresolved(&f.r, model.UnresolvedNoMatchingEntry, "The Secret %q has no entry for %s, and Flux fails.",
			dockerauth.Show(o.name), f.host)
	case len(entries) > 1:
		scanner.SetUnresolved(&f.r, model.UnresolvedAmbiguous,
			"The Secret %q has %d entries for %s. Flux uses any one of them, by chance. Remove all but one.", dockerauth.Show(o.name),
			len(entries), f.host)
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
		scanner.SetUnresolved(&f.r, reason,
			"The credentials are in docker-credential-%s, which Flux does not have. Create the Secret with kubectl create secret "+
				"docker-registry.", dockerauth.Show(helper))
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
			scanner.SetUnresolved(&f.r, model.UnresolvedReferenceMissing, "The ServiceAccount %q was not read.", dockerauth.Show(account))
			return true
		case ambiguous:
			scanner.SetUnresolved(&f.r, model.UnresolvedAmbiguous,
				"Several files have the ServiceAccount %q. Scan one environment at a time.", dockerauth.Show(account))
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
		scanner.SetUnresolved(&f.r, model.UnresolvedIncomplete, "%s For this reason Flux rejects the Secret.", m.rejected)
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
