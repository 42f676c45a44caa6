package engine_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// matrixRow is what the cross-check needs of a row of the engine's matrix (regcheck/testdata/matrix_*.json).
type matrixRow struct {
	Name       string
	Server     string
	Definition json.RawMessage
	Want       *struct {
		Valid   bool
		Code    string
		Content string
	}
	Proxy bool
	Truer string // why our result is right where that of oras-go differs
}

// Each row of the matrix is tried with oras-go as well. It can use the valid ones only, unless the row has the reason why
// our result is right. A needless reason fails the test too.
func TestMatrixAgainstORAS(t *testing.T) {
	var mu sync.Mutex
	counts, differ := map[string]int{}, []string{}
	t.Run("rows", func(t *testing.T) {
		for _, row := range slices.DeleteFunc(readMatrix(t), matrixRow.isChartRepository) {
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				kind := againstORAS(t, row)
				mu.Lock()
				defer mu.Unlock()
				counts[kind]++
				if kind == otherwise {
					differ = append(differ, fmt.Sprintf("%s (%s): valid %t; %s", row.Name, row.Server, row.Want.Valid, row.Truer))
				}
			})
		}
	})
	slices.Sort(differ)
	t.Logf("%v\n%s", counts, strings.Join(differ, "\n"))
}

const otherwise = "oras-go differs, and the row has the reason"

// againstORAS tries one row and returns the kind of its outcome.
func againstORAS(t *testing.T, row matrixRow) string {
	t.Helper()
	tried, used := useByORAS(t, row)
	agree := (used == nil) == row.Want.Valid
	switch {
	case agree && row.Truer != "":
		t.Errorf("oras-go agrees, but the row has the reason %q", row.Truer)
	case !agree && row.Truer == "":
		t.Errorf("on %s valid is %t, but oras-go, %s: %v", row.Server, row.Want.Valid, tried, used)
	case !agree:
		return otherwise
	case row.Want.Valid:
		return "valid, and oras-go can use it"
	}
	return "not valid, and oras-go can't use it"
}

// readMatrix gives the rows that a client can try: those with a definition that is one.
func readMatrix(t *testing.T) []matrixRow {
	t.Helper()
	files, err := filepath.Glob("../../regcheck/testdata/matrix_*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no matrix: %v", err)
	}
	var all []matrixRow
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows []matrixRow
		if err := json.Unmarshal(text, &rows); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, slices.DeleteFunc(rows, func(r matrixRow) bool { return r.Want == nil })...)
	}
	return all
}

// Timeouts of oras-go: short where it should fail, since some servers never respond, and long where it should succeed, so
// that a busy machine does not fail the test.
const (
	orasShortWait = 2 * time.Second
	orasLongWait  = 30 * time.Second
)

func orasTimeout(row matrixRow) time.Duration {
	if row.Want.Valid || row.Truer != "" {
		return orasLongWait
	}
	return orasShortWait
}

