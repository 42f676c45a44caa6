package regchecktest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// TokenHead is the beginning of every token of a token service. Tokens are secret too.
const TokenHead = "eyJhbGciOiJub25lIn0."

// mints has the tokens that the token services issued.
type mints struct {
	mu    sync.Mutex
	given map[string]grant
}

// grant is what a token permits.
type grant struct {
	who    caller
	scopes []string // granted ones
	ghost  bool     // anonymous
}

func newMints() *mints { return &mints{given: map[string]grant{}} }

func (m *mints) mint(who caller, scopes []string) string {
	var raw [24]byte
	_, _ = rand.Read(raw[:]) // never fails
	token := TokenHead + base64.RawURLEncoding.EncodeToString(raw[:]) + ".sig"
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given[token] = grant{who, scopes, who.name == ""}
	return token
}

func (m *mints) find(token string) (grant, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, known := m.given[token]
	return found, known
}

// covers reports whether the token permits this visit.
func (t grant) covers(v *visit) bool {
	want := "repository:" + v.repo + ":"
	if v.what == "catalog" {
		want = "registry:catalog:"
	}
	for _, scope := range t.scopes {
		if rest, ok := strings.CutPrefix(scope, want); ok && (rest == "*" || strings.Contains(","+rest+",", ",pull,")) {
			return true
		}
	}
	return false
}

// tokenService follows the distribution project's token specification, with each product's ways.
type tokenService struct {
	g         *Registry
	anonymous func(scope string) bool // "" stands for a request without scope
	badStatus int                     // for wrong credentials; 0: 401
	badBody   string                  // its body; "": an OCI error
	scoped200 bool                    // Harbor: wrong credentials with a scope get an anonymous token
	post      bool                    // takes POST with grant_type=refresh_token or password
	noPost    int                     // else its status; 0: 405
	field     string                  // "token", "access_token" or "" for both
	expired   int                     // status for ExpiredPassword; 0: as any wrong one
	respond   http.HandlerFunc        // instead of all this, after the credentials were noted
}

func (s *tokenService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.respond != nil {
		s.respond(w, r)
		return
	}
	v := &visit{w: w, r: r}
	switch {
	case r.Method == http.MethodPost && s.post:
		s.postForm(v)
	case r.Method == http.MethodGet:
		who, sent, good := basicCaller(r)
		s.decide(v, who, sent, good, scopesOf(r.URL.Query()["scope"]))
	case s.noPost != 0:
		v.fail(s.noPost, "UNSUPPORTED", "The operation is unsupported.")
	default:
		w.Header().Set("Allow", "GET")
		v.send(http.StatusMethodNotAllowed, "text/plain; charset=utf-8", "Method Not Allowed\n")
	}
}

func (s *tokenService) postForm(v *visit) {
	if err := v.r.ParseForm(); err != nil || v.r.PostForm.Get("client_id") == "" {
		v.json(http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": "client_id is required"})
		return
	}
	form := v.r.PostForm
	scopes := scopesOf(form["scope"])
	switch form.Get("grant_type") {
	case "refresh_token":
		s.decide(v, ada(), true, form.Get("refresh_token") == Token, scopes)
	case "password":
		who, good := login(form.Get("username"), form.Get("password"))
		s.decide(v, who, true, good, scopes)
	default:
		v.json(http.StatusBadRequest, map[string]any{"error": "unsupported_grant_type"})
	}
}

func (s *tokenService) decide(v *visit, who caller, sent, good bool, scopes []string) {
	switch {
	case sent && good:
		s.give(v, who, s.grantable(who, scopes))
	case sent && s.scoped200 && len(scopes) > 0:
		s.give(v, anonymous, s.grantable(anonymous, scopes))
	case sent:
		s.refuse(v)
	case s.open(scopes):
		s.give(v, anonymous, s.grantable(anonymous, scopes))
	default:
		s.refuse(v)
	}
}

// open reports whether anonymous callers get a token.
func (s *tokenService) open(scopes []string) bool {
	if s.anonymous == nil {
		return false
	}
	if len(scopes) == 0 {
		return s.anonymous("")
	}
	return !slices.ContainsFunc(scopes, func(scope string) bool { return !s.anonymous(scope) })
}

// grantable returns the scopes that the caller may have. The others are omitted, as the specification requires.
func (s *tokenService) grantable(who caller, scopes []string) (list []string) {
	for _, scope := range scopes {
		kind, rest, _ := strings.Cut(scope, ":")
		name, _, _ := strings.Cut(rest, ":")
		if kind == "registry" && who.name == User || kind == "repository" && who.may(name) && ociName(name) {
			list = append(list, scope)
		}
	}
	return list
}

func (s *tokenService) give(v *visit, who caller, scopes []string) {
	token := s.g.mints.mint(who, scopes)
	body := map[string]any{"expires_in": 300, "issued_at": s.g.pki.now.UTC().Format("2006-01-02T15:04:05Z")}
	switch s.field {
	case "":
		body["token"], body["access_token"] = token, token
	default:
		body[s.field] = token
	}
	v.json(http.StatusOK, body)
}

func (s *tokenService) refuse(v *visit) {
	_, password, _ := v.r.BasicAuth()
	if s.expired != 0 && password == ExpiredPassword {
		v.fail(s.expired, "DENIED", "Your authorization token has expired. Reauthenticate and try again.")
		return
	}
	status := s.badStatus
	if status == 0 {
		status = http.StatusUnauthorized
	}
	if s.badBody != "" {
		v.send(status, "application/json", s.badBody)
		return
	}
	v.fail(status, "UNAUTHORIZED", "incorrect username or password")
}

// scopesOf reads both spellings: a parameter per scope, or several in one, split by spaces.
func scopesOf(values []string) (list []string) {
	for _, value := range values {
		list = append(list, strings.Fields(value)...)
	}
	return list
}

func parseForm(body string) url.Values {
	form, err := url.ParseQuery(body)
	if err != nil {
		return nil
	}
	return form
}

// bearer admits by token. challenge gives the WWW-Authenticate lines for a visit.
func (g *Registry) bearer(challenge func(*visit) []string) func(*visit) bool {
	return func(v *visit) bool {
		token, known := g.mints.find(bearerText(v.r))
		if !known || v.what != "ping" && !token.covers(v) {
			v.challenge(challenge(v)...)
			return false
		}
		v.who = token.who
		return true
	}
}

// bearerLine writes a challenge as distribution does: everything quoted, scope only for content.
func bearerLine(v *visit, realm, service string) string {
	line := fmt.Sprintf(`Bearer realm="%s"`, realm)
	if service != "" {
		line += fmt.Sprintf(`,service="%s"`, service)
	}
	if scope := scopeFor(v); scope != "" {
		line += fmt.Sprintf(`,scope="%s"`, scope)
	}
	if v.r.Header.Get("Authorization") != "" {
		line += `,error="invalid_token"`
	}
	return line
}

func scopeFor(v *visit) string {
	switch v.what {
	case "catalog":
		return "registry:catalog:*"
	case "tags", "manifest", "blob":
		return "repository:" + v.repo + ":pull"
	}
	return ""
}

// sameHost returns the URL of a path at the host of the request.
func sameHost(v *visit, path string) string {
	scheme := "https://"
	if v.r.TLS == nil {
		scheme = "http://"
	}
	return scheme + v.r.Host + path
}
