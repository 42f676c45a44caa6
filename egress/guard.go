package egress

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"net/url"
	"time"
)

// Guard resolves names, checks every address against a policy, and dials only checked addresses, never a name, which
// could resolve to another address by then. The zero value uses the system's resolver and dialer, the zero Policy and no proxy.
// It is safe for concurrent use.
type Guard struct {
	Policy   Policy
	Resolver Resolver
	Dialer   Dialer
	// Proxy returns the HTTP proxy for a target, as http.Transport.Proxy does. The policy does not apply to the
	// proxy's own address. Nil, or a nil URL, means no proxy.
	Proxy        func(target *url.URL) (*url.URL, error)
	ProxyConnect ProxyConnect
	Roots        *x509.CertPool   // for TLS to a proxy; nil: the system's
	Now          func() time.Time // for TLS to a proxy; nil: time.Now
}

// Target is an origin with its checked addresses.
type Target struct {
	Origin
	Addresses []netip.AddrPort // empty when only the proxy can resolve the name
	Narrowest Zone             // of the addresses
	Widest    Zone             // the zone from which Zone.AllowsHop is evaluated
	proxy     *url.URL
	proxyErr  error
	connect   ProxyConnect
}

// Proxied returns host and port of the proxy through which the target is dialed, "" for none.
func (t *Target) Proxied() string {
	if t.proxy == nil {
		return ""
	}
	return t.proxy.Host
}

// Forward returns the proxy that forwards single requests to the target, nil for none. A connection that Dial returns
// then leads to this proxy, and requests are written in absolute form (RFC 9112 section 3.2.2), as
// http.Transport does with http.ProxyURL. Its scheme is http, since Dial does TLS to the proxy.
func (t *Target) Forward() *url.URL {
	if t.proxy == nil || t.Scheme != "http" || t.connect == ConnectAddress {
		return nil
	}
	return &url.URL{Scheme: "http", Host: t.proxy.Host, User: t.proxy.User}
}

// Reach is Lookup and Check.
func (g *Guard) Reach(ctx context.Context, o Origin) (*Target, error) {
	addresses, err := g.Lookup(ctx, o)
	if err != nil {
		return nil, err
	}
	return g.Check(o, addresses)
}

// Lookup resolves the host of an origin. A name that is not found is left to the proxy, if there is one, unless
// ProxyConnect is ConnectAddress: the proxy may know more names. Then Lookup returns no address and no error, also for
// a proxy that cannot be used, whose error Dial returns.
func (g *Guard) Lookup(ctx context.Context, o Origin) ([]netip.Addr, error) {
	addresses, err := g.lookup(ctx, o.Host)
	if HostNotFound(err) {
		if proxy, err := g.proxyFor(o); (proxy != nil || err != nil) && g.ProxyConnect != ConnectAddress {
			return nil, nil
		}
	}
	return addresses, err
}

func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	var resolver Resolver = net.DefaultResolver
	if g.Resolver != nil {
		resolver = g.Resolver
	}
	addresses, err := resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(addresses) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return addresses, err
}

// Check evaluates every address of an origin. One forbidden address forbids the origin, since the next lookup might
// return it first. The error is a *Forbidden.
func (g *Guard) Check(o Origin, addresses []netip.Addr) (*Target, error) {
	t := &Target{Origin: o, connect: g.ProxyConnect}
	t.proxy, t.proxyErr = g.proxyFor(o)
	for i, a := range addresses {
		zone, err := g.Policy.Evaluate(netip.AddrPortFrom(a, o.Port))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			t.Narrowest, t.Widest = zone, zone
		}
		t.Narrowest, t.Widest = max(t.Narrowest, zone), min(t.Widest, zone)
		t.Addresses = append(t.Addresses, netip.AddrPortFrom(a.WithZone("").Unmap(), o.Port))
	}
	return t, nil
}

func (g *Guard) proxyFor(o Origin) (*url.URL, error) {
	if g.Proxy == nil {
		return nil, nil
	}
	proxy, err := g.Proxy(&url.URL{Scheme: o.Scheme, Host: o.HostPort()})
	if err == nil && proxy != nil && proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, ErrProxyScheme
	}
	return proxy, err
}
