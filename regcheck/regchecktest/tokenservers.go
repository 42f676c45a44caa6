package regchecktest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Token services with unusual responses, and invalid realms.

func tokenServers() map[string]builder {
	all := map[string]builder{}
	for name, handle := range tokenResponses {
		all[name] = func(g *Registry) {
			odd := &tokenService{g: g, respond: func(w http.ResponseWriter, r *http.Request) { handle(g, w, r) }}
			g.at(withPath("/token", odd, g.tokenRegistry("/token", "registry.test")))
		}
	}
	for name, realm := range realms {
		all[name] = func(g *Registry) { g.realm(realm) }
	}
	for name, field := range map[string]string{"token-field-token": "token", "token-field-access-token": "access_token"} {
		all[name] = func(g *Registry) {
			g.at(withPath("/token", &tokenService{g: g, field: field}, g.tokenRegistry("/token", "registry.test")))
		}
	}
	all["token-get-only"] = func(g *Registry) {
		g.at(withPath("/token", &tokenService{g: g}, g.tokenRegistry("/token", "registry.test")))
	}
	all["token-private-ca"] = buildTokenPrivateCA
	all["realm-http-below-http"] = buildRealmHTTPBelowHTTP
	all["realm-private-from-public"] = buildRealmPrivateFromPublic
	all["realm-other-port"] = buildRealmOtherPort
	all["realm-lost-port"] = buildRealmLostPort
	all["token-rejected"] = buildTokenRejected
	return all
}

// give returns a valid response for valid credentials, with extra members.
func give(g *Registry, w http.ResponseWriter, r *http.Request, status int, more string) {
	v := &visit{w: w, r: r}
	who, _, good := basicCaller(r)
	if !good {
		v.fail(http.StatusUnauthorized, "UNAUTHORIZED", "incorrect username or password")
		return
	}
	tokens := &tokenService{g: g}
	v.send(status, "application/json",
		fmt.Sprintf(`{"token":"%s"%s}`, g.mints.mint(who, tokens.grantable(who, scopesOf(r.URL.Query()["scope"]))), more))
}

type tokenResponse func(g *Registry, w http.ResponseWriter, r *http.Request)

func always(status int, kind, body string) tokenResponse {
	return func(_ *Registry, w http.ResponseWriter, r *http.Request) {
		(&visit{w: w, r: r}).send(status, kind, body)
	}
}

var tokenResponses = map[string]tokenResponse{
	"token-expires-zero":   func(g *Registry, w http.ResponseWriter, r *http.Request) { give(g, w, r, 200, `,"expires_in":0`) },
	"token-expires-string": func(g *Registry, w http.ResponseWriter, r *http.Request) { give(g, w, r, 200, `,"expires_in":"300"`) },
	"token-issued-future": func(g *Registry, w http.ResponseWriter, r *http.Request) {
		give(g, w, r, 200, `,"issued_at":"2999-01-01T00:00:00Z"`)
	},
	"token-plain-kind": func(g *Registry, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		give(g, w, r, 200, "")
	},
	"token-needs-scope": func(g *Registry, w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("scope") {
			(&visit{w: w, r: r}).fail(http.StatusBadRequest, "UNSUPPORTED", "scope is required")
			return
		}
		give(g, w, r, 200, "")
	},
	"token-201":      func(g *Registry, w http.ResponseWriter, r *http.Request) { give(g, w, r, 201, "") },
	"token-none":     always(200, "application/json", `{"expires_in":300}`),
	"token-empty":    always(200, "application/json", `{"token":""}`),
	"token-number":   always(200, "application/json", `{"token":17}`),
	"token-html":     always(200, "text/html", "<html><title>Log in</title></html>"),
	"token-204":      always(204, "", ""),
	"token-controls": always(200, "application/json", `{"token":"abc\r\nX-Evil: 1"}`),
	"token-blanks":   always(200, "application/json", `{"token":"abc def"}`),
	"token-404":      always(404, "text/plain", "404 page not found\n"),
	"token-500":      always(500, "application/json", `{"errors":[{"code":"UNKNOWN","message":"boom"}]}`),
	"token-503":      always(503, "text/html", "<html><title>503</title></html>"),
	"token-400":      always(400, "application/json", `{"errors":[{"code":"DENIED","message":"Your authorization token has expired."}]}`),
	"token-429": func(_ *Registry, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		(&visit{w: w, r: r}).send(429, "text/plain", "slow down")
	},
	"token-oversize": func(_ *Registry, w http.ResponseWriter, r *http.Request) {
		(&visit{w: w, r: r}).send(200, "application/json", `{"token":"`+strings.Repeat("a", 3<<20)+`"}`)
	},
	"token-slow": func(g *Registry, _ http.ResponseWriter, r *http.Request) {
		g.pause(r, time.Minute)
		panic(http.ErrAbortHandler) // to return would be an empty 200
	},
	"token-endless": func(g *Registry, w http.ResponseWriter, r *http.Request) {
		g.endless(w, r, `{"token":"`)
	},
	"token-302": func(_ *Registry, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/login", http.StatusFound)
	},
}

