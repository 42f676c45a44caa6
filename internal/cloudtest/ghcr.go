package cloudtest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Admits reports whether a registry responds to a request, and sends the challenge or refusal if it does not. It has the token service
// too, which issues a token to every valid token of an app or a user: whether that may read is only found out at the content.
func (g *GitHub) Admits(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == "/token" {
		g.bearer(w, r)
		return false
	}
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	owner, valid := g.bearers.owner(text, g.Now())
	name := repository(r)
	user, personal := g.Tokens[owner]
	switch {
	case !valid:
		scope := name
		if name == "" {
			scope = "user/image"
		}
		w.Header().Set("WWW-Authenticate",
			`Bearer realm="https://`+r.Host+`/token",service="`+r.Host+`",scope="repository:`+scope+`:pull"`)
		refuse(w, g.Now(), http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
	case name != "" && personal && !slices.Contains(user.Scopes, "read:packages"):
		refuse(w, g.Now(), http.StatusForbidden, "DENIED", "permission_denied: The token provided does not match expected scopes.")
	case name != "" && user.NoSSO:
		refuse(w, g.Now(), http.StatusForbidden, "DENIED", "Resource protected by organization SAML enforcement. "+
			"You must grant your Personal Access token access to this organization.")
	default:
		return true
	}
	return false
}

// bearer is the token service.
func (g *GitHub) bearer(w http.ResponseWriter, r *http.Request) {
	_, password, given := r.BasicAuth()
	_, personal := g.Tokens[password]
	switch {
	case !given:
		refuse(w, g.Now(), http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
	case !personal && !g.tokens.valid(password, g.Now()):
		refuse(w, g.Now(), http.StatusForbidden, "DENIED", "denied")
	default:
		respond(w, g.Now(), http.StatusOK, map[string]string{"token": g.bearers.addFor(password, "", g.Now().Add(5*time.Minute))})
	}
}
