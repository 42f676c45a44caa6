package regchecktest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"syscall"
)

// dnsResponse is the response of the resolver for a name.
type dnsResponse struct {
	addresses []netip.Addr
	later     []netip.Addr // from the second query on; nil: the same
	err       error
	hang      bool
	asked     int
}

type dial struct {
	ctx     context.Context
	network string
	address string
}

// inventNames puts the names into every test network that need no server.
func (g *Registry) inventNames() {
	at := func(texts ...string) dnsResponse {
		var a dnsResponse
		for _, text := range texts {
			a.addresses = append(a.addresses, netip.MustParseAddr(text))
		}
		return a
	}
	g.named["loopback.test"] = at("127.0.0.1")
	g.named["loopback6.test"] = at("::1")
	g.named["unspecified.test"] = at("0.0.0.0")
	g.named["metadata.test"] = at("169.254.169.254")
	g.named["metadata-mapped.test"] = at("::ffff:169.254.169.254")
	g.named["metadata-nat64.test"] = at("64:ff9b::a9fe:a9fe")
	g.named["link-local6.test"] = at("fe80::1")
	g.named["multicast.test"] = at("239.1.2.3")
	g.named["documentation.test"] = at("203.0.113.7")
	g.named["6to4.test"] = at("2002:7f00:1::1")
	g.named["mixed.test"] = at("93.184.215.200", "127.0.0.1") // one good, one forbidden
	g.named["closed.test"] = at("10.20.99.1")                 // nothing listens
	g.named["closed6.test"] = at("fd20::99:1")
	g.named["silent.test"] = at("10.20.99.2") // packets are dropped
	g.named["noroute.test"] = at("10.20.99.3")
	g.named["private.test"] = at("10.20.99.1")
	g.named["empty.test"] = dnsResponse{}
	g.named["dns-timeout.test"] = dnsResponse{err: &net.DNSError{Err: "i/o timeout", Name: "dns-timeout.test", Server: "192.0.2.53:53",
		IsTimeout: true, IsTemporary: true}}
	g.named["dns-servfail.test"] = dnsResponse{err: &net.DNSError{Err: "server misbehaving", Name: "dns-servfail.test",
		Server: "192.0.2.53:53", IsTemporary: true}}
	g.named["dns-unreachable.test"] = dnsResponse{err: &net.DNSError{Err: "read udp 10.20.0.9:40000->192.0.2.53:53: read: connection " +
		"refused",
		Name: "dns-unreachable.test", Server: "192.0.2.53:53", IsTemporary: true}}
	g.named["dns-hang.test"] = dnsResponse{hang: true}

	g.dead[netip.MustParseAddr("10.20.99.2")] = func(d dial) error {
		<-d.ctx.Done()
		return d.ctx.Err()
	}
	g.dead[netip.MustParseAddr("10.20.99.3")] = func(dial) error { return os.NewSyscallError("connect", syscall.EHOSTUNREACH) }
}

// LookupNetIP resolves the names of the test network. An address resolves to itself, as with net.Resolver.
func (g *Registry) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if literal, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{literal}, nil
	}
	g.mu.Lock()
	a, known := g.named[host]
	a.asked++
	if known {
		g.named[host] = a
	}
	g.mu.Unlock()
	switch {
	case !known, a.err == nil && !a.hang && len(a.addresses) == 0:
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "192.0.2.53:53", IsNotFound: true}
	case a.hang:
		<-ctx.Done()
		return nil, &net.DNSError{Err: ctx.Err().Error(), Name: host, IsTimeout: true}
	case a.err != nil:
		return nil, a.err
	case a.asked > 1 && a.later != nil:
		return a.later, nil
	}
	return a.addresses, nil
}

// DialContext connects to the world's servers. Any other address is noted and refused.
func (g *Registry) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	g.dials = append(g.dials, address)
	g.mu.Unlock()
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("regchecktest: %s was dialed, but is not an address", address)
	}
	target = netip.AddrPortFrom(target.Addr().Unmap(), target.Port())
	if s, listening := g.sites[target]; listening {
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.real)
	}
	err = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	if fail, dead := g.dead[target.Addr()]; dead {
		err = fail(dial{ctx, network, address})
	}
	return nil, &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(target), Err: err}
}

// address gives a host its invented address, the same one each time.
func (g *Registry) address(host string, public bool) netip.Addr {
	if literal, err := netip.ParseAddr(host); err == nil {
		return literal
	}
	if known, ok := g.named[host]; ok {
		return known.addresses[0]
	}
	g.free[public]++
	network := [4]byte{10, 20, 0, byte(g.free[public])}
	if public {
		network = [4]byte{93, 184, 215, byte(g.free[public])}
	}
	a := netip.AddrFrom4(network)
	g.named[host] = dnsResponse{addresses: []netip.Addr{a}}
	return a
}

// start starts a site.
func (g *Registry) start(s *site) {
	host, portText, err := net.SplitHostPort(s.host)
	g.fail(err)
	port, err := strconv.ParseUint(portText, 10, 16)
	g.fail(err)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		g.fail(err)
		return
	}
	s.real = listener.Addr().String()
	g.sites[netip.AddrPortFrom(g.address(host, s.public), uint16(port))] = s
	if s.raw != nil {
		g.serveRaw(s, listener)
		return
	}
	g.serveHTTP(s, listener)
}

func (g *Registry) serveHTTP(s *site, listener net.Listener) {
	server := &http.Server{
		Handler:   g.watch(s),
		TLSConfig: s.tls,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	if !s.http2 {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	g.closers = append(g.closers, server.Close)
	g.work.Go(func() {
		if s.tls != nil {
			_ = server.ServeTLS(listener, "", "")
			return
		}
		_ = server.Serve(listener)
	})
}

func (g *Registry) serveRaw(s *site, listener net.Listener) {
	g.closers = append(g.closers, listener.Close)
	g.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				continue
			}
			g.work.Go(func() {
				defer g.keep(conn)()
				s.raw(conn)
			})
		}
	})
}

// keep notes a connection so that Close can end it; the function that it returns closes it.
func (g *Registry) keep(conn net.Conn) func() {
	g.mu.Lock()
	g.open[conn] = true
	g.mu.Unlock()
	select {
	case <-g.done:
		_ = conn.Close()
	default:
	}
	return func() {
		_ = conn.Close()
		g.mu.Lock()
		delete(g.open, conn)
		g.mu.Unlock()
	}
}
