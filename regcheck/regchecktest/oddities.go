package regchecktest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
)

// Registries that work, each with one deviation that has broken clients.

func oddServers() map[string]builder {
	all := map[string]builder{
		"token-ignores-credentials": buildPermissiveTokens,
		"closes-each-time":          buildClosesEachTime,
		"hides-behind-404":          buildHidesBehind404,
		"scopeless-content":         buildScopelessContent,
		"large-headers-http2":       func(g *Registry) { g.largeHeadersHTTP2(100, 1024) },
		"headers-just-over-http2":   func(g *Registry) { g.largeHeadersHTTP2(70, 1024) },
		"one-large-header-http2":    func(g *Registry) { g.largeHeadersHTTP2(1, 200<<10) },
		"endless-headers-http2":     func(g *Registry) { g.largeHeadersHTTP2(3000, 1024) },
		"token-large-headers-http2": func(g *Registry) { g.tokensBehind(filler(1, 200<<10), nil, true) },
		"basic-everywhere":          buildBasicEverywhere,
		"calls-empty-html":          buildCallsEmptyHTML,
		"scope-required-permissive": buildScopeRequiredPermissive,
		"unusable-realm-and-basic": func(g *Registry) {
			g.at(g.basicWith(func(v *visit) { v.challenge(`Bearer realm="ftp://registry.test/token"`, `Basic realm="x"`) }))
		},
		"closes-unsaid":         buildClosesUnsaid,
		"token-falls-back":      buildTokenFallsBack,
		"token-then-403":        buildTokenThenForbidden,
		"limits-unknown-users":  buildLimitsUnknownUsers,
		"first-address-closed":  func(g *Registry) { g.secondAddress("10.20.99.1") },
		"first-address-noroute": func(g *Registry) { g.secondAddress("10.20.99.3") },
		"catalog-many":          buildManyRepositories,
		"catalog-max-entries":   buildMaxEntries,
		"emptied-first": func(g *Registry) { // emptied/a to emptied/c are empty
			emptied := &tree{map[string]*repository{"emptied/d": g.tree.repositories["charts/nginx"]}}
			for _, name := range []string{"emptied/a", "emptied/b", "emptied/c", "void/a", "void/b"} {
				emptied.repositories[name] = g.tree.repositories["empty/none"]
			}
			g.tree = emptied
			g.at(g.htpasswdRegistry("Registry Realm"))
		},
		"catalog-link-other-host": buildLinkOtherHost,
		"ip6": func(g *Registry) {
			g.Endpoint = "https://[fd20::5]"
			g.tlsAt("[fd20::5]:443", leaf{addresses: []string{"fd20::5"}}, nil)
		},
		"no-version": func(g *Registry) { // no version header; only errors show that it is a registry
			s := g.openRegistry()
			s.noVersion = true
			g.at(s)
		},
		"empty-pong": func(g *Registry) {
			s := g.openRegistry()
			s.noVersion, s.pong = true, " "
			g.at(s)
		},
		"lowercase-errors": buildLowercaseErrors,
		"v2-without-slash": buildWithoutSlash,
	}
	for _, code := range []int{401, 403, 404, 429, 500, 503} {
		all[fmt.Sprintf("content-%d", code)] = func(g *Registry) { g.contentFails(code) }
	}
	return all
}

// buildPermissiveTokens issues a token for any credentials.
func buildPermissiveTokens(g *Registry) {
	tokens := &tokenService{g: g, respond: func(w http.ResponseWriter, r *http.Request) {
		permissive := &tokenService{g: g}
		permissive.decide(&visit{w: w, r: r}, ada(), true, true, scopesOf(r.URL.Query()["scope"]))
	}}
	g.at(withPath("/token", tokens, g.tokenRegistry("/token", "registry.test")))
}

func buildClosesEachTime(g *Registry) {
	s := withPath("/token", &tokenService{g: g, post: true}, g.tokenRegistry("/token", "registry.test"))
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		s.ServeHTTP(w, r)
	}))
}

