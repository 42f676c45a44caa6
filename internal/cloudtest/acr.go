package cloudtest

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ACRToken is a token of a registry (az acr token): a username and password for the repositories of its scope map.
type ACRToken struct {
	Password     string
	Until        time.Time // of the password
	Disabled     bool
	Repositories []string
}

// bearer is the token service of a registry (/oauth2/token): it issues a token for one repository to the users that Accepts knows and to
// those of Tokens. A token for a repository that a user may not read allows nothing.
func (z *Azure) bearer(w http.ResponseWriter, r *http.Request) {
	user, password, given := r.BasicAuth()
	if r.PostFormValue("grant_type") == "refresh_token" {
		user, password, given = acrUser, r.PostFormValue("refresh_token"), true
	}
	own, known := z.Tokens[user]
	known = known && !own.Disabled && own.Password == password && (own.Until.IsZero() || z.Now().Before(own.Until))
	if !given || r.FormValue("service") != r.Host || !known && !z.Accepts(user, password) {
		respond(w, z.Now(), http.StatusUnauthorized, unauthorized)
		return
	}
	repository, _, _ := strings.Cut(strings.TrimPrefix(r.FormValue("scope"), "repository:"), ":")
	if known && !slices.Contains(own.Repositories, repository) {
		repository = ""
	}
	respond(w, z.Now(), http.StatusOK, map[string]string{
		"access_token": z.bearers.add("access."+hex.EncodeToString([]byte(repository))+".", z.Now().Add(75*time.Minute))})
}

const acrUser = "00000000-0000-0000-0000-000000000000"

var unauthorized = map[string]any{"errors": []any{map[string]string{"code": "UNAUTHORIZED", "message": "authentication required"}}}

// Admits reports whether a registry responds to a request, and sends the challenge if it does not: for GET /v2/ with other credentials
// than its tokens, one for Basic.
func (z *Azure) Admits(w http.ResponseWriter, r *http.Request) bool {
	name := repository(r)
	if r.URL.Path == "/v2/_catalog" {
		name = "_catalog" // for which these tokens are not
	}
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(token, ".")
	if bearer && z.bearers.valid(token, z.Now()) && (name == "" || parts[1] == hex.EncodeToString([]byte(name))) {
		return true
	}
	challenge := `Bearer realm="https://` + r.Host + `/oauth2/token",service="` + r.Host + `"`
	switch {
	case name != "":
		challenge += `,scope="repository:` + name + `:pull"`
	case r.Header.Get("Authorization") != "":
		challenge = `Basic realm="https://` + r.Host + `/"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	respond(w, z.Now(), http.StatusUnauthorized, unauthorized)
	return false
}
