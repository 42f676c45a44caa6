package realregistry

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/regwarden/regwarden/test/testca"
)

// Access is a way to a registry: where it is, and as whom. Without credentials the access is anonymous.
type Access struct {
	Endpoint           string // scheme://host:port[/path]
	CA                 string // PEM, for https
	Client             testca.Pair
	Username, Password string
	Token              string // a registry token, or one that its token server accepts; instead of a password
}

// As is the same registry for another user.
func (a Access) As(username, password string) Access {
	a.Username, a.Password = username, password
	return a
}

// Host is host:port.
func (a Access) Host() string {
	_, rest, _ := strings.Cut(a.Endpoint, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// Path is the endpoint's path, without a slash at its end.
func (a Access) Path() string {
	_, rest, _ := strings.Cut(a.Endpoint, "://")
	_, path, _ := strings.Cut(rest, "/")
	return strings.TrimSuffix("/"+path, "/")
}

func (a Access) plain() bool { return strings.HasPrefix(a.Endpoint, "http://") }

// repository is the repository as oras-go sees it.
func (a Access) repository(t testing.TB, name string) *remote.Repository {
	t.Helper()
	repo, err := remote.NewRepository(a.Host() + "/" + name)
	if err != nil {
		t.Fatalf("name a repository for oras-go: %v", err)
	}
	repo.PlainHTTP = a.plain()
	repo.Client = a.orasClient(t)
	return repo
}

func (a Access) registry(t testing.TB) *remote.Registry {
	t.Helper()
	reg, err := remote.NewRegistry(a.Host())
	if err != nil {
		t.Fatalf("name a registry for oras-go: %v", err)
	}
	reg.PlainHTTP = a.plain()
	reg.Client = a.orasClient(t)
	return reg
}

func (a Access) orasClient(t testing.TB) *auth.Client {
	t.Helper()
	client := &auth.Client{Client: &http.Client{Transport: a.transport(t), Timeout: 20 * time.Second}}
	if a.Token != "" && a.Username == "" {
		credential := auth.Credential{AccessToken: a.Token}
		if !strings.Contains(a.Token, ".") { // a registry token is a JWT
			credential = auth.Credential{RefreshToken: a.Token}
		}
		client.Credential = auth.StaticCredential(a.Host(), credential)
	}
	if a.Username != "" || a.Password != "" {
		client.Credential = auth.StaticCredential(a.Host(), auth.Credential{Username: a.Username, Password: a.Password})
	}
	return client
}

func (a Access) transport(t testing.TB) http.RoundTripper {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM([]byte(a.CA))
	if a.Client.Key != "" {
		config.Certificates = []tls.Certificate{a.Client.TLS(t)}
	}
	base := &http.Transport{TLSClientConfig: config}
	t.Cleanup(base.CloseIdleConnections)
	return below{host: a.Host(), path: a.Path(), base: base}
}

// below puts the endpoint's path before /v2/: oras-go knows registries at the root of a host only.
type below struct {
	host, path string
	base       http.RoundTripper
}

func (b below) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.path != "" && r.URL.Host == b.host && strings.HasPrefix(r.URL.Path, "/v2/") {
		r = r.Clone(r.Context())
		r.URL = r.URL.ResolveReference(&url.URL{Path: b.path + r.URL.Path, RawQuery: r.URL.RawQuery})
	}
	return b.base.RoundTrip(r)
}

// ExpiringPassword returns a password that contains its expiry. It is short enough for bcrypt.
func ExpiringPassword(valid time.Duration) string {
	claims := fmt.Sprintf(`{"exp":%d}`, time.Now().Add(valid).Unix())
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}
