// Package identityprovider runs an OpenID Connect provider for tests: the server of zitadel/oidc with its example storage, over TLS.
package identityprovider

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/regwarden/regwarden/test/testca"
)

// The client and the user of each provider. The storage has them.
const (
	ClientID     = "regwarden"
	ClientSecret = "secret of the client"
	Username     = "test-user2"
	Password     = "verysecure"
	Email        = "test-user2@zitadel.ch"
	Subject      = "id2"
)

// Provider is a running provider.
type Provider struct {
	URL string
	CA  string // PEM

	storage         *storage.Storage
	mu              sync.Mutex
	callback, after string
	removed         bool
	asked           int
}

// Start starts a provider, which ends with the test.
func Start(t *testing.T) *Provider {
	t.Helper()
	return StartAt(t, "127.0.0.1")
}

// StartAt is Start with 127.0.0.1 or localhost in the URL: to a browser these are different sites.
func StartAt(t *testing.T, host string) *Provider {
	t.Helper()
	ca := testca.New(t, "identity provider")
	p := &Provider{CA: ca.PEM()}
	var handler http.Handler // needs the address
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, testca.Options{}).TLS(t)}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	registered.Do(func() {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // the provider logs each request there
		storage.RegisterClients(storage.WebClient(ClientID, ClientSecret))
	})
	server.StartTLS()
	t.Cleanup(server.Close)
	p.URL = strings.Replace(server.URL, "127.0.0.1", host, 1)
	p.storage = storage.NewStorage(storage.NewUserStore(p.URL))
	handler = exampleop.SetupServer(p.URL, &clientStorage{p.storage, p}, nil, false,
		op.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	return p
}

// registered: the clients of the storage are variables of its package.
var registered sync.Once

// Register sets where browsers are sent after a login and after a logout.
func (p *Provider) Register(callback, afterLogout string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.callback, p.after = callback, afterLogout
}

// Remove removes the users: their refresh tokens are not accepted any more.
func (p *Provider) Remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = true
}

// Asked returns how often tokens were refreshed or refused.
func (p *Provider) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// LogoutToken returns a token with which the provider ends the sessions of its user (OpenID Connect Back-Channel Logout 1.0). The library
// sends none itself.
func (p *Provider) LogoutToken(t *testing.T, id string) string {
	t.Helper()
	key, err := p.storage.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	signing := jose.SigningKey{Algorithm: key.SignatureAlgorithm(), Key: jose.JSONWebKey{Key: key.Key(), KeyID: key.ID()}}
	signer, err := jose.NewSigner(signing, (&jose.SignerOptions{}).WithType("logout+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	events := map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}
	token, err := jwt.Signed(signer).Claims(map[string]any{"iss": p.URL, "aud": ClientID, "sub": Subject, "jti": id, "iat": now.Unix(),
		"exp": now.Add(time.Minute).Unix(), "events": events}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// clientStorage has the redirect URIs of a provider.
type clientStorage struct {
	*storage.Storage
	provider *Provider
}

// GetClientByClientID implements op.Storage.
func (s *clientStorage) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.Storage.GetClientByClientID(ctx, id)
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	return &client{c, slices.Clip([]string{s.provider.callback}), []string{s.provider.after}}, err
}

// TokenRequestByRefreshToken implements op.Storage.
func (s *clientStorage) TokenRequestByRefreshToken(ctx context.Context, token string) (op.RefreshTokenRequest, error) {
	s.provider.mu.Lock()
	removed := s.provider.removed
	s.provider.asked++
	s.provider.mu.Unlock()
	if removed {
		return nil, errors.New("the user was removed")
	}
	return s.Storage.TokenRequestByRefreshToken(ctx, token)
}

type client struct {
	op.Client
	redirects, after []string
}

// RedirectURIs implements op.Client.
func (c *client) RedirectURIs() []string { return c.redirects }

// PostLogoutRedirectURIs implements op.Client.
func (c *client) PostLogoutRedirectURIs() []string { return c.after }
