package egress

import (
	"net"
	"net/netip"
)

// OwnPorts reports whether an address is one of this machine's with one of the ports, for
// Settings.Own. It reads the interfaces on each match, since they change while a server runs. If they cannot be read,
// every address with the port matches.
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
