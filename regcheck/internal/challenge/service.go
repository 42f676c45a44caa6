package challenge

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// MaxToken is the maximum length of a token, which must fit into a header.
const MaxToken = 32 << 10

// Service is the token service of a Bearer challenge (distribution spec, auth/token and auth/oauth).
type Service struct {
	Realm   *url.URL
	Origin  egress.Origin
	Service string
	Scopes  []string      // of the challenge
	From    egress.Origin // that named it
}

// HasHTTPS reports whether requests to the service are encrypted.
func (t *Service) HasHTTPS() bool { return t.Origin.Scheme == "https" }

// Placeholder reports whether the challenge of /v2/ has the scope of a repository. No anonymous token is issued for it,
// although public repositories may be readable (GHCR: repository:user/image:pull).
func (t *Service) Placeholder() bool {
	return slices.ContainsFunc(t.Scopes, func(scope string) bool { return strings.HasPrefix(scope, "repository:") })
}

// RealScopes returns the scopes of the challenge unless they are placeholders ("aws", "*", "registry:catalog:*").
func (t *Service) RealScopes() []string {
	if t.Placeholder() {
		return nil
	}
	return t.Scopes
}

// Login is what a token request authenticates with. The zero value is anonymous.
type Login struct {
	User, Password string // Basic
	Refresh        string // an OAuth2 refresh (identity) token
}

func (t *Service) Call(client string, who Login, scopes []string) *wire.Request {
	u := *t.Realm
	if who.Refresh != "" {
		form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {who.Refresh}, "client_id": {client}}
		if t.Service != "" {
			form.Set("service", t.Service)
		}
		if len(scopes) > 0 {
			form.Set("scope", strings.Join(scopes, " "))
		}
		return &wire.Request{URL: &u, Form: form}
	}
	query := url.Values{}
	if t.Service != "" {
		query.Set("service", t.Service)
	}
	for _, scope := range scopes {
		query.Add("scope", scope)
	}
	if more := query.Encode(); more != "" && u.RawQuery != "" {
		u.RawQuery += "&" + more // the query of the realm is not changed
	} else if more != "" {
		u.RawQuery = more
	}
	c := &wire.Request{URL: &u}
	if who.User != "" || who.Password != "" {
		c.Authorization = Basic(who.User, who.Password)
	}
	return c
}

// ReadToken reads the token of a token response. It ignores expires_in and issued_at: most checks are shorter than the shortest lifetime
// of the specification, 60 seconds. Longer ones renew a token that the registry rejects.
func ReadToken(body []byte) (string, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return "", errors.New("the body is not a JSON object")
	}
	for _, name := range []string{"access_token", "token"} {
		raw, there := members[name]
		if !there || string(raw) == "null" {
			continue
		}
		var token string
		if json.Unmarshal(raw, &token) != nil {
			return "", errors.New("its " + name + " is not a string")
		}
		if token == "" {
			continue
		}
		if len(token) > MaxToken {
			return "", errors.New("its " + name + " is too long for a header")
		}
		if strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
			return "", errors.New("its " + name + " has characters that are not allowed in a header")
		}
		return token, nil
	}
	return "", errors.New("it has no token")
}

// Basic returns the Authorization header of Basic authentication.
func Basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
