package source

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// GitHubApp is what an installation token for ghcr.io is obtained with (auth.type github).
type GitHubApp struct {
	AppID          string        `json:"appId,omitempty"` // or the client id
	InstallationID string        `json:"installationId,omitempty"`
	PrivateKey     secret.String `json:"privateKey,omitempty"` // PEM
}

// Serves implements Settings.
func (*GitHubApp) Serves(host string) bool {
	_, ok := gitHubAPI(host)
	return ok
}

// Source implements Settings.
func (g *GitHubApp) Source(registry *url.URL, note Note) Source {
	api, ok := gitHubAPI(registry.Hostname())
	if !ok {
		note("endpoint", "must be ghcr.io, or containers.NAME.ghe.com, for {auth.type} github")
	}
	required(note, "auth.github.appId", g.AppID)
	required(note, "auth.github.installationId", g.InstallationID)
	if strings.Trim(g.InstallationID, "0123456789") != "" {
		note("auth.github.installationId", "must be a number")
	}
	key, err := readGitHubKey(g.PrivateKey.Reveal())
	switch {
	case len(g.PrivateKey) > maxKey:
		note("auth.github.privateKey", message.Of("must be at most %d bytes", maxKey))
	case g.PrivateKey == "":
		note("auth.github.privateKey", "is required")
	case err != nil:
		note("auth.github.privateKey", "must be an RSA key in PEM form")
	}
	return GitHub{API: api, App: g.AppID, Installation: g.InstallationID, Key: key}
}

// GitHub obtains a token of an installation of a GitHub App, valid for an hour. ghcr.io accepts it as the password of any user.
type GitHub struct {
	API          string // its host
	App          string // its id, or the client id
	Installation string // digits
	Key          gitHubKey
}

// gitHubKey is the private key of an app.
type gitHubKey struct {
	text   string
	signer any
}

// readGitHubKey reads a private key.
func readGitHubKey(text string) (gitHubKey, error) {
	key, err := readRSAKey(text)
	return gitHubKey{text, key}, err
}

// gitHubAPI returns the host of the API that belongs to a registry. With data residency, both are below the company's name.
func gitHubAPI(registry string) (host string, ok bool) {
	if registry == "ghcr.io" {
		return "api.github.com", true
	}
	if company, found := cutAround(registry, "containers.", ".ghe.com"); found {
		return "api." + company + ".ghe.com", true
	}
	return "", false
}

// Depends implements Source.
func (g GitHub) Depends() []string {
	return []string{"github", g.API, g.App, g.Installation, g.Key.text}
}

// Obtain implements Source.
func (g GitHub) Obtain(ctx context.Context, call Call, now time.Time) (Credentials, error) {
	// iat is a minute earlier, as GitHub advises for clocks that differ; 10 minutes is the longest time that it accepts.
	assertion, err := signedJWT(g.Key.signer, (&jose.SignerOptions{}).WithType("JWT"),
		map[string]any{"iss": g.App, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(9 * time.Minute).Unix()})
	if err != nil {
		return Credentials{}, err
	}
	request := post(apiURL(g.API, "/app/installations/"+g.Installation+"/access_tokens"), "application/json", nil)
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("Authorization", "Bearer "+assertion)
	request.Secret = []string{assertion}
	a, err := call(ctx, request)
	if err != nil {
		return Credentials{}, err
	}
	if a.Status != http.StatusCreated {
		return Credentials{}, g.refuse(a, now)
	}
	var body struct {
		Token       string            `json:"token"`
		Expires     time.Time         `json:"expires_at"`
		Permissions map[string]string `json:"permissions"`
	}
	if json.Unmarshal(a.Body, &body) != nil || body.Token == "" {
		return Credentials{}, notAPI(g.API, a)
	}
	if body.Permissions != nil && body.Permissions["packages"] == "" {
		return Credentials{}, &Refusal{Reason: NotAuthorized, Field: "auth.github.appId",
			Seen: message.Of("%s issued a token without the permission for packages.", g.API),
			Hint: "Give the app the repository permission Packages: read, " +
				"and accept the new permission in the organization that installed it."}
	}
	return Credentials{Username: "x-access-token", Password: secret.String(body.Token), Expires: body.Expires, Issuer: g.API}, nil
}

// isRateLimited reports whether a 403 is for the number of requests. The secondary limits do not depend on how many are left.
func isRateLimited(a *Response, text string) bool {
	return a.Header.Get("X-Ratelimit-Remaining") == "0" || a.Header.Get("Retry-After") != "" || containsFold(text, "rate limit")
}

func (g GitHub) refuse(a *Response, now time.Time) *Refusal {
	var body struct {
		Message string `json:"message"`
	}
	if refusal := busy(g.API, a); refusal != nil {
		return refusal
	}
	if json.Unmarshal(a.Body, &body) != nil || body.Message == "" {
		return notAPI(g.API, a)
	}
	seen := message.Of("%s returned %d (%s).", g.API, a.Status, a.Show(body.Message))
	switch {
	case a.Status == 401 && containsFold(body.Message, "issued at"), a.Status == 401 && containsFold(body.Message, "expiration time"):
		if refusal := skewed(g.API, a, now); refusal != nil {
			return refusal
		}
		return &Refusal{Reason: ClockSkew, Seen: seen}
	case a.Status == 401 && containsFold(body.Message, "integration not found"):
		return &Refusal{Reason: KeyUnknown, Field: "auth.github.appId", Seen: seen}
	case a.Status == 401:
		return &Refusal{Reason: SecretWrong, Field: "auth.github.privateKey", Seen: seen}
	case a.Status == 403 && containsFold(body.Message, "suspended"):
		return &Refusal{Reason: NotAuthorized, Field: "auth.github.installationId", Seen: seen,
			Hint: "Unsuspend the installation of the app in the settings of the organization."}
	case a.Status == 403 && isRateLimited(a, body.Message):
		return &Refusal{Reason: Unavailable, Seen: seen, Retry: true}
	case a.Status == 403:
		return &Refusal{Reason: NotAuthorized, Field: "auth.github.installationId", Seen: seen}
	case a.Status == 404:
		return &Refusal{Reason: KeyUnknown, Field: "auth.github.installationId", Seen: seen,
			Hint: "Set {auth.github.installationId} to an installation of this app: " +
				"its number is in the URL of the installation's settings."}
	}
	return &Refusal{Reason: BadResponse, Seen: seen}
}
