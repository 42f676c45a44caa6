package replicas_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
)

// toReplica is the header by which a test selects the replica that responds, by its number.
const toReplica = "X-Replica"

// balancer forwards each request to the next replica, as a load balancer does, or to the one that its header names. A
// replica that accepts no connection is skipped. When a replica ends in the middle of a request, the client's connection
// ends too, since whether the request was executed is unknown.
type balancer struct {
	server  *httptest.Server
	targets []string // host:port of each place, also while no replica is there
	turn    atomic.Int64
}

func startBalancer(t testing.TB, targets []string) *balancer {
	t.Helper()
	b := &balancer{targets: targets}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	b.server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "replica.invalid" // chosen by forward
			r.SetXForwarded()
		},
		Transport:    roundTripper(func(r *http.Request) (*http.Response, error) { return b.forward(transport, r) }),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	t.Cleanup(func() {
		b.server.Close()
		transport.CloseIdleConnections()
	})
	return b
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// candidates lists where a request may go, in order.
func (b *balancer) candidates(named string) []string {
	if place, err := strconv.Atoi(named); err == nil {
		return []string{b.targets[place]}
	}
	first := int(b.turn.Add(1)) % len(b.targets)
	return slices.Concat(b.targets[first:], b.targets[:first])
}

var errNoReplica = errors.New("no replica takes connections")

func (b *balancer) forward(transport http.RoundTripper, r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for _, target := range b.candidates(r.Header.Get(toReplica)) {
		out := r.Clone(r.Context())
		out.URL.Host, out.Body = target, io.NopCloser(bytes.NewReader(body))
		out.Header.Del(toReplica)
		response, err := transport.RoundTrip(out)
		if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
			continue // nothing was sent
		}
		return response, err
	}
	return nil, errNoReplica
}
