package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Guard is a dialer behind a policy, for http.Transport.DialContext and the like. The zero value
// uses the system's resolver and dialer and the zero Policy. It is safe for concurrent use.
type Guard struct {
	Policy   Policy
	Resolver Resolver
	Dialer   Dialer
}

// DialContext resolves the host once, judges every address, and dials the judged addresses in
// order until one answers: never the name again, which could resolve otherwise by then. One
// forbidden address among the answers fails the host with a *Forbidden, and nothing is contacted.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	addresses, err := g.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if _, err := g.Policy.Judge(netip.AddrPortFrom(a, port)); err != nil {
			return nil, err
		}
	}
	return g.dialFirst(ctx, network, addresses, port)
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
	if err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return addresses, nil
}

func (g *Guard) dialFirst(ctx context.Context, network string, addresses []netip.Addr, port uint16) (net.Conn, error) {
	var dialer Dialer = &net.Dialer{}
	if g.Dialer != nil {
		dialer = g.Dialer
	}
	var failures []error
	for _, a := range addresses {
		conn, err := dialer.DialContext(ctx, network, netip.AddrPortFrom(a.WithZone("").Unmap(), port).String())
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failures...)
}

func splitAddress(address string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("port of %q is no number", address)
	}
	return host, uint16(number), nil
}

// OwnPorts tells whether an address is one of this machine's with one of the ports, for
// Settings.Own. The interfaces are read on each match, since they change while a server runs; when
// they can't be read, every address on the port counts as ours.
func OwnPorts(ports ...uint16) func(netip.AddrPort) bool {
	return ownPorts(ports, net.InterfaceAddrs)
}

func ownPorts(ports []uint16, interfaces func() ([]net.Addr, error)) func(netip.AddrPort) bool {
	listening := make(map[uint16]bool, len(ports))
	for _, port := range ports {
		listening[port] = true
	}
	return func(target netip.AddrPort) bool {
		if !listening[target.Port()] {
			return false
		}
		a := plain(target.Addr())
		if within(a, host) {
			return true
		}
		addresses, err := interfaces()
		if err != nil {
			return true
		}
		for _, found := range addresses {
			if n, ok := found.(*net.IPNet); ok {
				if ours, ok := netip.AddrFromSlice(n.IP); ok && ours.Unmap() == a {
					return true
				}
			}
		}
		return false
	}
}
