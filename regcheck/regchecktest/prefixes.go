package regchecktest

import (
	"net/http"
	"strings"
)

// Registries whose tag lists, catalogs and manifests do not fit together.

func contentServers() map[string]builder {
	return map[string]builder{
		"docker-auth":          buildDockerAuth,
		"olareg":               func(g *Registry) { g.at(namesEverything(g.openRegistry())) },
		"olareg-empty":         func(g *Registry) { g.tree = &tree{}; g.at(namesEverything(g.openRegistry())) },
		"cold-cache":           func(g *Registry) { g.tree = &tree{}; g.at(g.openRegistry()) },
		"invents-names":        buildInventsNames,
		"distribution-emptied": buildDistributionEmptied,
		"lost-blobs": func(g *Registry) {
			g.manifestsFail(http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown to registry")
		},
		"broken-storage": func(g *Registry) {
			g.manifestsFail(http.StatusInternalServerError, "UNKNOWN", "unknown error")
		},
		"keppel":                   buildKeppel,
		"catalog-other-host-basic": buildCatalogOtherHostBasic,
	}
}

// buildDockerAuth is distribution with docker_auth, which listens on a host of its own. It leaves out silently what
// the user has no permission for; the registry then refuses the token. Both are Go servers with HTTP/2.
func buildDockerAuth(g *Registry) {
	for _, s := range []*site{
		{host: "auth.test:443", handler: &tokenService{g: g, post: true}},
		{host: "registry.test:443", handler: g.tokenRegistry("https://auth.test/token", "registry.test"), endpoint: true},
	} {
		host, _, _ := strings.Cut(s.host, ":")
		config := g.tls(leaf{commonName: host})
		s.tls, s.trusted, s.http2 = config, true, true
		g.start(s)
	}
}

// buildCatalogOtherHostBasic redirects its catalog to a host that asks for Basic, as Harbor's own catalog does.
func buildCatalogOtherHostBasic(g *Registry) {
	config := g.tls(leaf{commonName: "evil.test"})
	g.start(&site{host: "evil.test:443", tls: config, handler: g.refusing(`Basic realm="harbor"`)})
	s := g.tokenRegistry("/token", "registry.test")
	s.catalog = func(v *visit) { http.Redirect(v.w, v.r, "https://evil.test/v2/_catalog", http.StatusTemporaryRedirect) }
	g.at(withPath("/token", &tokenService{g: g}, s))
}

// namesEverything returns an empty list of tags for any name.
func namesEverything(s *registry) *registry {
	s.missing = func(v *visit) { s.tags(v, &repository{}) }
	return s
}

// buildInventsNames returns NAME_INVALID for every name.
func buildInventsNames(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	s.name = func(string) bool { return false }
	g.at(s)
}

// buildDistributionEmptied: once all manifests of a repository are deleted, it stays in the catalog, and its list of
// tags is 404.
func buildDistributionEmptied(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	s.tagsDenied = func(v *visit) bool {
		if len(g.tree.repositories[v.repo].tags) > 0 {
			return false
		}
		v.fail(http.StatusNotFound, "NAME_UNKNOWN", "repository name not known to registry")
		return true
	}
	g.at(s)
}

func (g *Registry) manifestsFail(status int, code, message string) {
	s := g.htpasswdRegistry("Registry Realm")
	s.manifests = func(v *visit) { v.fail(status, code, message) }
	g.at(s)
}

// buildKeppel limits the pulls, and not what is listed.
func buildKeppel(g *Registry) {
	s := g.tokenRegistry("/keppel/v1/auth", "registry.test")
	s.manifests = func(v *visit) {
		v.w.Header().Set("Retry-After", "37")
		v.fail(http.StatusTooManyRequests, "TOOMANYREQUESTS", "too many requests")
	}
	g.at(withPath("/keppel/v1/auth", &tokenService{g: g}, s))
}