// useByORAS uses a row's registry as a user of oras-go would: lists the tags below the content path, or asks
// whether the credentials are taken where none is named. It returns what it tried, and why it can't.
func useByORAS(t *testing.T, row matrixRow) (tried string, used error) {
	t.Helper()
	g, err := regchecktest.Open(row.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	d := definitionOf(t, g, row)
	u, err := url.Parse(withScheme(d.Endpoint))
	if err != nil {
		return "reading the endpoint", err
	}
	ctx, cancel := context.WithTimeout(t.Context(), orasTimeout(row))
	defer cancel()
	client := orasClient(t, g, d, u, row.Proxy)
	defer client.Client.CloseIdleConnections()
	if d.BaseContentPath == "" || row.Want.Content == string(regcheck.Unknown) { // nothing is promised of the content then
		registry, err := remote.NewRegistry(u.Host)
		if err != nil {
			return "reading the host", err
		}
		registry.PlainHTTP, registry.Client = u.Scheme == "http", client
		return "asking for the API", registry.Ping(ctx)
	}
	return readable(ctx, u, client, strings.Trim(d.BaseContentPath, "/"))
}

// readable lists the tags of a repository, or of the first below it where it is none itself.
func readable(ctx context.Context, u *url.URL, client *auth.Client, path string) (tried string, used error) {
	if used = tagsOf(ctx, u, client, path); used == nil {
		return "", nil
	}
	registry, err := remote.NewRegistry(u.Host)
	if err != nil {
		return "reading the host", err
	}
	registry.PlainHTTP, registry.Client = u.Scheme == "http", client
	found := errors.New("none is below")
	err = registry.Repositories(ctx, "", func(names []string) error {
		for _, name := range names {
			if below(name, path) && found != nil {
				found = tagsOf(ctx, u, client, name)
			}
		}
		return nil
	})
	if err == nil && found == nil {
		return "", nil
	}
	return "listing tags of " + path, used
}

func tagsOf(ctx context.Context, u *url.URL, client *auth.Client, path string) error {
	repository, err := remote.NewRepository(u.Host + "/" + path)
	if err != nil {
		return err
	}
	repository.PlainHTTP, repository.Client = u.Scheme == "http", client
	return repository.Tags(ctx, "", func([]string) error { return nil })
}

func definitionOf(t *testing.T, g *regchecktest.Registry, row matrixRow) regcheck.Definition {
	t.Helper()
	words, err := g.Words()
	if err != nil {
		t.Fatal(err)
	}
	for word, text := range words { // the words are in JSON strings
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		words[word] = string(quoted[1 : len(quoted)-1])
	}
	var d regcheck.Definition
	if err := json.Unmarshal([]byte(regchecktest.Expand(string(row.Definition), words)), &d); err != nil {
		t.Fatalf("%s: %v", row.Name, err)
	}
	if d.Endpoint == "" {
		d.Endpoint = g.Endpoint
	}
	return d
}

func withScheme(endpoint string) string {
	endpoint = strings.ToLower(strings.TrimSpace(endpoint))
	scheme, rest, found := strings.Cut(endpoint, "://")
	switch {
	case !found:
		return "https://" + endpoint
	case scheme == "oci":
		return "https://" + rest
	}
	return endpoint
}

// orasClient is what a careful user would set up by the same definition.
func orasClient(t *testing.T, g *regchecktest.Registry, d regcheck.Definition, u *url.URL, proxied bool) *auth.Client {
	t.Helper()
	trust := &tls.Config{RootCAs: g.Roots()}
	if d.Auth.TLS.Enabled {
		trust.InsecureSkipVerify = d.Auth.TLS.InsecureSkipVerify
		trust.RootCAs.AppendCertsFromPEM([]byte(d.Auth.TLS.CA))
		if pair, err := tls.X509KeyPair([]byte(d.Auth.TLS.Certificate), []byte(d.Auth.TLS.Key.Reveal())); err == nil {
			trust.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		} else {
			trust.RootCAs.AppendCertsFromPEM([]byte(d.Auth.TLS.Certificate))
		}
	}
	transport := &http.Transport{TLSClientConfig: trust, DialContext: dialIn(g)}
	if proxied {
		transport.Proxy = http.ProxyURL(g.ProxyURL())
	}
	path := strings.TrimSuffix("/"+strings.Trim(strings.Trim(u.Path, "/")+"/"+strings.Trim(d.BasePath, "/"), "/"), "/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "v2"), "/")
	client := &auth.Client{Client: &http.Client{Transport: beneath{host: u.Host, path: path, base: transport}}}
	switch c := d.Auth; {
	case c.Type == regcheck.NoAuth:
	case c.Token != "" && c.Username != "":
		client.Credential = auth.StaticCredential(u.Host, auth.Credential{Username: c.Username, Password: c.Token.Reveal()})
	case c.Token != "":
		client.Credential = auth.StaticCredential(u.Host, auth.Credential{RefreshToken: c.Token.Reveal()})
	default:
		client.Credential = auth.StaticCredential(u.Host, auth.Credential{Username: c.Username, Password: c.Password.Reveal()})
	}
	return client
}

// dialIn resolves and dials in the world of the kit, the first address first.
func dialIn(g *regchecktest.Registry) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		addresses, err := g.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, err
		}
		var conn net.Conn
		for _, a := range addresses {
			if conn, err = g.DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
}

// beneath puts a path before /v2/: oras-go knows registries at the root of a host only.
type beneath struct {
	host, path string
	base       *http.Transport
}

func (b beneath) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.path != "" && r.URL.Host == b.host && strings.HasPrefix(r.URL.Path, "/v2/") {
		r = r.Clone(r.Context())
		r.URL.Path = b.path + r.URL.Path
	}
	return b.base.RoundTrip(r)
}

func (b beneath) CloseIdleConnections() { b.base.CloseIdleConnections() }