// realms of the challenge; the endpoint is https.
var realms = map[string]string{
	"realm-unknown-host":    "https://unknown.test/token",
	"realm-loopback":        "https://loopback.test/token",
	"realm-loopback6":       "https://loopback6.test/token",
	"realm-metadata":        "https://metadata.test/token",
	"realm-metadata-ip":     "https://169.254.169.254/token",
	"realm-metadata-nat64":  "https://metadata-nat64.test/token",
	"realm-http":            "http://auth.test/token",
	"realm-closed":          "https://closed.test/token",
	"realm-silent":          "https://silent.test/token",
	"realm-bad-port":        "https://auth.test:6379/token",
	"realm-empty":           "",
	"realm-user-info":       "https://ada:x@auth.test/token",
	"realm-fragment":        "https://auth.test/token#here",
	"realm-ftp":             "ftp://auth.test/token",
	"realm-unparsable":      "https://[::1/token",
	"realm-control":         "https://auth.test/tok\ten",
	"realm-missing":         "-",
	"realm-hostile-text":    "https://unknown.test/\u202etoken",
	"realm-wrong-name":      "https://misnamed.test/token",
	"realm-dns-timeout":     "https://dns-timeout.test/token",
	"realm-dns-unreachable": "https://dns-unreachable.test/token",
}

// realm starts a registry whose realm is that, an http host that records requests, and a
// token host whose certificate is for another name.
func (g *Registry) realm(realm string) {
	g.start(&site{host: "auth.test:80", handler: &tokenService{g: g, post: true}})
	config := g.tls(leaf{commonName: "auth.test"})
	for _, host := range []string{"misnamed.test:443", "auth.test:6379", "auth.test:443"} {
		g.start(&site{host: host, tls: config, handler: &tokenService{g: g, post: true}})
	}
	g.at(&registry{g: g, admit: g.bearer(func(v *visit) []string {
		if realm == "-" {
			return []string{`Bearer service="registry.test"`}
		}
		return []string{bearerLine(v, realm, "registry.test")}
	})})
}

func buildTokenPrivateCA(g *Registry) {
	config := g.tls(leaf{commonName: "auth.test", by: g.pki.private})
	g.start(&site{host: "auth.test:443", tls: config, handler: &tokenService{g: g, post: true}, trusted: true})
	g.at(g.tokenRegistry("https://auth.test/token", "registry.test"))
}

func buildRealmHTTPBelowHTTP(g *Registry) {
	g.start(&site{host: "auth.test:80", handler: &tokenService{g: g, post: true}, trusted: true})
	g.plainAt(g.tokenRegistry("http://auth.test/token", "registry.test"))
}

// buildRealmPrivateFromPublic: a public registry that names a token service in a private network.
func buildRealmPrivateFromPublic(g *Registry) {
	config := g.tls(leaf{})
	inner := &site{host: "auth.test:443", tls: config, handler: &tokenService{g: g, post: true}}
	g.start(inner)
	g.start(&site{host: "registry.test:443", tls: config, public: true, trusted: true, endpoint: true,
		handler: g.tokenRegistry("https://auth.test/token", "registry.test")})
}

func buildRealmOtherPort(g *Registry) {
	config := g.tls(leaf{})
	g.start(&site{host: "registry.test:8443", tls: config, handler: &tokenService{g: g, post: true}, trusted: true})
	g.at(g.tokenRegistry("https://registry.test:8443/token", "registry.test"))
}

// buildTokenRejected checks credentials and issues tokens that the registry rejects: keys that differ.
func buildTokenRejected(g *Registry) {
	s := &registry{g: g, admit: func(v *visit) bool {
		v.challenge(bearerLine(v, sameHost(v, "/token"), "registry.test"))
		return false
	}}
	g.at(withPath("/token", &tokenService{g: g, post: true}, s))
}

// buildRealmLostPort is behind a proxy that drops the port of the Host header (Nexus).
func buildRealmLostPort(g *Registry) {
	config := g.tls(leaf{})
	g.Endpoint = "https://registry.test:8443"
	s := g.tokenRegistry("https://registry.test/v2/token", "registry.test")
	g.start(&site{host: "registry.test:8443", tls: config, handler: s, trusted: true, endpoint: true})
}
