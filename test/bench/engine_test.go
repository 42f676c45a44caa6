package bench

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	basicTrips  = 3.2                   // round trips, with TLS and Basic
	bearerTrips = 7.2                   // with TLS and a token service on another host
	blobTrips   = 1.2                   // that the config and layers of an artifact add
	oneWay      = 50 * time.Millisecond // how long bytes travel; a round trip is twice that
	kitEndpoint = "https://registry.test"
)

// exchange is one way to talk to a registry. It returns the round trips that the report counts, 0 for those without a report.
type exchange struct {
	name  string
	limit float64 // 0: none
	run   func(context.Context) (counted int, err error)
	base  string // the exchange that differs only in that it does not ask for blobs; empty: none
}

// BenchmarkRoundTrips divides the time of a check by the length of the line to the registry. What net/http takes for the
// bare requests on the same line is the floor.
func BenchmarkRoundTrips(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(32)) // bytes on their way sleep in threads
	exchanges, figures, r := append(realExchanges(b), kitExchanges(b)...), samples{}, &report{b: b}
	for round := range *rounds + 1 {
		for _, e := range exchanges {
			began := time.Now()
			counted, err := e.run(b.Context())
			noError(b, err)
			if round > 0 { // the first round warms up
				figures.add(e.name, float64(time.Since(began))/float64(2*oneWay))
				figures.add(e.name+" counted", float64(counted))
			}
		}
	}
	for _, e := range exchanges {
		if e.base != "" {
			r.row(e.name, atMost(figures.median(e.name)-figures.median(e.base), "round-trips-added", blobTrips),
				figure(figures.median(e.name), "round-trips"),
				figure(figures.median(e.name+" counted"), "in-report"))
			continue
		}
		r.row(e.name, atMost(figures.median(e.name), "round-trips", cmp.Or(e.limit, noLimit)), figure(slices.Min(figures[e.name]), "least"),
			figure(slices.Max(figures[e.name]), "most"),
			figure(figures.median(e.name+" counted"), "in-report"))
	}
	r.end()
}

// realExchanges are checks of distribution registries, and net/http with the same ones.
func realExchanges(b *testing.B) []exchange {
	ca, users := testca.New(b, "registry authority"), map[string]string{regchecktest.User: regchecktest.Password}
	tokens := realregistry.NewTokenServer(b, realregistry.TokenRules{Users: users, CA: ca})
	basic := realregistry.Distribution(b, realregistry.Options{Users: users, CA: ca}).Endpoint
	bearer := realregistry.Distribution(b, realregistry.Options{Token: tokens, CA: ca}).Endpoint
	config := &tls.Config{RootCAs: ca.Pool()}
	c := &regcheck.Checker{Egress: loopbackPolicy(b), Dialer: distant{&net.Dialer{}, oneWay}, Roots: ca.Pool()}
	exchanges := []exchange{
		{name: "net_http_with_Basic", run: func(ctx context.Context) (int, error) {
			_, err := bareGet(ctx, distant{&net.Dialer{}, oneWay}, config, basic+"/v2/", basicAuth)
			return 0, err
		}},
		{name: "net_http_with_token_service",
			run: func(ctx context.Context) (int, error) { return 0, bareTokenGet(ctx, config, bearer, tokens.URL) }},
		{name: "distribution_Basic", limit: basicTrips, run: check(c, basic, "", regcheck.TLS{})},
		{name: "distribution_Bearer", limit: bearerTrips, run: check(c, bearer, "", regcheck.TLS{})},
	}
	for name, endpoint := range map[string]string{"distribution_Basic": basic, "distribution_Bearer": bearer} {
		realregistry.Push(b, realregistry.Access{Endpoint: endpoint, CA: ca.PEM()}.As(regchecktest.User, regchecktest.Password),
			realregistry.Helm, "charts/nginx", "1.2.3")
		exchanges = append(exchanges, contentExchanges(name, c, endpoint, "")...)
	}
	return exchanges
}

// contentExchanges are checks of a chart. The first one knows manifest and blobs of the chart from a check before: it sends a HEAD where
// the other one sends a GET, and does not ask for blobs.
func contentExchanges(name string, c *regcheck.Checker, endpoint, basePath string) []exchange {
	plan := mustParse(regcheck.Definition{Endpoint: endpoint, BasePath: basePath, BaseContentPath: "charts/nginx",
		Auth: &regcheck.Auth{Username: regchecktest.User, Password: secret.String(regchecktest.Password)}})
	run := func(ctx context.Context, known regcheck.Known) (*regcheck.Report, error) {
		report, err := c.Recheck(ctx, plan, known, nil)
		if err == nil && (!report.Valid || report.Stages[6].Status != regcheck.OK) {
			err = errors.New(report.Message + report.Stages[6].Detail)
		}
		return report, err
	}
	var known regcheck.Known
	return []exchange{
		{name: name + "_content", run: func(ctx context.Context) (int, error) {
			report, err := run(ctx, known)
			if err != nil {
				return 0, err
			}
			known = report.Known
			return report.RoundTrips, nil
		}},
		{name: name + "_blobs", base: name + "_content", run: func(ctx context.Context) (int, error) {
			report, err := run(ctx, regcheck.Known{ControlAt: known.ControlAt, ControlOpen: known.ControlOpen})
			if err != nil {
				return 0, err
			}
			return report.RoundTrips, nil
		}},
	}
}

