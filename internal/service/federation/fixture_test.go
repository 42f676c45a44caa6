package federation

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/hashing/hashingtest"
	"github.com/regwarden/regwarden/internal/service/outbound"
	"github.com/regwarden/regwarden/internal/service/trustrule"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

var server *postgrestest.Server // nil while the tests use SQLite

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(postgrestest.Twice{Tests: m, Begin: func(s *postgrestest.Server) { server = s }})
}

// Issuers of the tests. Their names lead to the server of the fixture.
const (
	github     = "https://token.actions.githubusercontent.com"
	gitlab     = "https://gitlab.com"
	kubernetes = "https://kubernetes.default.svc.cluster.local"
	other      = "https://login.example.com/tenant"
	audience   = "https://regwarden.example.com"
	org        = "Analytical Engines"
)

var (
	start  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	origin = audit.Origin{RequestID: "ref-1", Address: "192.0.2.1"}
)

// keys are generated once, since that takes long.
var keys = sync.OnceValue(func() (list map[string]*rsa.PrivateKey) {
	list = map[string]*rsa.PrivateKey{}
	for _, name := range []string{github, gitlab, kubernetes, other, "new"} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		list[name] = key
	}
	return list
})

// world is a service with four issuers.
type world struct {
	*Service
	directory.Trusts
	auth *auth.Service
	db   *store.DB
	org  directory.Org

	mu      sync.Mutex
	at      time.Time
	hosts   map[string]netip.Addr
	fetches map[string]int // of keys, by issuer
	served  map[string][]jose.JSONWebKey
	serve   func(w http.ResponseWriter, r *http.Request) bool // returns true for a response in place of the issuer's
	address string
	ca      string // PEM
	dialed  int
	seen    map[string]bool // audit records, by uid
}

func mustWorld(t *testing.T) *world {
	t.Helper()
	w := &world{at: start, seen: map[string]bool{}, fetches: map[string]int{}, served: map[string][]jose.JSONWebKey{},
		hosts: map[string]netip.Addr{}}
	for i, issuer := range append([]string{github, gitlab, kubernetes, other}, vendorHosts...) {
		w.hosts[hostOf(issuer)] = netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) // dialed is the server of the test
		if keys()[issuer] != nil {
			w.served[issuer] = []jose.JSONWebKey{public(issuer, "key-1")}
		}
	}
	roots := w.start(t)
	options := store.Options{Timeout: storetest.LongTimeout, DataDir: t.TempDir()}
	options.DatabaseURL = secret.String(storetest.Create(t, options.DataDir, server))
	var err error
	if w.db, err = store.Open(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
	if w.auth, err = auth.New(t.Context(), w.db, auth.Config{Now: w.now, PollTime: time.Minute, ComputeHash: hashingtest.Compute,
		RefreshAcceptsAuthorization: true}); err != nil {
		t.Fatal(err)
	}
	w.Trusts = directory.Trusts{Directory: directory.New(w.db, w.auth.Passwords, w.now)}
	w.Service = New(w.db, w.auth.Logins, Config{Now: w.now, WaitNow: func() time.Time { return start },
		Dialer: outbound.Dialer{Resolver: w, Dialer: w, Roots: roots}})
	if w.org, err = w.CreateOrg(t.Context(), auth.Operator(), origin, org); err != nil {
		t.Fatal(err)
	}
	return w
}

func hostOf(issuer string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(issuer, "https://"), "/")
	return host
}

func public(of, kid string) jose.JSONWebKey {
	return jose.JSONWebKey{Key: keys()[of].Public(), KeyID: kid, Use: "sig", Algorithm: "RS256"}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

// start serves the issuers over TLS.
func (w *world) start(t *testing.T) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(169, 254, 169, 254)}} // of TestKeysInNarrowerZones
	for host := range w.hosts {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(w.issuer))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	w.address = s.Listener.Addr().String()
	w.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	return roots
}

// issuer is the configuration and the keys of each issuer.
func (w *world) issuer(response http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.serve != nil && w.serve(response, r) {
		return
	}
	path, isConfiguration := strings.CutSuffix(r.URL.Path, "/.well-known/openid-configuration")
	issuer := "https://" + r.Host + strings.TrimSuffix(path, "/jwks")
	if isConfiguration {
		write(response, map[string]any{"issuer": issuer, "jwks_uri": issuer + "/jwks", "authorization_endpoint": issuer + "/authorize",
			"token_endpoint": issuer + "/token", "end_session_endpoint": issuer + "/logout",
			"scopes_supported": []string{"openid", "email", "offline_access"}})
		return
	}
	w.fetches[issuer]++
	write(response, map[string]any{"keys": w.served[issuer]})
}

func write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if address, ok := w.hosts[host]; ok {
		return []netip.Addr{address}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (w *world) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed++
	w.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, w.address)
}

// operator returns the operator for the organization.
func (w *world) operator() auth.Principal {
	p := auth.Operator()
	p.OrgUID, p.OrgName = w.org.UID, w.org.Name
	return p
}

