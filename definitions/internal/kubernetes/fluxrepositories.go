package kubernetes

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

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
