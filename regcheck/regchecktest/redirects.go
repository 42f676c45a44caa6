package regchecktest

import (
	"net/http"
	"strconv"
	"strings"
)

// Redirects of registries and of token services. The targets have working registries, so
// that only the recorded credentials show whether a client must not have followed the redirect.

func redirectServers() map[string]builder {
	all := map[string]builder{
		"redirect-cross-origin": func(g *Registry) { g.redirectTo("https://other.test", http.StatusTemporaryRedirect) },
		"redirect-cross-port": func(g *Registry) {
			g.redirectTo("https://registry.test:8443", http.StatusTemporaryRedirect)
		},
		"redirect-sub-domain": func(g *Registry) {
			g.redirectTo("https://sub.registry.test", http.StatusPermanentRedirect)
		},
		"redirect-downgrade":       func(g *Registry) { g.redirectTo("http://registry.test", http.StatusFound) },
		"redirect-metadata":        func(g *Registry) { g.redirectTo("https://metadata.test", http.StatusFound) },
		"redirect-loopback":        func(g *Registry) { g.redirectTo("https://loopback.test", http.StatusFound) },
		"redirect-closed":          func(g *Registry) { g.redirectTo("https://closed.test", http.StatusFound) },
		"redirect-unknown-host":    func(g *Registry) { g.redirectTo("https://unknown.test", http.StatusFound) },
		"redirect-dns-unreachable": func(g *Registry) { g.redirectTo("https://dns-unreachable.test", http.StatusFound) },
		"redirect-ftp":             func(g *Registry) { g.redirectTo("ftp://other.test", http.StatusFound) },
		"redirect-no-location":     func(g *Registry) { g.at(status(http.StatusFound, "text/plain", "")) },
		"redirect-loop":            func(g *Registry) { g.at(http.HandlerFunc(loop)) },
		"redirect-many":            func(g *Registry) { g.redirectWithin(9) },
		"redirect-within":          func(g *Registry) { g.redirectWithin(2) },
		"redirect-http-to-https":   buildRedirectToHTTPS,
		"redirect-zone":            buildRedirectZone,
		"redirect-content":         buildRedirectContent,
		"content-at-metadata": func(g *Registry) {
			g.tagsInstead(http.RedirectHandler("https://metadata.test/", http.StatusTemporaryRedirect))
		},
		"content-realm-closed":   func(g *Registry) { g.tagsInstead(tagsRealm("https://closed.test/token")) },
		"content-realm-metadata": func(g *Registry) { g.tagsInstead(tagsRealm("https://metadata.test/token")) },
		"content-realm-invalid":  func(g *Registry) { g.tagsInstead(tagsRealm("https://registry.test/v2/")) },
		"content-realm-tls": func(g *Registry) {
			g.start(&site{host: "misnamed.test:443", tls: g.tls(leaf{}), handler: http.NotFoundHandler()})
			g.tagsInstead(tagsRealm("https://misnamed.test/token"))
		},
		"redirect-tags-to-private-ca": buildRedirectTagsToPrivateCA,
		"redirect-content-realm":      buildRedirectContentRealm,
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		all["token-redirect-"+strconv.Itoa(code)] = func(g *Registry) { g.tokenRedirect(code) }
	}
	return all
}

// lures starts registries at the targets of the redirects.
func (g *Registry) lures() {
	config := g.tls(leaf{names: []string{"registry.test", "other.test", "sub.registry.test"}})
	for _, host := range []string{"other.test:443", "registry.test:8443", "sub.registry.test:443"} {
		g.start(&site{host: host, tls: config, handler: g.openRegistry()})
	}
	if g.Endpoint == "http://registry.test" {
		return
	}
	g.start(&site{host: "registry.test:80", handler: g.openRegistry()})
}

func (g *Registry) redirectTo(origin string, code int) {
	g.lures()
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, origin+r.URL.RequestURI(), code)
	}))
}

func loop(w http.ResponseWriter, r *http.Request) {
	to := "/v2/a"
	if r.URL.Path == to {
		to = "/v2/"
	}
	http.Redirect(w, r, to, http.StatusFound)
}

// redirectWithin moves the API by hops inside its own origin.
func (g *Registry) redirectWithin(hops int) {
	s := g.htpasswdRegistry("Registry Realm")
	s.base = strings.Repeat("/hop", hops)
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, s.base+"/v2") {
			s.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, "/hop"+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}))
}

// buildRedirectToHTTPS: the plain port only redirects to https. A client that sends the password first reveals it.
func buildRedirectToHTTPS(g *Registry) {
	g.at(g.htpasswdRegistry("Registry Realm"))
	g.Endpoint = "http://registry.test"
	g.start(&site{host: "registry.test:80", endpoint: true, handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://registry.test"+r.URL.RequestURI(), http.StatusMovedPermanently)
	})})
}

// buildRedirectZone: a public registry that redirects to a private network.
func buildRedirectZone(g *Registry) {
	g.lures()
	config := g.tls(leaf{names: []string{"public.test"}})
	g.Endpoint = "https://public.test"
	g.start(&site{host: "public.test:443", tls: config, public: true, trusted: true, endpoint: true,
		handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.test"+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		})})
}

// tagsInstead starts a registry that lists no tags, but responds otherwise.
func (g *Registry) tagsInstead(other http.Handler) {
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/tags/list") {
			other.ServeHTTP(w, r)
			return true
		}
		return false
	})
}

// tagsRealm names a token service that is only for content.
func tagsRealm(realm string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w: w, r: r}
		v.challenge(bearerLine(v, realm, "registry.test"))
	}
}

// buildRedirectContent serves content from a store on another host, as clouds do for blobs.
func buildRedirectContent(g *Registry) {
	g.lures()
	s := g.htpasswdRegistry("Registry Realm")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, good := basicCaller(r); good && (strings.Contains(r.URL.Path, "/manifests/") || strings.Contains(r.URL.Path, "/blobs/")) {
			http.Redirect(w, r, "https://other.test"+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// buildRedirectTagsToPrivateCA serves lists of tags from another host, which has a certificate of the private CA.
func buildRedirectTagsToPrivateCA(g *Registry) {
	config := g.tls(leaf{names: []string{"other.test"}, by: g.pki.private})
	g.start(&site{host: "other.test:443", tls: config, handler: g.openRegistry()})
	g.redirectTags()
}

// buildRedirectContentRealm redirects lists of tags to a third-party host that requires a token of its own service.
func buildRedirectContentRealm(g *Registry) {
	g.evil()
	config := g.tls(leaf{names: []string{"other.test"}})
	g.start(&site{host: "other.test:443", tls: config, handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate",
			`Bearer realm="https://evil.test/token",service="other.test",scope="repository:charts/nginx:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
	})})
	g.redirectTags()
}

// redirectTags sends lists of tags to other.test, after authentication.
func (g *Registry) redirectTags() {
	s := g.htpasswdRegistry("Registry Realm")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, good := basicCaller(r); good && strings.HasSuffix(r.URL.Path, "/tags/list") {
			http.Redirect(w, r, "https://other.test"+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// tokenRedirect: the token service redirects; with 307 and 308 Go would send the form again.
func (g *Registry) tokenRedirect(code int) {
	g.evil()
	away := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://evil.test"+r.URL.RequestURI(), code)
	})
	g.at(withPath("/token", away, g.tokenRegistry("/token", "registry.test")))
}
