package regchecktest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Registries that grant permissions per repository.

// gitLabDenial is what GitLab returns for any wrong password or token.
const gitLabDenial = "HTTP Basic: Access denied. If a password was provided for Git authentication, the password was incorrect or you're " +
	"required " +
	"to use a token instead of a password. If a token was provided, it was either incorrect, expired, or improperly scoped."

// buildGitLab: the token service is the forge's host; missing rights are 403 there when no scope is
// left, and the catalog is an administrator's.
func buildGitLab(g *Registry, badStatus int, code, message string) {
	body, err := json.Marshal(ociError(code, message))
	g.fail(err)
	g.tokenHost(&tokenService{g: g, badStatus: badStatus, anonymous: publicTokens, badBody: string(body)})
	g.at(g.gitLab())
}

// buildGitLabGroup has rights per project: what is not one of them is refused.
func buildGitLabGroup(g *Registry) {
	g.tokenHost(&tokenService{g: g, anonymous: publicTokens})
	s := g.gitLab()
	s.missing = s.catalog
	g.at(s)
}

func (g *Registry) gitLab() *registry {
	s := g.tokenRegistry("https://auth.test/jwt/auth", "container_registry")
	s.catalog = func(v *visit) { v.challenge(bearerLine(v, "https://auth.test/jwt/auth", "container_registry")) }
	return s
}

// buildPublicPerRepository lists to anonymous callers what they may read, and refuses everything else.
func buildPublicPerRepository(g *Registry) {
	refuse := func(v *visit) { v.challenge(`Basic realm="Registry Realm"`) }
	s := &registry{g: g, missing: refuse, forbidden: refuse}
	s.admit = func(v *visit) bool {
		who, _, good := basicCaller(v.r)
		if !good && v.what == "ping" {
			refuse(v)
			return false
		}
		v.who = who
		return true
	}
	g.at(s)
}

// buildQuay returns true as the body without credentials and issues no anonymous token without scope. The catalog of a user has
// the readable repositories; that of anonymous callers is empty. Per repository: what does not exist is refused.
func buildQuay(g *Registry, perRepository bool) {
	tokens := &tokenService{g: g, field: "token",
		anonymous: func(scope string) bool { return strings.HasPrefix(scope, "repository:public/") }}
	s := &registry{g: g, pong: "true"}
	admit := g.bearer(func(v *visit) []string {
		return []string{bearerLine(v, sameHost(v, "/v2/auth"), v.r.Host)}
	})
	s.admit = func(v *visit) bool {
		if v.what == "ping" && v.r.Header.Get("Authorization") == "" {
			v.w.Header().Set("WWW-Authenticate", bearerLine(v, sameHost(v, "/v2/auth"), v.r.Host))
			v.send(http.StatusUnauthorized, "application/json", "true")
			return false
		}
		if token, known := g.mints.find(bearerText(v.r)); v.what == "catalog" {
			v.who = caller{may: func(string) bool { return false }}
			if known && !token.ghost {
				v.who = token.who
			}
			return true
		}
		return admit(v)
	}
	s.forbidden = func(v *visit) {
		v.fail(http.StatusUnauthorized, "UNAUTHORIZED", "access to the requested resource is not authorized")
	}
	if perRepository {
		s.missing = s.forbidden
	}
	g.at(withPath("/v2/auth", tokens, s))
}