var basicAuth = "Basic " + base64.StdEncoding.EncodeToString([]byte(regchecktest.User+":"+regchecktest.Password))

// bareGet sends a GET on a connection of its own and returns the body.
func bareGet(ctx context.Context, dialer egress.Dialer, config *tls.Config, url, authorization string) (string, error) {
	c := &client{url, &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: config, ForceAttemptHTTP2: true}}
	defer c.transport.CloseIdleConnections()
	r, err := c.send(ctx, http.MethodGet, "", "", authorization)
	return r.body, err
}

// bareTokenGet is the least that any client sends before it may use such a registry.
func bareTokenGet(ctx context.Context, config *tls.Config, endpoint, service string) error {
	registry := &client{endpoint, &http.Transport{DialContext: distant{&net.Dialer{}, oneWay}.DialContext, TLSClientConfig: config,
		ForceAttemptHTTP2: true}}
	defer registry.transport.CloseIdleConnections()
	if r, err := registry.send(ctx, http.MethodGet, "/v2/", "", ""); r.status != http.StatusUnauthorized {
		return errors.Join(err, errors.New("the registry must demand a token"))
	}
	body, err := bareGet(ctx, distant{&net.Dialer{}, oneWay}, config, service+"?service=test+registry+service", basicAuth)
	var granted struct{ Token string }
	if err = errors.Join(err, json.Unmarshal([]byte(body), &granted)); err != nil {
		return err
	}
	_, err = registry.send(ctx, http.MethodGet, "/v2/", "", "Bearer "+granted.Token)
	return err
}

func loopbackPolicy(b *testing.B) egress.Policy {
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	noError(b, err)
	return policy
}

func mustParse(d regcheck.Definition) *regcheck.Plan {
	plan, problems := regcheck.Parse(d)
	if len(problems) > 0 {
		panic(problems)
	}
	return plan
}

// check returns a check of a definition, which returns the round trips that the report counts, and an error unless the definition is valid.
func check(c *regcheck.Checker, endpoint, basePath string, tls regcheck.TLS) func(context.Context) (int, error) {
	plan := mustParse(regcheck.Definition{Endpoint: endpoint, BasePath: basePath,
		Auth: &regcheck.Auth{Username: regchecktest.User, Password: secret.String(regchecktest.Password), TLS: tls}})
	return func(ctx context.Context) (int, error) {
		report, err := c.Check(ctx, plan, nil)
		if err == nil && !report.Valid {
			err = errors.New(report.Message)
		}
		return report.RoundTrips, err
	}
}

// kitExchanges are checks of servers of the kit, which differ in what they demand of a client.
func kitExchanges(b *testing.B) (exchanges []exchange) {
	limits := map[string]float64{"htpasswd": basicTrips, "htpasswd-http2": basicTrips, "bearer-other-host": bearerTrips,
		"dockerhub": bearerTrips}
	for _, server := range []string{"htpasswd", "htpasswd-http2", "htpasswd-http", "bearer", "bearer-other-host", "dockerhub", "harbor",
		"harbor-refuses-scopeless", "gitea", "open"} {
		g := regchecktest.Start(b, server)
		c := &regcheck.Checker{Resolver: g, Dialer: distant{g, oneWay}, Roots: g.Roots()}
		exchanges = append(exchanges, exchange{name: "kit_" + server, limit: limits[server],
			run: check(c, g.Endpoint, g.BasePath, regcheck.TLS{})})
		if limits[server] > 0 {
			exchanges = append(exchanges, contentExchanges("kit_"+server, c, g.Endpoint, g.BasePath)...)
		}
	}
	return exchanges
}

// redirected is the address of a server of the kit: all names resolve to loopback, and all connections lead to the server.
type redirected string

func (redirected) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func (r redirected) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, string(r))
}

// distant is a dialer of connections on which everything takes oneWay to arrive.
type distant struct {
	egress.Dialer
	oneWay time.Duration
}

// DialContext returns after the round trip of a TCP handshake.
func (d distant) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	arrives := time.Now().Add(2 * d.oneWay)
	far, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	near, middle := net.Pipe()
	go carry(middle, far, d.oneWay)
	go carry(far, middle, d.oneWay)
	sleepUntil(arrives)
	return near, nil
}

// buffers are shared by connections: allocating them took more processor time than the engine.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// carry delivers bytes in order, each oneWay after it was sent. Bytes on their way do not wait for each other.
func carry(from, to net.Conn, oneWay time.Duration) {
	type parcel struct {
		bytes   []byte
		arrives time.Time
	}
	underway := make(chan parcel, 1024)
	go func() {
		defer close(underway)
		buffer := buffers.Get().(*[64 << 10]byte)
		defer buffers.Put(buffer)
		for {
			n, err := from.Read(buffer[:])
			underway <- parcel{slices.Clone(buffer[:n]), time.Now().Add(oneWay)}
			if err != nil {
				return
			}
		}
	}()
	for p := range underway {
		sleepUntil(p.arrives)
		_, _ = to.Write(p.bytes) // the other end may have closed
	}
	_ = to.Close()
}

// sleepUntil blocks its thread: time.Sleep may wake a millisecond late.
func sleepUntil(t time.Time) {
	for left := time.Until(t); left > 0; left = time.Until(t) {
		span := unix.NsecToTimespec(left.Nanoseconds())
		_ = unix.Nanosleep(&span, nil) // when a signal wakes it early, the loop continues
	}
}
