package projects

import (
	"slices"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// HarborFormats reads Harbor's list of registries (GET /api/v2.0/registries).
var HarborFormats = []scanner.Reader{{Name: model.HarborRegistries, Is: isHarbor, Keys: []string{"type url name credential"},
	Read: readHarbor}}

// Kinds of registries that Harbor has an adapter for. Those of the second list are reached with the keys of a cloud provider's API,
// and those of the third list are not OCI registries.
var (
	harborRegistries = []string{"harbor", "docker-hub", "docker-registry", "google-gcr", "azure-acr", "jfrog-artifactory", "quay", "gitlab",
		"dtr", "github-ghcr"}
	harborCloudAPIs = []string{"aws-ecr", "ali-acr", "huawei-SWR", "tencent-tcr", "volcengine-cr"}
	harborNotOCI    = []string{"helm-hub", "artifact-hub"}
)

// harborKinds has the kinds by the names that Harbor's Terraform provider has for them, where they differ.
var harborKinds = map[string]string{
	"alibaba": "ali-acr", "aws": "aws-ecr", "azure": "azure-acr", "github": "github-ghcr", "google": "google-gcr", "helm": "helm-hub",
	"huawei": "huawei-SWR", "jfrog": "jfrog-artifactory", "tencent": "tencent-tcr", "volcengine": "volcengine-cr",
}

func isHarbor(f *scanner.File) bool {
	registries := listed(f.Root())
	return f.LooksLikeJSON() && len(registries) > 0 && !slices.ContainsFunc(registries, func(n *node.Node) bool {
		kind := n.Get("type").Text()
		known := slices.Contains(harborRegistries, kind) || slices.Contains(harborCloudAPIs, kind) || slices.Contains(harborNotOCI, kind)
		return !known || !n.Get("url").IsText() || n.Get("name") == nil
	})
}

func readHarbor(f *scanner.File) {
	for _, document := range f.Readable() {
		for _, n := range listed(document) {
			harborRegistry(f, n)
		}
	}
}

func harborRegistry(f *scanner.File, n *node.Node) {
	e := scanner.Entry{At: f.At(n.Line, "registry "+dockerauth.Show(n.Get("name").Text())), Address: harborAddress(n.Get("type").Text(),
		n.Get("url").Text())}
	e.Format = model.HarborRegistries
	if skipHarborKind(f, e.At, n.Get("type").Text()) {
		return
	}
	credential := n.Get("credential")
	e.Definition.Auth = scanner.BasicAuth(credential.Get("access_key").Text(), credential.Get("access_secret").Text())
	if credential.Get("type").Text() == "oauth" {
		e.Definition.Auth = &regcheck.Auth{Token: e.Definition.Auth.Password}
	}
	e.Definition.Auth.TLS = harborTLS(n.Get("insecure"), n.Get("ca_certificate").Text())
	if scanner.IsMask(credential.Get("access_secret").Text()) {
		e.Reason, e.Detail = model.UnresolvedMasked, "Harbor's API masks the secret. Check the registry with the secret itself."
	}
	e.Add(f.Scanner)
}

// harborAddress returns where the registry is. For Docker Hub, Harbor has the address of its website.
func harborAddress(kind, url string) string {
	if kind == "docker-hub" {
		return scanner.DockerHub
	}
	return url
}

// skipHarborKind skips what is not reached as an OCI registry with username and password.
func skipHarborKind(f *scanner.File, at model.Source, kind string) bool {
	switch {
	case slices.Contains(harborCloudAPIs, kind):
		f.Scanner.Skip(at, model.SkipCloudAPI, "Harbor reaches registries of the type %.40q with the keys of the cloud provider's API.",
			kind)
	case slices.Contains(harborNotOCI, kind):
		f.Scanner.Skip(at, model.SkipNotOCI, "The type %.40q is a list of charts and not an OCI registry.", kind)
	default:
		return false
	}
	return true
}

// harborTLS returns TLS settings as Harbor uses them. Its CA certificate replaces the certificates of the system.
func harborTLS(insecure *node.Node, ca string) regcheck.TLS {
	return regcheck.TLS{Enabled: insecure.Bool() || ca != "", InsecureSkipVerify: insecure.Bool(), CA: ca}
}
