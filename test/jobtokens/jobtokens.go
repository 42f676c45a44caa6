// Package jobtokens is an issuer of tokens for jobs, as GitHub Actions and GitLab are, on loopback.
package jobtokens

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/regwarden/regwarden/test/testca"
)

// Issuer issues tokens, over TLS with its own authority.
type Issuer struct {
	*httptest.Server
	CA string // file with the certificate of its authority

	key *ecdsa.PrivateKey
}

// Start starts an issuer, which stops at the end of the test.
func Start(t *testing.T) *Issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := testca.New(t, "jobs")
	i := &Issuer{key: key, CA: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(i.CA, []byte(ca.PEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	i.Server = httptest.NewUnstartedServer(http.HandlerFunc(i.serve))
	i.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, testca.Options{}).TLS(t)}, MinVersion: tls.VersionTLS12}
	i.StartTLS()
	t.Cleanup(i.Close)
	return i
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	body := any(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	if r.URL.Path == "/keys" {
		body = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "1", Use: "sig"}}}
	}
	_ = json.NewEncoder(w).Encode(body)
}

// Token returns a token for a job of that repository.
func (i *Issuer) Token(t *testing.T, repository, audience, id string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	payload, err := json.Marshal(map[string]any{"iss": i.URL, "aud": audience, "sub": "repo:" + repository + ":ref:refs/heads/main",
		"repository": repository, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": id})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// GitHub returns the environment of a job of GitHub Actions that has the permission id-token: write. Each of its requests gets a token of
// its own, for the audience that it names.
func (i *Issuer) GitHub(t *testing.T, repository string) []string {
	t.Helper()
	const key = "key of the job"
	var issued atomic.Int64
	requests := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key || r.URL.Query().Get("api-version") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		id := fmt.Sprint(repository, issued.Add(1))
		fmt.Fprintf(w, `{"count":1,"value":%q}`, i.Token(t, repository, r.URL.Query().Get("audience"), id))
	}))
	t.Cleanup(requests.Close)
	return []string{"ACTIONS_ID_TOKEN_REQUEST_URL=" + requests.URL + "/idtoken?api-version=2.0", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=" + key}
}
