// Package client is a client of the HTTP API, over the types of package api.
//
// A Client logs in and refreshes its token when needed. It repeats a request that the server refused with 429, or with 503,
// after the time in Retry-After: at most three attempts within 30 seconds. A request that creates something, or
// that the server accepts once, is not repeated after a 503, since it may have been done. Redirects are not followed.
//
// An error is an *api.Error if the server refused the request, else it names the request and what failed. No error contains
// a credential of the client.
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Config has the credentials of a Client: an API key; or email, organization and password; or a token, if possible with
// its refresh token. With tokens, email, organization and password are used when the session has ended.
type Config struct {
	APIKey secret.String

	Email    string
	Org      string // may be empty where the server has a default organization
	Password secret.String
	// NewPassword replaces Password at the first login, also if that has expired. It may be empty.
	NewPassword secret.String

	Token        secret.String
	RefreshToken secret.String

	// SecondFactor returns the code for a login that asks for one. It is called again after a wrong one. Nil: such a login is
	// ErrSecondFactor. It must not use the Client.
	SecondFactor func(context.Context, Challenge) (code secret.String, err error)
	// OnRecoveryCodes is called with the recovery codes of a second factor that was added by a login. The server does not show them again.
	OnRecoveryCodes func(codes []string)

	// OnRefresh is called with each new pair, of a login too, before the new token is used. A refresh token is valid once, so
	// a program that stores tokens must replace the old pair. It must not use the Client.
	OnRefresh func(token, refreshToken secret.String)

	// LockTokens is called before a refresh where other processes use the same tokens, and unlock after it. It waits for
	// them, and returns the tokens that the last one stored. If these are others, they are used instead.
	LockTokens func(context.Context) (token, refreshToken secret.String, unlock func(), err error)

	// OnWait is called before a request is repeated that the server refused for now, with the time of the repetition. It may be nil.
	OnWait func(until time.Time)

	MaxList   int64             // bytes of all pages of a list; 0 means no limit
	Project   string            // uid of the project that requests are scoped to; empty for none
	UserAgent string            // name and version of the program; empty means regwarden-client
	CA        []byte            // PEM certificates to trust in addition to the system's
	Transport http.RoundTripper // nil means TLS with CA, and the proxy of the environment
}

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	Orgs       Orgs
	Projects   Projects
	Users      Users
	APIKeys    APIKeys
	Registries Registries
	Alerts     Alerts
	Audits     Audits
	Sessions   Sessions
	Trusts     Trusts
	SSO        SSO
	Roles      Roles
	Teams      Teams
	Tenants    Tenants
	Devices    Devices
	MFA        MFA

	base      *url.URL
	headers   http.Header // of all requests
	onWait    func(until time.Time)
	maxList   int64
	transport http.RoundTripper // not an http.Client, which follows redirects, and whose errors contain URLs and so refresh tokens
	auth      *authorizer       // a pointer, so that printing a Client does not show its credentials
}

// dialTimeout is for connecting, which the system would give up only after minutes.
const dialTimeout = 10 * time.Second

// responseTimeout is more than the longest check, and the longest wait for one, take.
const responseTimeout = 2 * time.Minute

// New returns a client of the server with this URL. Without a scheme it is https; plain http must be written.
func New(server string, config Config) (*Client, error) {
	base, err := parseServer(server)
	if err != nil {
		return nil, err
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	transport, err := config.transport()
	if err != nil {
		return nil, err
	}
	c := &Client{base: base, headers: config.headers(), onWait: config.OnWait, maxList: config.MaxList, transport: transport}
	c.auth = newAuthorizer(c, config)
	c.Orgs, c.Projects, c.Users, c.APIKeys, c.Registries = Orgs{c}, Projects{c}, Users{c}, APIKeys{c}, Registries{c}
	c.Alerts, c.Audits, c.Sessions, c.Trusts, c.SSO, c.Roles = Alerts{c}, Audits{c}, Sessions{c}, Trusts{c}, SSO{c}, Roles{c}
	c.Devices, c.Teams, c.Tenants, c.MFA = Devices{c}, Teams{c}, Tenants{c}, MFA{c}
	return c, nil
}

func parseServer(server string) (*url.URL, error) {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	base, err := url.Parse(server)
	// The text of the error would repeat a password in the URL.
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil ||
		base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the server must be a URL such as https://regwarden.example.com, without credentials or a query")
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), strings.TrimRight(base.RawPath, "/")
	return base, nil
}

