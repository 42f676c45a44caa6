package definitions

import (
	"slices"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/regcheck"
)

// harborFormats reads Harbor's list of registries (GET /api/v2.0/registries).
var harborFormats = []format{{HarborRegistries, isHarbor, readHarbor}}

// Kinds of registries that Harbor has an adapter for. Those of the second list are reached with the keys of a cloud provider's API,
// and those of the third list are not OCI registries.
var (
	harborRegistries = []string{"harbor", "docker-hub", "docker-registry", "google-gcr", "azure-acr", "jfrog-artifactory", "quay", "gitlab", "dtr", "github-ghcr"}
	harborCloudAPIs  = []string{"aws-ecr", "ali-acr", "huawei-SWR", "tencent-tcr", "volcengine-cr"}
	harborNotOCI     = []string{"helm-hub", "artifact-hub"}
)

// harborKinds has the kinds by the names that Harbor's Terraform provider has for them, where they differ.
var harborKinds = map[string]string{
	"alibaba": "ali-acr", "aws": "aws-ecr", "azure": "azure-acr", "github": "github-ghcr", "google": "google-gcr", "helm": "helm-hub",
	"huawei": "huawei-SWR", "jfrog": "jfrog-artifactory", "tencent": "tencent-tcr", "volcengine": "volcengine-cr",
}

func isHarbor(f *file) bool {
	registries := listed(f.root())
	return f.looksLikeJSON() && len(registries) > 0 && !slices.ContainsFunc(registries, func(n *node.Node) bool {
		kind := n.Get("type").Text()
		known := slices.Contains(harborRegistries, kind) || slices.Contains(harborCloudAPIs, kind) || slices.Contains(harborNotOCI, kind)
		return !known || !n.Get("url").IsText() || n.Get("name") == nil
	})
}

func readHarbor(f *file) {
	for _, document := range f.readable() {
		for _, n := range listed(document) {
			f.harborRegistry(n)
		}
	}
}

func (f *file) harborRegistry(n *node.Node) {
	e := entry{at: f.at(n.Line, "registry "+dockerauth.Show(n.Get("name").Text())), address: harborAddress(n.Get("type").Text(), n.Get("url").Text())}
	e.Format = HarborRegistries
	if f.skipHarborKind(e.at, n.Get("type").Text()) {
		return
	}
	credential := n.Get("credential")
	e.Definition.Auth = basicAuth(credential.Get("access_key").Text(), credential.Get("access_secret").Text())
	if credential.Get("type").Text() == "oauth" {
		e.Definition.Auth = &regcheck.Auth{Token: e.Definition.Auth.Password}
	}
	e.Definition.Auth.TLS = harborTLS(n.Get("insecure"), n.Get("ca_certificate").Text())
	if isMask(credential.Get("access_secret").Text()) {
		e.Reason, e.Detail = UnresolvedMasked, "Harbor's API masks the secret. Check the registry with the secret itself."
	}
	e.add(f.scanner)
}

// harborAddress returns where the registry is. For Docker Hub, Harbor has the address of its website.
func harborAddress(kind, url string) string {
	if kind == "docker-hub" {
		return dockerHub
	}
	return url
}

// skipHarborKind skips what is not reached as an OCI registry with username and password.
func (f *file) skipHarborKind(at Source, kind string) bool {
	switch {
	case slices.Contains(harborCloudAPIs, kind):
		f.scanner.skip(at, SkipCloudAPI, "Harbor reaches registries of the type %.40q with the keys of the cloud provider's API.", kind)
	case slices.Contains(harborNotOCI, kind):
		f.scanner.skip(at, SkipNotOCI, "The type %.40q is a list of charts and not an OCI registry.", kind)
	default:
		return false
	}
	return true
}

// harborTLS returns TLS settings as Harbor uses them. Its CA certificate replaces the certificates of the system.
func harborTLS(insecure *node.Node, ca string) regcheck.TLS {
	return regcheck.TLS{Enabled: insecure.Bool() || ca != "", InsecureSkipVerify: insecure.Bool(), CA: ca}
}
