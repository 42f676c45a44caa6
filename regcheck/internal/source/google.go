package source

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// GCPKey is what an access token for Artifact Registry is obtained with (auth.type gcp).
type GCPKey struct {
	ServiceAccount secret.String `json:"serviceAccount,omitempty"` // the key file, which is JSON
	Ambient        bool          `json:"ambient,omitempty"`        // instead of a key: the identity of the process
}

// Serves implements Settings.
func (*GCPKey) Serves(host string) bool {
	return isGoogleHost(host)
}

// Source implements Settings.
func (k *GCPKey) Source(registry *url.URL, note Note) Source {
	account, err := readGoogleAccount(k.ServiceAccount.Reveal())
	switch {
	case k.Ambient && k.ServiceAccount != "":
		note("auth.gcp.ambient", "cannot be combined with the key of a service account")
	case k.Ambient:
	case len(k.ServiceAccount) > maxKey:
		note("auth.gcp.serviceAccount", message.Of("must be at most %d bytes", maxKey))
	case k.ServiceAccount == "":
		note("auth.gcp.serviceAccount", "is required")
	case err != nil:
		note("auth.gcp.serviceAccount", message.Of("%s", err.Error()))
	}
	if !isGoogleHost(registry.Hostname()) {
		note("endpoint", "must be a registry of Google for {auth.type} gcp, such as europe-west1-docker.pkg.dev")
	}
	return Google{Account: account, Ambient: k.Ambient}
}

// Google obtains an access token, valid for an hour, for the key of a service account (RFC 7523, as Google documents it for
// service accounts). Artifact Registry and Container Registry accept it as the password of oauth2accesstoken.
type Google struct {
	Account googleAccount
	Ambient bool // the identity of the process instead
}

// bind implements binder.
func (g Google) bind(a *Ambient) Source {
	if !g.Ambient {
		return g
	}
	if r := a.refuse("gcp", "auth.gcp"); r != nil {
		return r
	}
	if file := a.Getenv("GOOGLE_APPLICATION_CREDENTIALS"); file != "" {
		return googleFile{a, file}
	}
	return googleMachine{}
}

// googleAccount is the key file of a service account.
type googleAccount struct {
	Type     string `json:"type"`
	Email    string `json:"client_email"`
	KeyID    string `json:"private_key_id"`
	Key      string `json:"private_key"`
	signer   any
	original string
}

const (
	googleHost  = "oauth2.googleapis.com"
	googleScope = "https://www.googleapis.com/auth/devstorage.read_only https://www.googleapis.com/auth/cloud-platform.read-only"
)

// isGoogleHost reports whether the name is one of Artifact Registry or Container Registry. An access token of Google is not only for
// registries, so no other host may get it.
func isGoogleHost(host string) bool {
	return host == "gcr.io" || strings.HasSuffix(host, ".gcr.io") || strings.HasSuffix(host, ".pkg.dev")
}

// readGoogleAccount reads a key file. Its token_uri is not used: the file could send the signature to any server.
func readGoogleAccount(text string) (googleAccount, error) {
	var a googleAccount
	if json.Unmarshal([]byte(text), &a) != nil {
		return a, errors.New("must be the JSON key file of a service account")
	}
	if a.Type != "service_account" || a.Email == "" || a.Key == "" {
		return a, errors.New(`must be the key file of a service account, with "type": "service_account", client_email and private_key`)
	}
	key, err := readRSAKey(a.Key)
	if err != nil {
		return a, errors.New("must have a private_key that is an RSA key in PEM form")
	}
	a.signer, a.original = key, text
	return a, nil
}

// Depends implements Source.
func (g Google) Depends() []string { return []string{"gcp", g.Account.original} }

// Obtain implements Source.
func (g Google) Obtain(ctx context.Context, call Call, now time.Time) (Credentials, error) {
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", g.Account.KeyID)
	assertion, err := signedJWT(g.Account.signer, options, map[string]any{"iss": g.Account.Email, "scope": googleScope,
		"aud": "https://" + googleHost + "/token", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	if err != nil {
		return Credentials{}, err
	}
	request := postForm(apiURL(googleHost, "/token"),
		url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}})
	request.Secret = []string{assertion}
	a, err := call(ctx, request)
	if err != nil {
		return Credentials{}, err
	}
	token, err := readOAuthToken(googleHost, a, now)
	if err != nil {
		return Credentials{}, g.refuse(a, err, now)
	}
	return googleCredentials(googleHost, token), nil
}

// refuse explains an error of Google's token endpoint. Its codes are those of OAuth; only the description distinguishes the causes.
func (g Google) refuse(a *Response, err error, now time.Time) error {
	e, ok := errors.AsType[*oauthError](err)
	if !ok {
		return err
	}
	r := &Refusal{Reason: BadResponse, Seen: e.seen(googleHost, a), Field: "auth.gcp.serviceAccount"}
	switch {
	case e.Code == "invalid_grant" && e.has("account not found"):
		r.Reason = KeyUnknown
	case e.Code == "invalid_grant" && (e.has("disabled") || e.has("expired")):
		r.Reason = KeyExpired
	case e.Code == "invalid_grant" && e.has("reasonable timeframe"):
		r.Reason, r.Field = ClockSkew, ""
		if s := skewed(googleHost, a, now); s != nil {
			r = s
		}
	case e.Code == "invalid_grant" && e.has("signature"):
		r.Reason = SecretWrong // the key was deleted, or belongs to another account
	case e.Code == "invalid_scope", e.Code == "unauthorized_client":
		r.Reason = NotAuthorized
	}
	return r
}

// signedJWT signs claims with RS256.
func signedJWT(key any, options *jose.SignerOptions, claims map[string]any) (string, error) {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, options)
	if err != nil {
		return "", err
	}
	return jwt.Signed(s).Claims(claims).Serialize()
}

// oauthToken is the response of a token endpoint (RFC 6749 section 5.1).
type oauthToken struct {
	Access  secret.String
	Expires time.Time
}

// oauthError is an error of a token endpoint (RFC 6749 section 5.2).
type oauthError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (e *oauthError) Error() string { return e.Code }

func (e *oauthError) has(words string) bool { return containsFold(e.Description, words) }

func (e *oauthError) seen(host string, a *Response) message.Text {
	return message.Of("%s returned %d (%s: %s).", host, a.Status, a.Show(e.Code), a.Show(e.Description))
}

// readOAuthToken reads a response of a token endpoint. The error is a *Refusal, or an *oauthError that only the provider explains.
func readOAuthToken(host string, a *Response, now time.Time) (oauthToken, error) {
	if refusal := busy(host, a); refusal != nil {
		return oauthToken{}, refusal
	}
	if a.Status != http.StatusOK {
		var e oauthError
		if json.Unmarshal(a.Body, &e) != nil || e.Code == "" {
			return oauthToken{}, notAPI(host, a)
		}
		return oauthToken{}, &e
	}
	var body struct {
		Access  string      `json:"access_token"`
		Expires json.Number `json:"expires_in"` // a text in Azure's metadata service
	}
	if json.Unmarshal(a.Body, &body) != nil || body.Access == "" {
		return oauthToken{}, notAPI(host, a)
	}
	token := oauthToken{Access: secret.String(body.Access)}
	if seconds, err := body.Expires.Float64(); err == nil && seconds > 0 {
		token.Expires = now.Add(time.Duration(seconds) * time.Second)
	}
	return token, nil
}
