package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	user     = "ada"
	password = "correct horse"
	times    = 21 // each way is gone
)

// trip is one way to a registry and back. It returns the round trips it says it took, 0 where nothing says.
type trip struct {
	name  string
	limit float64 // 0: none
	run   func(context.Context) (said int, err error)
}

// BenchmarkRoundTrips divides the time of a check by the length of the line to the registry. What net/http
// takes over the same lines for the bare exchanges is the floor.
func BenchmarkRoundTrips(b *testing.B) {
	for range b.N {
		trips := append(realTrips(b), kitTrips(b)...)
		t := &table{name: "Round trips", columns: []string{"over a line of 20 ms each way", "median", "least", "most", "said"}}
		took := measure(b, trips)
		for i, one := range trips {
			cells := []string{one.name, trips3(took[i][times/2]), trips3(took[i][0]), trips3(took[i][times-1]), said(one)}
			if one.limit == 0 {
				t.add(cells...)
				continue
			}
			median := took[i][times/2]
			t.hold(fmt.Sprintf("%.1f", one.limit), inTrips(median) <= one.limit, cells...)
		}
		t.note("Wall time over round-trip time, %d times each in turn; said: what the report counts.", times)
		t.tell(b)
	}
}

func inTrips(d time.Duration) float64 { return float64(d) / float64(2*oneWay) }

func trips3(d time.Duration) string { return fmt.Sprintf("%.3f", inTrips(d)) }

func said(one trip) string {
	if n, err := one.run(context.Background()); err == nil && n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}

// measure goes all ways in turn, so that what disturbs the machine disturbs all alike. The first turn
// warms up. The times of each way come back sorted.
func measure(b *testing.B, trips []trip) [][]time.Duration {
	b.Helper()
	took := make([][]time.Duration, len(trips))
	for turn := range times + 1 {
		for i, one := range trips {
			began := time.Now()
			_, err := one.run(b.Context())
			if err != nil {
				b.Fatalf("%s: %v", one.name, err)
			}
			if turn > 0 {
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	for _, all := range took {
		slices.Sort(all)
	}
	return took
}

// realTrips are distribution registries, and net/http to the same ones.
func realTrips(b *testing.B) []trip {
	b.Helper()
	way, ca := startLines(b), testca.New(b, "registry authority")
	users := map[string]string{user: password}
	basic := away(b, way, realregistry.Distribution(b, realregistry.Options{Users: users, CA: ca}).Endpoint)
	tokens := realregistry.NewTokenServer(b, realregistry.TokenRules{Users: users, CA: ca})
	tokens.URL = away(b, way, tokens.URL)
	bearer := away(b, way, realregistry.Distribution(b, realregistry.Options{Token: tokens, CA: ca}).Endpoint)
	warm := client(ca.Pool())
	b.Cleanup(warm.CloseIdleConnections)
	return []trip{
		{"net/http: GET on an open connection", 0, func(ctx context.Context) (int, error) { return 0, ask(ctx, warm, basic) }},
		{"net/http: TCP, TLS 1.3, GET", 0, func(ctx context.Context) (int, error) {
			fresh := client(ca.Pool())
			defer fresh.CloseIdleConnections()
			return 0, ask(ctx, fresh, basic)
		}},
		{"net/http: GET; token service elsewhere; GET again", 0, func(ctx context.Context) (int, error) {
			fresh := client(ca.Pool())
			defer fresh.CloseIdleConnections()
			return 0, withToken(ctx, fresh, bearer, tokens.URL)
		}},
		{"distribution, TLS, Basic", 3.2, checking(basic, ca.PEM())},
		{"distribution, TLS, Bearer, token service elsewhere", 7.2, checking(bearer, ca.PEM())},
	}
}

// away is a URL as it is written for the far end of a line.
func away(b *testing.B, way *lines, address string) string {
	b.Helper()
	u, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	if u.Host, err = way.to(u.Host); err != nil {
		b.Fatal(err)
	}
	return u.String()
}

func client(roots *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
}

func ask(ctx context.Context, c *http.Client, endpoint string) error {
	_, err := get(ctx, c, endpoint+"/v2/", func(*http.Request) {})
	return err
}

func get(ctx context.Context, c *http.Client, address string, prepare func(*http.Request)) (body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	prepare(request)
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// withToken is the least that any client does before it may use such a registry.
func withToken(ctx context.Context, c *http.Client, endpoint, service string) error {
	if err := ask(ctx, c, endpoint); err != nil {
		return err
	}
	body, err := get(ctx, c, service+"?service=test+registry+service", func(r *http.Request) { r.SetBasicAuth(user, password) })
	if err != nil {
		return err
	}
	var granted struct{ Token string }
	if err := json.Unmarshal(body, &granted); err != nil || granted.Token == "" {
		return fmt.Errorf("no token in %q: %w", body, err)
	}
	_, err = get(ctx, c, endpoint+"/v2/", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+granted.Token) })
	return err
}

func checking(endpoint, ca string) func(context.Context) (int, error) {
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	d := regcheck.Definition{Endpoint: endpoint, Auth: &regcheck.Auth{Username: user, Password: password, TLS: regcheck.TLS{Enabled: true, CA: ca}}}
	return func(ctx context.Context) (int, error) {
		if err != nil {
			return 0, err
		}
		return check(ctx, &regcheck.Checker{Egress: policy}, d)
	}
}

func check(ctx context.Context, c *regcheck.Checker, d regcheck.Definition) (int, error) {
	report, err := c.Check(ctx, d, nil)
	if err != nil {
		return 0, err
	}
	if !report.Valid {
		return 0, errors.New(report.Message)
	}
	return report.RoundTrips, nil
}

// kitTrips are registries of the kit that differ in what they ask of a client.
func kitTrips(b *testing.B) []trip {
	b.Helper()
	way := startLines(b)
	var trips []trip
	for _, server := range []string{"htpasswd", "htpasswd-http2", "htpasswd-http", "bearer", "bearer-other-host", "dockerhub",
		"harbor", "harbor-refuses-scopeless", "gitea", "open"} {
		g := regchecktest.Start(b, server)
		c := &regcheck.Checker{Resolver: g, Dialer: &dialer{lines: way, world: g, real: map[string]string{}}, Roots: g.Roots()}
		d := regcheck.Definition{Endpoint: g.Endpoint, BasePath: g.BasePath,
			Auth: &regcheck.Auth{Username: regchecktest.User, Password: secret.String(regchecktest.Password)}}
		limit := 0.0
		switch server {
		case "htpasswd", "htpasswd-http2":
			limit = 3.2
		case "bearer-other-host", "dockerhub":
			limit = 7.2
		}
		trips = append(trips, trip{"kit: " + server, limit, func(ctx context.Context) (int, error) { return check(ctx, c, d) }})
	}
	return trips
}