var errLogin = errors.New("email and password are required to log in")

func (c Config) check() error {
	login := c.Email != "" || c.Org != "" || c.Password != ""
	switch {
	case c.APIKey != "" && (login || c.Token != "" || c.RefreshToken != ""):
		return errors.New("an API key cannot be combined with a password or tokens")
	case login && (c.Email == "" || c.Password == ""):
		return errLogin
	case len(c.CA) > 0 && c.Transport != nil:
		return errors.New("a CA cannot be combined with a transport")
	}
	return nil
}

func (c Config) headers() http.Header {
	headers := http.Header{"Accept": {jsonType}, "User-Agent": {cmp.Or(c.UserAgent, "regwarden-client")}}
	if c.Project != "" {
		headers.Set(api.HeaderProjectUID, c.Project)
	}
	return headers
}

func (c Config) transport() (http.RoundTripper, error) {
	if c.Transport != nil {
		return c.Transport, nil
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: responseTimeout}
	if len(c.CA) == 0 {
		return transport, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(c.CA) {
		return nil, errors.New("the CA contains no PEM certificate")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return transport, nil
}

// Whoami returns the caller and its organization.
func (c *Client) Whoami(ctx context.Context) (*api.UserInfo, error) {
	return fetch[api.UserInfo](ctx, c, request{path: api.PathUserInfo})
}

// Expiries lists certificates, credentials and API keys that have expired or expire within 400 days, the first to expire first.
func (c *Client) Expiries(ctx context.Context) ([]api.Expiry, error) {
	found, err := read[api.Expiries](ctx, c, request{path: api.PathExpiry})
	return found.Items, err
}

// Login logs in with the email, organization and password of the Config. OnRefresh gets the tokens. It is needed only to
// check a password: other requests log in themselves.
func (c *Client) Login(ctx context.Context) error { return c.auth.loginNow(ctx) }

// Logout ends the session of the token and forgets the tokens. Without a token it does nothing.
func (c *Client) Logout(ctx context.Context) error { return c.auth.logout(ctx) }

// Validate checks a definition. If the definition is not valid, the error is an *api.Error with status 422, and ReportOf
// returns its report.
func (c *Client) Validate(ctx context.Context, definition api.OCIRegistryDefinition) error {
	return c.do(ctx, request{method: http.MethodPost, path: api.PathValidate, in: definition}, nil)
}

// Diagnose checks a definition and returns the report, valid or not.
func (c *Client) Diagnose(ctx context.Context, definition api.OCIRegistryDefinition) (*regcheck.Report, error) {
	return fetch[regcheck.Report](ctx, c, request{method: http.MethodPost, path: api.PathDiagnose, in: definition})
}

// Scan returns the definitions in a file of another program, with masked secrets. An empty format is detected; an empty
// consumer is derived from the format.
func (c *Client) Scan(ctx context.Context, file []byte, format model.Format, as model.Consumer) (*model.Result, error) {
	return fetch[model.Result](ctx, c, request{method: http.MethodPost, path: api.PathScan, file: file, lists: allItems,
		query: query("format", string(format), "as", string(as))})
}

// Service returns the version of the server, and its time.
func (c *Client) Service(ctx context.Context) (*api.Service, error) {
	return fetch[api.Service](ctx, c, request{path: api.PathService})
}

// Health returns an error unless the server accepts requests. It needs no credentials.
func (c *Client) Health(ctx context.Context) error {
	return c.do(ctx, request{path: api.PathReady, anonymous: true}, new(api.Status))
}
