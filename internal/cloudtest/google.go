package cloudtest

import (
	"crypto/rsa"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Google imitates the token endpoint for service accounts (RFC 7523).
type Google struct {
	Now      func() time.Time
	Accounts map[string]GoogleAccount // by email address
	Down     func() bool

	Pools map[string]Trust // workload identity pools by the name of their provider, which is the audience of requests

	tokens    issued
	federated issued
}

// GoogleAccount is a service account with its keys by their ids.
type GoogleAccount struct {
	Keys     map[string]*rsa.PublicKey
	Disabled bool
	NoReader bool     // without the role on the repository
	Trusts   []string // subjects of tokens that may impersonate it
}

// Accepts reports whether a registry accepts a username and password.
func (g *Google) Accepts(user, password string) bool {
	return user == "oauth2accesstoken" && g.tokens.valid(password, g.Now())
}

// Admits reports whether a registry responds to a request, and sends the refusal if it does not.
func (g *Google) Admits(w http.ResponseWriter, r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	email, valid := g.tokens.owner(password, g.Now())
	if user != "oauth2accesstoken" || !valid {
		w.Header().Set("WWW-Authenticate", `Basic realm="`+r.Host+`"`)
		refuse(w, g.Now(), http.StatusUnauthorized, "UNAUTHORIZED", "failed authentication")
		return false
	}
	name := repository(r)
	if g.Accounts[email].NoReader && name != "" {
		project, _, _ := strings.Cut(name, "/")
		refuse(w, g.Now(), http.StatusForbidden, "DENIED", `Permission "artifactregistry.repositories.downloadArtifacts" `+
			`denied on resource "projects/`+project+`" (or it may not exist)`)
		return false
	}
	return true
}

func (g *Google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fail := func(code, description string) {
		respond(w, g.Now(), http.StatusBadRequest, map[string]string{"error": code, "error_description": description})
	}
	if g.Down != nil && g.Down() {
		http.Error(w, "backend error", http.StatusBadGateway)
		return
	}
	switch {
	case r.URL.Path == "/v1/token":
		g.exchange(w, r)
		return
	case strings.HasSuffix(r.URL.Path, ":generateAccessToken"):
		g.impersonate(w, r)
		return
	}
	if r.URL.Path != "/token" || r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		fail("unsupported_grant_type", "Invalid grant_type: "+r.FormValue("grant_type"))
		return
	}
	token, err := jwt.ParseSigned(r.FormValue("assertion"), []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		fail("invalid_grant", "Bad Request")
		return
	}
	var claims struct {
		jwt.Claims
		Scope string `json:"scope"`
	}
	_ = token.UnsafeClaimsWithoutVerification(&claims)
	account, known := g.Accounts[claims.Issuer]
	key := account.Keys[token.Headers[0].KeyID]
	now := g.Now()
	switch {
	case !known:
		fail("invalid_grant", "Invalid grant: account not found")
	case account.Disabled:
		fail("invalid_grant", "Account has been disabled.")
	case key == nil || token.Claims(key, &claims) != nil:
		fail("invalid_grant", "Invalid JWT Signature.")
	case claims.IssuedAt == nil || claims.Expiry == nil || now.Before(claims.IssuedAt.Time().Add(-5*time.Minute)) ||
		!now.Before(claims.Expiry.Time()),
		claims.Expiry.Time().Sub(claims.IssuedAt.Time()) > time.Hour:
		fail("invalid_grant", "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "+
			"Check your iat and exp values in the JWT claim.")
	case !slices.Contains(claims.Audience, "https://oauth2.googleapis.com/token"):
		fail("invalid_grant", "Invalid JWT: Failed audience check.")
	case !strings.Contains(claims.Scope, "https://www.googleapis.com/auth/"):
		fail("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
	default:
		respond(w, now, http.StatusOK, map[string]any{"expires_in": 3599, "token_type": "Bearer",
			"access_token": g.tokens.addFor(claims.Issuer, "ya29.", now.Add(time.Hour))})
	}
}
