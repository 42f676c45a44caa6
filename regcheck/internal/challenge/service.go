package challenge

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// MaxToken bounds a token, which must fit into a header.
const MaxToken = 32 << 10

// Service is the place that a Bearer challenge names (distribution spec, auth/token and auth/oauth).
type Service struct {
	Realm   *url.URL
	Origin  egress.Origin
	Service string
	Scopes  []string      // of the challenge
	From    egress.Origin // that named it
}

// Placeholder reports whether the challenge of /v2/ itself names a repository: no anonymous token is
// given for that one, though public ones may be readable (GHCR: repository:user/image:pull).
func (t *Service) Placeholder() bool {
	for _, scope := range t.Scopes {
		if strings.HasPrefix(scope, "repository:") {
			return true
		}
	}
	return false
}

// RealScopes are the challenge's scopes when they are no placeholder ("aws", "*", "registry:catalog:*").
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
		u.RawQuery += "&" + more // a query of the realm's own stays as it is
	} else if more != "" {
		u.RawQuery = more
	}
	c := &wire.Request{URL: &u}
	if who.User != "" || who.Password != "" {
		c.Authorization = Basic(who.User, who.Password)
	}
	return c
}

// ReadToken reads a token answer. Only the token matters: the shortest lifetime of the
// specification, 60 seconds, outlives a check, so expires_in and issued_at may be anything.
func ReadToken(body []byte) (string, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return "", errors.New("the body is no JSON object")
	}
	for _, name := range []string{"access_token", "token"} {
		raw, there := members[name]
		if !there || string(raw) == "null" {
			continue
		}
		var token string
		if json.Unmarshal(raw, &token) != nil {
			return "", errors.New("its " + name + " is no string")
		}
		if token == "" {
			continue
		}
		if len(token) > MaxToken {
			return "", errors.New("its " + name + " is too long for a header")
		}
		if strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
			return "", errors.New("its " + name + " has characters that no header may carry")
		}
		return token, nil
	}
	return "", errors.New("there is no token in it")
}

// Basic is the Authorization of Basic.
func Basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