// buildClosesUnsaid also closes each connection, without a Connection header.
func buildClosesUnsaid(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		s.ServeHTTP(recorder, r)
		g.hijack(func(_ *Registry, c net.Conn) {
			result := recorder.Result()
			result.ContentLength = int64(recorder.Body.Len())
			_ = result.Write(c)
		}).ServeHTTP(w, r)
	}))
}

// buildTokenFallsBack issues an anonymous token for wrong credentials, also without scope.
func buildTokenFallsBack(g *Registry) {
	tokens := &tokenService{g: g, respond: func(w http.ResponseWriter, r *http.Request) {
		who, _, _ := basicCaller(r)
		service := &tokenService{g: g}
		service.give(&visit{w: w, r: r}, who, service.grantable(who, scopesOf(r.URL.Query()["scope"])))
	}}
	g.at(withPath("/token", tokens, g.tokenRegistry("/token", "registry.test")))
}

// buildTokenThenForbidden checks credentials at the token service; the registry rejects all tokens.
func buildTokenThenForbidden(g *Registry) {
	s := &registry{g: g, admit: func(v *visit) bool {
		if _, known := g.mints.find(bearerText(v.r)); known {
			v.fail(http.StatusForbidden, "DENIED", "requested access to the resource is denied")
			return false
		}
		v.challenge(bearerLine(v, sameHost(v, "/token"), "registry.test"))
		return false
	}}
	g.at(withPath("/token", &tokenService{g: g, post: true}, s))
}

