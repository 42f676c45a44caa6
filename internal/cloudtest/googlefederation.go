package cloudtest

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// exchange imitates Google's Security Token Service, which exchanges the token of a cluster (RFC 8693).
func (g *Google) exchange(w http.ResponseWriter, r *http.Request) {
	now := g.Now()
	fail := func(code, description string) {
		respond(w, now, http.StatusBadRequest, map[string]string{"error": code, "error_description": description})
	}
	pool, known := g.Pools[r.PostFormValue("audience")]
	subject, problem := verify(r.PostFormValue("subject_token"), map[string]Trust{pool.Issuer: pool}, now)
	switch {
	case r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange",
		r.PostFormValue("requested_token_type") != "urn:ietf:params:oauth:token-type:access_token",
		r.PostFormValue("subject_token_type") != "urn:ietf:params:oauth:token-type:jwt", r.PostFormValue("scope") == "":
		fail("invalid_request", "Invalid request.")
	case !known:
		fail("invalid_target", "The target service indicated by the \"audience\" parameters is invalid. This might either be because the "+
			"pool or provider is disabled or deleted or because it doesn't exist.")
	case problem == expired:
		fail("invalid_grant", "ID Token issued at some time is stale.")
	case problem == wrongAudience:
		fail("invalid_grant", "The audience in ID Token does not match the expected audience.")
	case problem == wrongIssuer:
		fail("invalid_grant", "The issuer in ID Token does not match the expected issuer.")
	case problem != "":
		fail("invalid_grant", "Error verifying the signature of the ID Token.")
	default:
		respond(w, now, http.StatusOK, map[string]any{"access_token": g.federated.add("ya29.f."+subject+".", now.Add(time.Hour)),
			"issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "Bearer", "expires_in": 3599})
	}
}

// impersonate imitates the API of IAM that issues tokens of service accounts.
func (g *Google) impersonate(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	email, _, _ := strings.Cut(path.Base(r.URL.Path), ":")
	account, known := g.Accounts[email]
	var body struct {
		Scope []string `json:"scope"`
	}
	text, _ := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	trusted := slices.ContainsFunc(account.Trusts, func(subject string) bool { return strings.Contains(token, "."+subject+".") })
	fail := func(status int, name, message string) {
		respond(w, g.Now(), status, map[string]any{"error": map[string]any{"code": status, "message": message, "status": name}})
	}
	switch {
	case !g.federated.valid(token, g.Now()):
		fail(http.StatusUnauthorized, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
	case json.Unmarshal(text, &body) != nil || len(body.Scope) == 0:
		fail(http.StatusBadRequest, "INVALID_ARGUMENT", "Scope required.")
	case !known:
		fail(http.StatusNotFound, "NOT_FOUND", "Not found; Gaia id not found for email "+email)
	case !trusted:
		fail(http.StatusForbidden, "PERMISSION_DENIED",
			"Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).")
	default:
		until := g.Now().Add(time.Hour)
		respond(w, g.Now(), http.StatusOK, map[string]string{"accessToken": g.tokens.addFor(email, "ya29.", until),
			"expireTime": until.UTC().Format(time.RFC3339)})
	}
}