// trust creates a rule of the organization.
func (w *world) trust(t *testing.T, rule directory.NewTrust) directory.Trust {
	t.Helper()
	if rule.Audience == "" {
		rule.Audience = audience
	}
	created, err := w.Create(t.Context(), w.operator(), origin, rule)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func (w *world) trustAll(t *testing.T) {
	t.Helper()
	w.trust(t, directory.NewTrust{Name: "github", Issuer: github, Claims: trustrule.Conditions{"repository": "acme/app",
		"sub": "repo:acme/app:*", "ref": "refs/heads/*"}})
	w.trust(t, directory.NewTrust{Name: "gitlab", Issuer: gitlab, Claims: trustrule.Conditions{"project_path": "acme/app",
		"ref_protected": "true"}})
	w.trust(t, directory.NewTrust{Name: "kubernetes", Issuer: kubernetes, Reusable: true,
		Claims: trustrule.Conditions{"sub": "system:serviceaccount:ci:checks"}})
	w.trust(t, directory.NewTrust{Name: "other", Issuer: other, Claims: trustrule.Conditions{"groups": "ci"}})
}

func (w *world) exchange(t *testing.T, token string) (auth.Tokens, error) {
	t.Helper()
	return w.Exchange(t.Context(), origin, Exchange{Org: org, Token: secret.String(token)})
}

// newRecords returns the audit records that were not returned before.
func (w *world) newRecords(t *testing.T) (added []audit.Record) {
	t.Helper()
	var list []audit.Record
	if err := w.db.View(t.Context(), func(tx *store.Tx) (err error) {
		list, err = tx.Audits.List(t.Context(), audits.Filter{}, 1000)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, record := range list {
		if !w.seen[record.UID] {
			w.seen[record.UID] = true
			added = append(added, record)
		}
	}
	return added
}

// Claims of a platform, as its documentation shows them.
func times() map[string]any {
	return map[string]any{"iat": start.Unix(), "nbf": start.Unix(), "exp": start.Add(5 * time.Minute).Unix(), "aud": audience}
}

func githubClaims() map[string]any {
	claims := times()
	maps.Copy(claims, map[string]any{"iss": github, "jti": "6cbc0ba3-7e1c-4e0a-8b1f-5e6d0f3a2b11",
		"sub": "repo:acme/app:ref:refs/heads/main", "ref": "refs/heads/main", "sha": "d1f5c4f3e0a2b6c8d7e9f0a1b2c3d4e5f6a7b8c9",
		"repository": "acme/app", "repository_owner": "acme", "repository_owner_id": "1234", "run_id": "987654321", "run_number": "10",
		"run_attempt": "1", "repository_visibility": "private", "repository_id": "5678", "actor_id": "42", "actor": "ada",
		"workflow": "ci", "head_ref": "", "base_ref": "", "event_name": "push", "ref_type": "branch", "ref_protected": "true",
		"job_workflow_ref": "acme/app/.github/workflows/ci.yml@refs/heads/main", "runner_environment": "github-hosted"})
	return claims
}

func gitlabClaims() map[string]any {
	claims := times()
	maps.Copy(claims, map[string]any{"iss": gitlab, "jti": "c82eeb0c-5c6f-4a33-abf5-4c474b92b558",
		"sub": "project_path:acme/app:ref_type:branch:ref:main", "namespace_id": "72", "namespace_path": "acme", "project_id": "20",
		"project_path": "acme/app", "user_id": "1", "user_login": "ada", "user_email": "ada@example.com", "pipeline_id": "574",
		"pipeline_source": "push", "job_id": "302", "ref": "main", "ref_type": "branch", "ref_path": "refs/heads/main",
		"ref_protected": "true", "runner_environment": "gitlab-hosted", "project_visibility": "private"})
	return claims
}

func kubernetesClaims() map[string]any {
	claims := times()
	maps.Copy(claims, map[string]any{"iss": kubernetes, "sub": "system:serviceaccount:ci:checks", "aud": []string{audience},
		"jti": "0d7f4f0a-2f1c-4a7e-9d31-3a4c1b9f7a55", "kubernetes.io": map[string]any{"namespace": "ci",
			"serviceaccount": map[string]any{"name": "checks", "uid": "7f6c1e2b-9a0d-4c3e-8f5a-1b2c3d4e5f60"}}})
	return claims
}

func otherClaims() map[string]any {
	claims := times()
	maps.Copy(claims, map[string]any{"iss": other, "sub": "workload-7", "groups": []string{"qa", "ci"}})
	return claims
}

// sign returns a token with a header of its key's issuer.
func sign(t *testing.T, claims map[string]any) string {
	t.Helper()
	issuer, _ := claims["iss"].(string)
	return signWith(t, keys()[issuer], jose.RS256, "key-1", claims)
}

func signWith(t *testing.T, key crypto.PrivateKey, algorithm jose.SignatureAlgorithm, kid string, claims any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return signText(t, key, algorithm, kid, payload)
}

func signText(t *testing.T, key any, algorithm jose.SignatureAlgorithm, kid string, payload []byte) string {
	t.Helper()
	return signHeaded(t, key, algorithm, kid, payload, nil)
}

// signHeaded signs a token with more members in its header.
func signHeaded(t *testing.T, key any, algorithm jose.SignatureAlgorithm, kid string, payload []byte, more map[jose.HeaderKey]any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	for name, value := range more {
		options = options.WithHeader(name, value)
	}
	if kid != "" {
		options = options.WithHeader("kid", kid)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	return mustSerializeText(t, signer, payload)
}

func mustSerialize(t *testing.T, signer jose.Signer, claims any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return mustSerializeText(t, signer, payload)
}

func mustSerializeText(t *testing.T, signer jose.Signer, payload []byte) string {
	t.Helper()
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
