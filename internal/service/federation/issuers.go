package federation

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/service/outbound"
	"github.com/regwarden/regwarden/internal/service/trustrule"
)

const (
	fetchTimeout = 10 * time.Second
	maxDocument  = 256 << 10
	maxKeys      = 100
	maxIssuers   = 1024 // with keys in memory

	// keysFresh is how long keys are used without asking the issuer, which may have withdrawn one since.
	keysFresh = time.Hour
	// keysUsable is how long they are used while the issuer does not respond.
	keysUsable = 24 * time.Hour
	// fetchPause is the shortest time between two fetches: anyone can send a token with an unknown key.
	fetchPause = 30 * time.Second
)

// errIssuer is why an issuer cannot be asked. The text is for the log.
var errIssuer = errors.New("the issuer cannot be used")

// issuer is where the keys of a rule come from. Rules with other certificates share no keys, since their issuer may be another server.
type issuer struct{ url, ca string }

// issuers remembers the keys of issuers. It is safe for concurrent use.
type issuers struct {
	dialer  outbound.Dialer
	now     func() time.Time
	fetches singleflight.Group

	mu    sync.Mutex
	known map[issuer]fetched
}

// fetched is the outcome of the newest fetch, and the newest keys.
type fetched struct {
	keys   []jose.JSONWebKey
	config configuration
	readAt time.Time // of keys
	tried  time.Time
	err    error
}

func newIssuers(dialer outbound.Dialer, now func() time.Time) *issuers {
	dialer.MaxBody = maxDocument
	return &issuers{dialer: dialer, now: now, known: map[issuer]fetched{}}
}

// keysFor returns the keys of an issuer with that key ID, or all if it is empty. It fetches them if they are old or lack the ID, but not
// more often than once in fetchPause.
func (s *issuers) keysFor(ctx context.Context, from issuer, kid string) ([]jose.JSONWebKey, error) {
	have := s.get(from)
	found := withID(have.keys, kid)
	age := s.now().Sub(have.readAt)
	if len(found) > 0 && age < keysFresh {
		return found, nil
	}
	if have.tried.IsZero() || s.now().Sub(have.tried) >= fetchPause {
		have = s.fetch(ctx, from)
		found, age = withID(have.keys, kid), s.now().Sub(have.readAt)
	}
	if have.err != nil && (len(found) == 0 || age >= keysUsable) {
		return nil, fmt.Errorf("%w: %w", errIssuer, have.err)
	}
	return found, nil
}

// configuration is what an issuer publishes of itself (OpenID Connect Discovery 1.0 section 3).
type configuration struct {
	Keys          string   `json:"jwks_uri"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	UserInfo      string   `json:"userinfo_endpoint"`
	Logout        string   `json:"end_session_endpoint"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	Scopes        []string `json:"scopes_supported"`
	SendsIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
}

// configurationOf returns the configuration of an issuer, with the rules of keysFor.
func (s *issuers) configurationOf(ctx context.Context, from issuer) (configuration, error) {
	have := s.get(from)
	if age := s.now().Sub(have.readAt); age >= keysFresh && (have.tried.IsZero() || s.now().Sub(have.tried) >= fetchPause) {
		have = s.fetch(ctx, from)
	}
	if have.readAt.IsZero() || s.now().Sub(have.readAt) >= keysUsable {
		return configuration{}, fmt.Errorf("%w: %w", errIssuer, have.err)
	}
	return have.config, nil
}

func (s *issuers) get(from issuer) fetched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[from]
}

// fetch reads the keys once for all who wait for them. It goes on when one of them gives up.
func (s *issuers) fetch(ctx context.Context, from issuer) fetched {
	result := s.fetches.DoChan(from.url+"\x00"+from.ca, func() (any, error) {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		config, keys, err := s.read(bound, from)
		return s.put(from, fetched{keys: keys, config: config, err: err}), nil
	})
	select {
	case done := <-result:
		return done.Val.(fetched)
	case <-ctx.Done():
		return fetched{err: ctx.Err()}
	}
}

func (s *issuers) put(from issuer, next fetched) fetched {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if err := next.err; err != nil {
		next = s.known[from]
		next.tried, next.err = now, err
	} else {
		next.readAt, next.tried = now, now
	}
	if _, is := s.known[from]; !is && len(s.known) >= maxIssuers {
		clear(s.known)
	}
	s.known[from] = next
	return next
}

// read fetches the configuration of an issuer and its keys.
func (s *issuers) read(ctx context.Context, from issuer) (config configuration, keys []jose.JSONWebKey, err error) {
	client, dialer, err := s.client(from)
	if err != nil {
		return config, nil, err
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), from.url) // compares the issuer
	if err == nil {
		err = provider.Claims(&config)
	}
	if err != nil {
		return config, nil, fmt.Errorf("read its configuration: %w", err)
	}
	if err := mayRefer(ctx, dialer.Guard(), from.url, config.Keys); err != nil {
		return config, nil, fmt.Errorf("read its keys from jwks_uri: %w", err)
	}
	keys, err = readKeys(ctx, client, config.Keys)
	return config, keys, err
}

var errRedirect = errors.New("redirects are not followed")

// client returns a client for requests to an issuer. It follows no redirects.
func (s *issuers) client(from issuer) (*http.Client, outbound.Dialer, error) {
	dialer, err := s.trusting(from.ca)
	return &http.Client{Transport: dialer, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errRedirect
	}}, dialer, err
}

// trusting returns the dialer of an issuer that has its own certificate authority.
func (s *issuers) trusting(ca string) (outbound.Dialer, error) {
	dialer := s.dialer
	if ca == "" {
		return dialer, nil
	}
	roots := dialer.Roots
	if roots == nil {
		var err error
		if roots, err = x509.SystemCertPool(); err != nil {
			return dialer, fmt.Errorf("read the system's certificates: %w", err)
		}
	}
	dialer.Roots = roots.Clone()
	dialer.Roots.AppendCertsFromPEM([]byte(ca))
	return dialer, nil
}

// mayRefer returns an error unless an issuer may refer to that URL: over TLS, and not in a narrower zone of the network.
func mayRefer(ctx context.Context, guard *egress.Guard, from, to string) error {
	var targets [2]*egress.Target
	for i, text := range []string{from, to} {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" {
			return errors.New("must be a URL with https")
		}
		origin, err := egress.ReadOrigin(&url.URL{Scheme: u.Scheme, Host: u.Host})
		if err != nil {
			return err
		}
		if targets[i], err = guard.Reach(ctx, origin); err != nil {
			return err
		}
	}
	return targets[0].Widest.AllowsHop(targets[1].Narrowest)
}

func readKeys(ctx context.Context, client *http.Client, from string) ([]jose.JSONWebKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	body, err := read(client, request)
	if err != nil {
		return nil, fmt.Errorf("read its keys: %w", err)
	}
	set, err := trustrule.ReadKeys(body)
	if err != nil {
		return nil, fmt.Errorf("read its keys: %w", err)
	}
	if len(set.Keys) == 0 || len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("read its keys: %d usable keys, want 1 to %d", len(set.Keys), maxKeys)
	}
	return set.Keys, nil
}

// read returns the body of a response with the status 200. Its size is limited by the client.
func read(client *http.Client, request *http.Request) ([]byte, error) {
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the response is HTTP %d", response.StatusCode)
	}
	return body, err
}

func withID(keys []jose.JSONWebKey, kid string) []jose.JSONWebKey {
	return slices.DeleteFunc(slices.Clone(keys), func(k jose.JSONWebKey) bool { return kid != "" && k.KeyID != kid })
}
