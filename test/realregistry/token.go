package realregistry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	tokenService = "test registry service"
	tokenIssuer  = "test token server"
	tokenLife    = 5 * time.Minute
)

// TokenServer is a token server apart from the registry, as the distribution token specification
// describes it: GET with Basic credentials or anonymously, POST with a password or an identity token.
type TokenServer struct {
	URL string

	rules TokenRules
	key   *ecdsa.PrivateKey
	kid   string

	mu       sync.Mutex
	requests []string // method and query of each, without credentials
}

// TokenRules has the rights. Users and Identities have every right; anonymous clients can pull Public.
type TokenRules struct {
	Users      map[string]string // username to password
	Identities []string          // accepted OAuth2 refresh tokens
	Public     string            // prefix of the repositories that anonymous clients can pull; "" rejects them altogether
	CA         *testca.CA        // https
	Gone       bool              // nothing listens at the URL
}

// NewTokenServer runs a token server until the test ends.
func NewTokenServer(t testing.TB, rules TokenRules) *TokenServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("make a token key: %v", err)
	}
	s := &TokenServer{rules: rules, key: key, kid: rand.Text()}
	if rules.Gone {
		s.URL = "http://" + testport.Unused(t) + "/token"
		return s
	}
	server := httptest.NewUnstartedServer(s)
	if rules.CA != nil {
		server.TLS = tlsConfig(t, rules.CA.Issue(t, testca.Options{Name: "token server"}))
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	s.URL = server.URL + "/token"
	return s
}

// Requests returns the requests in order.
func (s *TokenServer) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// parameters are what distribution must know to believe the tokens.
func (s *TokenServer) parameters(t testing.TB) map[string]any {
	t.Helper()
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &s.key.PublicKey, KeyID: s.kid, Algorithm: string(jose.ES256), Use: "sig"}}}
	document, err := json.Marshal(set)
	if err != nil {
		t.Fatalf("encode the token server's keys: %v", err)
	}
	path := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatalf("write the token server's keys: %v", err)
	}
	return map[string]any{
		"realm": s.URL, "issuer": tokenIssuer, "service": tokenService, "jwks": path,
		"signingalgorithms": []any{string(jose.ES256)},
	}
}

type granted struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Actions []string `json:"actions"`
}

func (s *TokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.refuse(w, http.StatusBadRequest, "the form can't be read")
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RawQuery)
	s.mu.Unlock()
	if r.Form.Get("service") != tokenService {
		s.refuse(w, http.StatusBadRequest, "unknown service")
		return
	}
	subject, known := s.caller(r)
	if !known {
		s.refuse(w, http.StatusUnauthorized, "wrong credentials")
		return
	}
	s.grant(w, subject, s.access(subject, scopes(r)))
}

// caller returns the name of the user, or "" for an anonymous client. ok is false when the credentials are wrong or
// anonymous clients have no rights.
func (s *TokenServer) caller(r *http.Request) (name string, ok bool) {
	if r.Method == http.MethodPost {
		switch r.Form.Get("grant_type") {
		case "refresh_token":
			return "identity", slices.Contains(s.rules.Identities, r.Form.Get("refresh_token"))
		case "password":
			return s.user(r.Form.Get("username"), r.Form.Get("password"))
		}
		return "", false
	}
	if name, password, given := r.BasicAuth(); given {
		return s.user(name, password)
	}
	return "", s.rules.Public != "" && r.Header.Get("Authorization") == ""
}

func (s *TokenServer) user(name, password string) (string, bool) {
	want, known := s.rules.Users[name]
	return name, known && want == password
}

func (s *TokenServer) access(subject string, scopes []string) []granted {
	access := []granted{}
	for _, scope := range scopes {
		kind, rest, _ := strings.Cut(scope, ":")
		cut := strings.LastIndex(rest, ":")
		if cut < 0 {
			continue
		}
		g := granted{Type: kind, Name: rest[:cut], Actions: strings.Split(rest[cut+1:], ",")}
		if subject == "" {
			if kind != "repository" || !strings.HasPrefix(g.Name, s.rules.Public) {
				continue
			}
			g.Actions = []string{"pull"}
		}
		access = append(access, g)
	}
	return access
}

func (s *TokenServer) grant(w http.ResponseWriter, subject string, access []granted) {
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", s.kid)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key}, options)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	now := time.Now()
	claims := jwt.Claims{
		Issuer: tokenIssuer, Subject: subject, Audience: jwt.Audience{tokenService}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now.Add(-time.Second)),
		Expiry: jwt.NewNumericDate(now.Add(tokenLife)),
	}
	token, err := jwt.Signed(signer).Claims(claims).Claims(map[string]any{"access": access}).Serialize()
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	s.write(w, http.StatusOK, map[string]any{
		"token": token, "access_token": token, "expires_in": int(tokenLife.Seconds()), "issued_at": now.UTC().Format(time.RFC3339),
	})
}

func (s *TokenServer) refuse(w http.ResponseWriter, status int, why string) {
	s.write(w, status, map[string]any{"errors": []map[string]string{{"code": "UNAUTHORIZED", "message": why}}})
}

func (s *TokenServer) write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}

// scopes come as several parameters (GET) or as one with spaces (POST).
func scopes(r *http.Request) []string {
	var all []string
	for _, s := range r.Form["scope"] {
		all = append(all, strings.Fields(s)...)
	}
	return all
}

// Token signs a token outside of any request: with every right, or one that the registry refuses
// because another server signed it.
func (s *TokenServer) Token(t testing.TB, access ...string) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	s.grant(recorder, "given by hand", s.access("given by hand", access))
	var body struct{ Token string }
	if err := json.Unmarshal(recorder.Body.Bytes(), &body); err != nil || body.Token == "" {
		t.Fatalf("sign a token by hand: %v, %s", err, recorder.Body)
	}
	return body.Token
}
