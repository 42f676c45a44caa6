package cloudtest

import (
	"crypto/rsa"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// GitHub imitates the API of GitHub Apps.
type GitHub struct {
	Now  func() time.Time
	Apps map[string]GitHubApp // by id
	Down func() bool

	Tokens map[string]GitHubToken // of users, by their text

	tokens  issued
	bearers issued
}

// GitHubToken is a classic personal access token.
type GitHubToken struct {
	Scopes []string
	NoSSO  bool // not authorized for the single sign-on of the organization
}

// GitHubApp is an app with its installations by id.
type GitHubApp struct {
	Key           *rsa.PublicKey
	Installations map[string]GitHubInstallation
}

// GitHubInstallation is what an organization granted to an app.
type GitHubInstallation struct {
	Permissions map[string]string
	Suspended   bool
}

// Accepts reports whether a registry accepts a password; it accepts any username.
func (g *GitHub) Accepts(_, password string) bool { return g.tokens.valid(password, g.Now()) }

func (g *GitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := g.Now()
	fail := func(status int, message string) {
		respond(w, now, status, map[string]string{"message": message, "documentation_url": "https://docs.github.com/rest"})
	}
	if g.Down != nil && g.Down() {
		http.Error(w, "unicorn", http.StatusServiceUnavailable)
		return
	}
	id, ok := strings.CutPrefix(r.URL.Path, "/app/installations/")
	id, isToken := strings.CutSuffix(id, "/access_tokens")
	text, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || !isToken || r.Method != http.MethodPost {
		fail(http.StatusNotFound, "Not Found")
		return
	}
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil || !bearer {
		fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
		return
	}
	var claims jwt.Claims
	_ = token.UnsafeClaimsWithoutVerification(&claims)
	app, known := g.Apps[claims.Issuer]
	installation, installed := app.Installations[id]
	switch {
	case !known:
		fail(http.StatusUnauthorized, "Integration not found")
	case token.Claims(app.Key, &claims) != nil:
		fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
	case claims.IssuedAt == nil || claims.IssuedAt.Time().After(now):
		fail(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.Expiry == nil || !claims.Expiry.Time().After(now) || claims.Expiry.Time().After(now.Add(10*time.Minute)):
		fail(http.StatusUnauthorized,
			"'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case !installed:
		fail(http.StatusNotFound, "Not Found")
	case installation.Suspended:
		fail(http.StatusForbidden, "This installation has been suspended")
	default:
		until := now.Add(time.Hour).Truncate(time.Second)
		respond(w, now, http.StatusCreated, map[string]any{"token": g.tokens.add("ghs_", until),
			"expires_at":  until.UTC().Format(time.RFC3339),
			"permissions": installation.Permissions, "repository_selection": "all"})
	}
}
