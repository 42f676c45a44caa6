package regchecktest

import (
	"fmt"
	"net/http"
	"strings"
)

// Challenges as products send them: RFC 9110 section 11 and deviations. Every
// server here works; a client that parses its challenge is accepted.

func challengeServers() map[string]builder {
	all := map[string]builder{}
	for name, line := range bearerSpellings {
		all[name] = func(g *Registry) { buildSpelling(g, line) }
	}
	for name, lines := range basicSpellings {
		all[name] = func(g *Registry) {
			g.at(g.basicWith(func(v *visit) { v.challenge(lines...) }))
		}
	}
	all["challenge-html-body"] = func(g *Registry) { // nginx in front: auth_basic
		g.at(g.basicWith(func(v *visit) {
			v.w.Header().Del("Docker-Distribution-Api-Version")
			v.w.Header().Set("WWW-Authenticate", `Basic realm="Restricted"`)
			v.send(http.StatusUnauthorized, "text/html",
				"<html>\r\n<head><title>401 Authorization Required</title></head>\r\n<body>nginx</body></html>\r\n")
		}))
	}
	all["challenge-empty-body"] = func(g *Registry) {
		g.at(g.basicWith(func(v *visit) {
			v.w.Header().Set("WWW-Authenticate", `Basic realm="quiet"`)
			v.send(http.StatusUnauthorized, "", "")
		}))
	}
	all["challenge-realm-query"] = buildRealmQuery
	all["challenge-none-basic-works"] = func(g *Registry) {
		g.at(g.basicWith(func(v *visit) { v.challenge() }))
	}
	all["challenge-none"] = func(g *Registry) { g.at(g.refusing()) }
	all["challenge-negotiate-only"] = func(g *Registry) { g.at(g.refusing("Negotiate", "NTLM")) }
	all["challenge-digest-only"] = func(g *Registry) {
		g.at(g.refusing(`Digest realm="r", nonce="dcd98b", qop="auth"`))
	}
	all["challenge-unparsable"] = func(g *Registry) { g.at(g.refusing(`"Bearer" = = realm`)) }
	all["challenge-too-many"] = func(g *Registry) {
		g.at(g.refusing(strings.TrimSuffix(strings.Repeat(`Digest realm="x", `, 200), ", ")))
	}
	return all
}

// bearerSpellings: %s is the origin of the registry. The token service is at /token.
var bearerSpellings = map[string][]string{
	"challenge-two-lines": {`Negotiate`, `Bearer realm="%s/token",service="registry.test"`},
	"challenge-one-line": {`Negotiate, NTLM, Digest realm="a, Bearer b", nonce="x=,y", Bearer ` +
		`realm="%s/token",service="registry.test"`},
	"challenge-token68":       {`Negotiate YIIJvwYGKwYBBQUCoIIJszCCCa+gJDAi==, Bearer realm="%s/token",service="registry.test"`},
	"challenge-basic-first":   {`Basic realm="also", Bearer realm="%s/token",service="registry.test"`},
	"challenge-capitals":      {`BEARER REALM="%s/token",SERVICE="registry.test"`},
	"challenge-lower":         {`bearer realm="%s/token",service="registry.test"`},
	"challenge-unquoted":      {`Bearer realm=%s/token,service=registry.test`},
	"challenge-blanks":        {`Bearer   realm = "%s/token" ,	service = "registry.test"  `},
	"challenge-empty-element": {`, ,Bearer realm="%s/token",,service="registry.test",`},
	"challenge-escapes":       {`Bearer realm="%s/\token",service="registry\.test",scope="repository:\"x\":pull"`},
	"challenge-duplicate":     {`Bearer realm="%s/token",service="registry.test",realm="https://evil.test/token"`},
	"challenge-relative":      {`Bearer realm="/token",service="registry.test"`},
	"challenge-no-service":    {`Bearer realm="%s/token"`},
	"challenge-scope-star":    {`Bearer realm="%s/token",service="registry.test",scope="*"`},
	"challenge-scopes": {`Bearer realm="%s/token",service="registry.test",scope="repository:charts/nginx:pull,push ` +
		`repository:charts/redis:pull"`},
	"challenge-service-odd": {`Bearer realm="%s/token",service="my registry & co=x?#%%"`},
	"challenge-extra": {`Bearer realm="%s/token",service="registry.test",foo=bar,error="invalid_token",error_description="a, ` +
		`b=\"c\""`},
}

var basicSpellings = map[string][]string{
	"challenge-basic-second-line": {`Negotiate`, `NTLM`, `Basic realm="x"`},
	"challenge-basic-no-realm":    {`Basic`},
	"challenge-basic-charset":     {`Basic realm="x", charset="UTF-8"`},
	"challenge-basic-unquoted":    {`basic realm=x`},
}

func buildSpelling(g *Registry, lines []string) {
	s := g.tokenRegistry("/token", "registry.test")
	s.admit = g.bearer(func(v *visit) []string {
		spelled := make([]string, len(lines))
		for i, line := range lines {
			spelled[i] = fmt.Sprintf(strings.ReplaceAll(line, "%s", "%[1]s"), sameHost(v, ""))
			if !strings.Contains(line, "%s") {
				spelled[i] = line
			}
		}
		return spelled
	})
	g.evil()
	g.at(withPath("/token", &tokenService{g: g, post: true}, s))
}

// evil is a host that must not receive secrets.
func (g *Registry) evil() {
	config := g.tls(leaf{commonName: "evil.test", names: []string{"evil.test"}})
	g.start(&site{host: "evil.test:443", tls: config, handler: &tokenService{g: g, post: true}})
}

// buildRealmQuery has a realm with a query, to which clients must add theirs.
func buildRealmQuery(g *Registry) {
	tokens := &tokenService{g: g, post: true}
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("tenant") != "blue" || r.URL.Query().Get("service") == "" && r.Method == http.MethodGet {
			http.Error(w, "no such tenant", http.StatusNotFound)
			return
		}
		tokens.ServeHTTP(w, r)
	})
	s := &registry{g: g, admit: g.bearer(func(v *visit) []string {
		return []string{bearerLine(v, sameHost(v, "/token?tenant=blue"), "registry.test")}
	})}
	g.at(withPath("/token", service, s))
}

// basicWith accepts Basic, and rejects other requests by the function.
func (g *Registry) basicWith(refuse func(*visit)) *registry {
	return &registry{g: g, admit: func(v *visit) bool {
		who, _, good := basicCaller(v.r)
		if !good {
			refuse(v)
			return false
		}
		v.who = who
		return true
	}}
}

// refusing rejects all callers.
func (g *Registry) refusing(lines ...string) *registry {
	return &registry{g: g, admit: func(v *visit) bool {
		v.challenge(lines...)
		return false
	}}
}
