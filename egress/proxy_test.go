package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// proxy is an HTTP proxy on loopback that records what it is asked to connect to, and opens no connection.
type proxy struct {
	*httptest.Server
	status map[string]int // response by target; 200 for others

	mu    sync.Mutex
	asked []string
}

func newProxy(t *testing.T) *proxy {
	p := &proxy{status: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Host)
		status := p.status[r.Host]
		p.mu.Unlock()
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		_ = conn.Close()
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) guard(t *testing.T, names addresses, connect ProxyConnect) *Guard {
	t.Helper()
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &Guard{Resolver: names, ProxyConnect: connect, Proxy: func(*url.URL) (*url.URL, error) { return u, nil }}
}

// A proxy resolves a name itself, possibly to an address that the policy forbids.
func TestProxyConnectTarget(t *testing.T) {
	names := addresses{"one.test": {"10.0.0.1"}, "six.test": {"fd20::1"}, "two.test": {"10.0.0.1", "10.0.0.2"}, "self.test": {"127.0.0.1"}}
	for _, row := range []struct {
		name    string
		connect ProxyConnect
		origin  Origin
		status  map[string]int
		asked   []string
		forward bool
		fails   bool
	}{
		{"https", ConnectDefault, Origin{"https", "one.test", 443}, nil, []string{"10.0.0.1:443"}, false, false},
		{"https, IPv6", ConnectDefault, Origin{"https", "six.test", 5000}, nil, []string{"[fd20::1]:5000"}, false, false},
		{"https, unknown name", ConnectDefault, Origin{"https", "unknown.test", 443}, nil, []string{"unknown.test:443"}, false, false},
		{"http", ConnectDefault, Origin{"http", "one.test", 80}, nil, nil, true, false},
		{"forbidden", ConnectDefault, Origin{"https", "self.test", 443}, nil, nil, false, true},
		{"https by address", ConnectAddress, Origin{"https", "one.test", 443}, nil, []string{"10.0.0.1:443"}, false, false},
		{"http by address", ConnectAddress, Origin{"http", "one.test", 80}, nil, []string{"10.0.0.1:80"}, false, false},
		{"unknown name by address", ConnectAddress, Origin{"https", "unknown.test", 443}, nil, nil, false, true},
		{"https by name", ConnectName, Origin{"https", "one.test", 443}, nil, []string{"one.test:443"}, false, false},
		{"http by name", ConnectName, Origin{"http", "one.test", 80}, nil, nil, true, false},
		{"forbidden by name", ConnectName, Origin{"https", "self.test", 443}, nil, nil, false, true},
		{"the next address", ConnectDefault, Origin{"https", "two.test", 443}, map[string]int{"10.0.0.1:443": 502},
			[]string{"10.0.0.1:443", "10.0.0.2:443"}, false, false},
		{"a refusal is final", ConnectDefault, Origin{"https", "two.test", 443}, map[string]int{"10.0.0.1:443": 403},
			[]string{"10.0.0.1:443"}, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newProxy(t)
			if row.status != nil {
				p.status = row.status
			}
			g := p.guard(t, names, row.connect)
			target, err := g.Reach(t.Context(), row.origin)
			var conn net.Conn
			if err == nil {
				conn, _, err = g.Dial(t.Context(), target)
			}
			if conn != nil {
				_ = conn.Close()
			}
			if (err != nil) != row.fails || !slices.Equal(p.asked, row.asked) {
				t.Errorf("asked for %v with error %v, want %v", p.asked, err, row.asked)
			}
			if target != nil && (target.Forward() != nil) != row.forward {
				t.Errorf("forwards to %v", target.Forward())
			}
		})
	}
}

// A proxy gets the address that was evaluated, also where the name has another one at the next lookup (DNS rebinding). For plain HTTP it
// gets the name by default.
func TestProxyGetsTheEvaluatedAddress(t *testing.T) {
	for _, row := range []struct {
		connect ProxyConnect
		origin  Origin
		asked   []string
	}{
		{ConnectDefault, Origin{"https", "rebind.test", 443}, []string{"10.0.0.1:443"}},
		{ConnectAddress, Origin{"https", "rebind.test", 443}, []string{"10.0.0.1:443"}},
		{ConnectAddress, Origin{"http", "rebind.test", 80}, []string{"10.0.0.1:80"}},
	} {
		p := newProxy(t)
		g := p.guard(t, nil, row.connect)
		rebinding := &rebinder{first: netip.MustParseAddr("10.0.0.1"), then: netip.MustParseAddr("127.0.0.1")}
		g.Resolver = rebinding
		target, err := g.Reach(t.Context(), row.origin)
		if err != nil {
			t.Fatal(err)
		}
		conn, _, err := g.Dial(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		if rebinding.asked != 1 || !slices.Equal(p.asked, row.asked) {
			t.Errorf("%+v: %d lookups, the proxy was asked for %v", row, rebinding.asked, p.asked)
		}
		if target, err := g.Reach(t.Context(), row.origin); err == nil || target != nil {
			t.Errorf("%+v: the next request is allowed: %v", row, target)
		}
	}
}

// A proxy for SOCKS is not spoken to, and is the cause also for a name that does not resolve.
func TestProxyOfAnotherProtocol(t *testing.T) {
	for _, scheme := range []string{"socks5", "socks5h"} {
		p := newProxy(t)
		g := p.guard(t, addresses{"one.test": {"10.0.0.1"}}, ConnectDefault)
		g.Proxy = func(*url.URL) (*url.URL, error) {
			return &url.URL{Scheme: scheme, Host: p.Listener.Addr().String()}, nil
		}
		for _, host := range []string{"one.test", "unknown.test"} {
			_, err := reach(t.Context(), g, host, 443)
			if failed, ok := errors.AsType[*ProxyError](err); !ok || !errors.Is(err, ErrProxyScheme) || failed.Host != "" {
				t.Errorf("%s: %#v", host, err)
			}
		}
	}
}

func TestProxyErrorHasRequestedTarget(t *testing.T) {
	p := newProxy(t)
	p.status = map[string]int{"10.0.0.1:443": 403, "unknown.test:443": 403}
	for host, byAddress := range map[string]bool{"one.test": true, "unknown.test": false, "10.0.0.1": false} {
		_, err := reach(context.Background(), p.guard(t, addresses{"one.test": {"10.0.0.1"}}, ConnectDefault), host, 443)
		failed, ok := errors.AsType[*ProxyError](err)
		if !ok || failed.Status != 403 || failed.ByAddress != byAddress || p.status[failed.Requested] != 403 {
			t.Errorf("%s: %#v", host, err)
		}
	}
}