// buildLimitsUnknownUsers is open, and returns 429 to unknown users.
func buildLimitsUnknownUsers(g *Registry) {
	s := g.openRegistry()
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, _, sent := r.BasicAuth(); sent && user != User {
			limited("60").ServeHTTP(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// secondAddress gives the host two addresses; only the second one responds.
func (g *Registry) secondAddress(first string) {
	g.at(g.htpasswdRegistry("Registry Realm"))
	name := g.named["registry.test"]
	name.addresses = append([]netip.Addr{netip.MustParseAddr(first)}, name.addresses...)
	g.named["registry.test"] = name
}

// buildManyRepositories has more than a page of the catalog before the interesting name.
func buildManyRepositories(g *Registry) {
	many := &tree{map[string]*repository{}}
	for i := range 250 {
		many.repositories[fmt.Sprintf("aaa/%03d", i)] = g.tree.repositories["charts/nginx"]
	}
	many.repositories["zzz/last"] = g.tree.repositories["charts/nginx"]
	g.tree = many
	g.at(g.htpasswdRegistry("Registry Realm"))
}

// buildMaxEntries refuses to list more than a hundred names at once, as distribution 3 does when its
// catalog.maxentries is that.
func buildMaxEntries(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	s.catalog = func(v *visit) {
		if n, err := strconv.Atoi(v.r.URL.Query().Get("n")); err == nil && n > 100 {
			v.fail(http.StatusBadRequest, "PAGINATION_NUMBER_INVALID", "invalid number of results requested")
			return
		}
		s.list(v)
	}
	g.at(s)
}

// buildLinkOtherHost has a catalog whose next page would be on another host.
func buildLinkOtherHost(g *Registry) {
	g.evil()
	s := g.htpasswdRegistry("Registry Realm")
	s.catalog = func(v *visit) {
		v.w.Header().Set("Link", `<https://evil.test/v2/_catalog?last=charts%2Fnginx&n=100>; rel="next"`)
		v.json(http.StatusOK, map[string]any{"repositories": []string{"charts/nginx"}})
	}
	s.tagsDenied = func(v *visit) bool {
		v.w.Header().Set("Link", `<https://evil.test/v2/charts/nginx/tags/list?last=1>; rel="next"`)
		return false
	}
	g.at(s)
}

// buildLowercaseErrors returns error codes in lowercase.
func buildLowercaseErrors(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	s.missing = func(v *visit) { v.fail(http.StatusNotFound, "name_unknown", "no such repository") }
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.ToLower(r.URL.Path) != r.URL.Path {
			(&visit{w: w, r: r}).fail(http.StatusBadRequest, "name_invalid", "invalid repository name")
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// buildWithoutSlash serves the API's root at /v2 only and sends /v2/ there.
func buildWithoutSlash(g *Registry) {
	s := g.htpasswdRegistry("Registry Realm")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v2/":
			http.Redirect(w, r, "/v2", http.StatusMovedPermanently)
		case "/v2":
			r.URL.Path = "/v2/"
			s.ServeHTTP(w, r)
		default:
			s.ServeHTTP(w, r)
		}
	}))
}

// contentFails returns that status for all paths below /v2/ except its root, after authentication.
func (g *Registry) contentFails(code int) {
	s := g.htpasswdRegistry("Registry Realm")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, good := basicCaller(r); good && r.URL.Path != "/v2/" {
			(&visit{w: w, r: r}).fail(code, "DENIED", "not now, not here")
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// buildHidesBehind404 requires Basic from anonymous callers, and returns 404 for wrong credentials.
func buildHidesBehind404(g *Registry) {
	g.at(g.basicWith(func(v *visit) {
		if v.r.Header.Get("Authorization") == "" {
			v.challenge(`Basic realm="hidden"`)
			return
		}
		v.fail(http.StatusNotFound, "NAME_UNKNOWN", "not found")
	}))
}

// buildScopeRequiredPermissive rejects every token without scope on /v2/, as new Harbor releases do, and has a
// token service that issues a token to any caller, which can read public content.
func buildScopeRequiredPermissive(g *Registry) {
	permissive := &tokenService{g: g, respond: func(w http.ResponseWriter, r *http.Request) {
		token := "scopeless"
		if r.URL.Query().Get("scope") != "" {
			token = "anybody"
		}
		(&visit{w: w, r: r}).send(http.StatusOK, "application/json", `{"token":"`+token+`"}`)
	}}
	s := &registry{g: g, admit: func(v *visit) bool {
		if bearerText(v.r) != "anybody" {
			v.challenge(bearerLine(v, sameHost(v, "/token"), "registry.test"))
			return false
		}
		v.who = caller{may: func(string) bool { return true }}
		return true
	}}
	g.at(withPath("/token", permissive, s))
}

// buildCallsEmptyHTML gives its {} the type of a web page.
func buildCallsEmptyHTML(g *Registry) {
	s := g.openRegistry()
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			(&visit{w: w, r: r}).send(http.StatusOK, "text/html", "{}")
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// filler returns that many headers of that length.
func filler(headers, length int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := range headers {
			w.Header().Set("X-Filler-"+strconv.Itoa(i), strings.Repeat("x", length))
		}
		w.WriteHeader(http.StatusOK)
	})
}

// largeHeadersHTTP2 returns more than 64 KiB of headers over HTTP/2.
func (g *Registry) largeHeadersHTTP2(headers, length int) {
	g.start(&site{host: "registry.test:443", tls: g.tls(leaf{}), handler: filler(headers, length), trusted: true,
		endpoint: true, http2: true})
}

// buildBasicEverywhere asks for Basic on every path, as a web server before a registry does, and has the API at its root.
func buildBasicEverywhere(g *Registry) {
	s := g.htpasswdRegistry("everything")
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, good := basicCaller(r); !good {
			(&visit{w: w, r: r}).challenge(`Basic realm="everything"`)
			return
		}
		s.ServeHTTP(w, r)
	}))
}

// buildScopelessContent is open at its root and gives tokens to everybody; its challenge for content
// names no scope. Only an anonymous token shows that the content is open too.
func buildScopelessContent(g *Registry) {
	permissive := &tokenService{g: g, respond: func(w http.ResponseWriter, r *http.Request) {
		(&visit{w: w, r: r}).send(http.StatusOK, "application/json", `{"token":"anybody"}`)
	}}
	s := &registry{g: g, admit: func(v *visit) bool {
		if v.what != "ping" && bearerText(v.r) != "anybody" {
			v.challenge(fmt.Sprintf(`Bearer realm="%s",service="registry.test"`, sameHost(v, "/token")))
			return false
		}
		v.who = caller{may: func(string) bool { return true }}
		return true
	}}
	g.at(withPath("/token", permissive, s))
}
