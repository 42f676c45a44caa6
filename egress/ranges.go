package egress

import (
	"net/netip"
	"slices"
)

// The tables are the IANA special-purpose address registries (RFC 6890 and its successors), by whether an OCI registry may
// have such an address.

// metadata has the link-local addresses and the metadata services of clouds: EC2 (::23 gives EKS pods
// their credentials), GCP, Alibaba, Azure's wire server, Oracle.
var metadata = prefixes("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128",
	"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32")

// host has the loopback and unspecified addresses; Linux connects to itself at the latter.
var host = prefixes("127.0.0.0/8", "::1/128", "0.0.0.0/8", "::/128")

// groups has multicast and broadcast addresses. No setting allows them.
var groups = prefixes("224.0.0.0/4", "ff00::/8", "255.255.255.255/32")

var reserved = prefixes(
	"240.0.0.0/4", "192.0.0.0/24", "198.18.0.0/15", "192.88.99.0/24",
	"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation, RFC 5737
	"2001:db8::/32", "3fff::/20", // documentation, RFC 3849 and 9637
	"2001::/23", // protocol assignments: benchmarking, ORCHID, …
	"fec0::/10", "100::/64",
)

var private = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")

// globalUnicast is the part of IPv6 that IANA allocates (RFC 4291 section 2.4).
var globalUnicast = netip.MustParsePrefix("2000::/3")

// Forms of IPv4 within IPv6.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")      // RFC 6052: evaluated as the IPv4 address
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")    // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")         // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")         // RFC 4380
	compatible = netip.MustParsePrefix("::/96")             // RFC 4291, deprecated
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")   // RFC 2765
	mapped     = netip.MustParsePrefix("::ffff:0.0.0.0/96") // evaluated as the IPv4 address
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func within(a netip.Addr, list []netip.Prefix) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// classify returns class and zone of a plain address. The class of a public one is "".
func classify(a netip.Addr) (Class, Zone) {
	switch {
	case within(a, metadata):
		return ClassMetadata, Host
	case within(a, host):
		return ClassHost, Host
	case within(a, groups), within(a, reserved):
		return ClassReserved, Private
	case within(a, private):
		return ClassPrivate, Private
	case a.Is6() && !globalUnicast.Contains(a):
		return ClassReserved, Private
	}
	return "", Public
}

// plain returns the IPv4 address of an IPv4-mapped or NAT64 address, any other address unchanged.
func plain(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if nat64.Contains(a) {
		return last4(a)
	}
	return a
}

// wrappedIn returns the IPv4 addresses to which a packet to a may be forwarded, nil if a embeds none.
func wrappedIn(a netip.Addr) []netip.Addr {
	b := a.As16()
	switch {
	case a.Is4(), within(a, host):
		return nil
	case compatible.Contains(a), translated.Contains(a):
		return []netip.Addr{last4(a)}
	case sixToFour.Contains(a):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case teredo.Contains(a): // the server, and the client with inverted bits
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		return []netip.Addr{netip.AddrFrom4([4]byte(b[4:8])), client}
	case nat64Local.Contains(a):
		return inLocalNAT64(b)
	}
	return nil
}

// inLocalNAT64 returns the address in each layout of RFC 6052 section 2.2 that is possible: a site may use any part of its
// /48. Octet 8 and the suffix are zero.
func inLocalNAT64(b [16]byte) []netip.Addr {
	list := []netip.Addr{netip.AddrFrom4([4]byte(b[12:16]))}
	if b[8] == 0 && [5]byte(b[11:16]) == [5]byte{} {
		list = append(list, netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}))
	}
	if b[8] == 0 && [4]byte(b[12:16]) == [4]byte{} {
		list = append(list, netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}))
	}
	if b[8] == 0 && [3]byte(b[13:16]) == [3]byte{} {
		list = append(list, netip.AddrFrom4([4]byte(b[9:13])))
	}
	found := list[:0]
	for _, a := range list {
		if !a.IsUnspecified() { // this layout has no address
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		return []netip.Addr{netip.IPv4Unspecified()}
	}
	return found
}

func last4(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:16]))
}
