package regchecktest

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"time"
)

// at puts a handler onto the endpoint "https://registry.test" with a certificate of the system's root.
func (g *Registry) at(handler http.Handler) {
	g.start(&site{host: "registry.test:443", tls: g.tls(leaf{}), handler: handler, trusted: true, endpoint: true})
}

// plainAt puts a handler onto "http://registry.test" and makes it the endpoint.
func (g *Registry) plainAt(handler http.Handler) {
	g.Endpoint = "http://registry.test"
	g.start(&site{host: "registry.test:80", handler: handler, trusted: true, endpoint: true})
}

// tokenHost puts a token service onto "https://auth.test/token".
func (g *Registry) tokenHost(service http.Handler) {
	g.start(&site{host: "auth.test:443", tls: g.tls(leaf{commonName: "auth.test"}), handler: service, trusted: true})
}

func (g *Registry) tls(l leaf) *tls.Config {
	certificate, err := g.pki.certificate(l)
	g.fail(err)
	return &tls.Config{Certificates: []tls.Certificate{certificate}}
}

// withPath serves a token service at a path of the host of the registry.
func withPath(path string, service, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			service.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// openRegistry accepts all requests and ignores credentials.
func (g *Registry) openRegistry() *registry {
	return &registry{g: g, admit: func(v *visit) bool {
		v.who = everybody
		return true
	}}
}

// htpasswdRegistry requires Basic for all requests.
func (g *Registry) htpasswdRegistry(realm string) *registry {
	return &registry{g: g, admit: func(v *visit) bool {
		who, _, good := basicCaller(v.r)
		if !good {
			v.challenge(`Basic realm="` + realm + `"`)
			return false
		}
		v.who = who
		return true
	}}
}

// tokenRegistry is distribution with its token authentication.
func (g *Registry) tokenRegistry(realm, service string) *registry {
	return &registry{g: g, admit: g.bearer(func(v *visit) []string {
		if realm[0] == '/' {
			return []string{bearerLine(v, sameHost(v, realm), service)}
		}
		return []string{bearerLine(v, realm, service)}
	})}
}

// publicTokens issues anonymous tokens for public repositories, as Docker Hub does.
func publicTokens(scope string) bool {
	return scope == "" || len(scope) > 18 && scope[:18] == "repository:public/"
}

func plainServers() map[string]builder {
	return map[string]builder{
		"none":      func(*Registry) {},
		"open":      func(g *Registry) { g.at(g.openRegistry()) },
		"open-http": func(g *Registry) { g.plainAt(g.openRegistry()) },
		"htpasswd":  func(g *Registry) { g.at(g.htpasswdRegistry("Registry Realm")) },
		"htpasswd-http": func(g *Registry) {
			g.plainAt(g.htpasswdRegistry("Registry Realm"))
		},
		"htpasswd-subpath": func(g *Registry) {
			s := g.htpasswdRegistry("Registry Realm")
			s.base, g.BasePath = "/registry", "/registry"
			g.at(s)
		},
		"htpasswd-http2": func(g *Registry) {
			g.start(&site{host: "registry.test:443", tls: g.tls(leaf{}), handler: g.htpasswdRegistry("h2"), trusted: true,
				endpoint: true, http2: true})
		},
		"open-public-zone": func(g *Registry) {
			g.start(&site{host: "registry.test:443", tls: g.tls(leaf{}), handler: g.openRegistry(), trusted: true,
				endpoint: true, public: true})
		},
		"open-checks-credentials": buildOpenWithCheck, // a 200 to everybody, but wrong credentials are rejected
		"bearer": func(g *Registry) {
			g.at(withPath("/token", &tokenService{g: g, post: true}, g.tokenRegistry("/token", "registry.test")))
		},
		"bearer-http": func(g *Registry) {
			g.plainAt(withPath("/token", &tokenService{g: g, post: true}, g.tokenRegistry("/token", "registry.test")))
		},
		"bearer-other-host": func(g *Registry) {
			g.tokenHost(&tokenService{g: g, post: true, anonymous: publicTokens})
			g.at(g.tokenRegistry("https://auth.test/token", "registry.test"))
		},
		"bearer-direct": buildDirectBearer,
		"rebinding": func(g *Registry) { // the name means loopback from the second question on
			g.at(g.htpasswdRegistry("Registry Realm"))
			name := g.named["registry.test"]
			name.later = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
			g.named["registry.test"] = name
		},
		"open-slow": func(g *Registry) {
			s := g.openRegistry()
			g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g.pause(r, 300*time.Millisecond)
				s.ServeHTTP(w, r)
			}))
		},
	}
}

func buildOpenWithCheck(g *Registry) {
	g.at(&registry{g: g, admit: func(v *visit) bool {
		who, _, good := basicCaller(v.r)
		v.who = caller{who.name, everybody.may}
		if v.r.Header.Get("Authorization") != "" && !good {
			v.challenge(`Basic realm="Registry Realm"`)
			return false
		}
		return true
	}})
}

// buildDirectBearer takes ada's token as it is, and has no token service.
func buildDirectBearer(g *Registry) {
	g.at(&registry{g: g, admit: func(v *visit) bool {
		if bearerText(v.r) != Token {
			v.challenge(`Bearer`)
			return false
		}
		v.who = ada()
		return true
	}})
}

// pause waits, but no longer than the request or the world lives.
func (g *Registry) pause(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	case <-g.done:
	}
}
