package egress

import (
	"net/netip"
)

// Policy decides which addresses may be dialed. The zero value is the profile "private" with no
// entries: public and private networks are allowed, this machine and metadata services are
// denied. It is safe for concurrent use.
type Policy struct {
	kind              kind
	allow, deny, only []entry
	own               func(netip.AddrPort) bool
}

type kind uint8

const (
	kindPrivate     kind = iota // private networks are allowed: many registries are there
	kindPublic                  // for servers with untrusted users
	kindCommandLine             // for programs that run with the rights of the user
)

// ForCommandLine returns the policy of a program that runs with the rights of its user: every address and port except
// metadata services, which a malicious registry could redirect to.
func ForCommandLine() Policy { return Policy{kind: kindCommandLine} }

// Evaluate returns the zone of an address that may be dialed. The error is always a *Forbidden. An IPv4 address embedded in
// an IPv6 address is allowed only if the plain IPv4 address is.
func (p Policy) Evaluate(target netip.AddrPort) (Zone, error) {
	raw := target.Addr().WithZone("").Unmap()
	if !raw.IsValid() {
		return Host, &Forbidden{Class: ClassReserved, Address: target}
	}
	address := plain(raw)
	zone, class := p.evaluatePlain(address, target.Port())
	if class == "" && raw != address && match(p.deny, raw, target.Port()) {
		class = ClassDenied // NAT64 may be denied as a whole
	}
	if class != "" {
		return zone, &Forbidden{Class: class, Address: target}
	}
	return zone, nil
}

func (p Policy) evaluatePlain(a netip.Addr, port uint16) (Zone, Class) {
	class, zone := classify(a)
	if p.isOwn(a, port) {
		class, zone = ClassOwn, Host
	}
	if !p.portAllowed(a, port) {
		return zone, ClassPort
	}
	if inner := wrappedIn(a); inner != nil {
		return p.evaluateWrapped(a, inner, port)
	}
	if refused := p.lists(a, port); refused != "" {
		return zone, refused
	}
	if p.free(class) || p.opened(class, a, port) {
		return zone, ""
	}
	return zone, class
}

// evaluateWrapped requires two entries: one for the IPv6 address, and one for the IPv4 address unless that is allowed anyway.
func (p Policy) evaluateWrapped(a netip.Addr, inner []netip.Addr, port uint16) (Zone, Class) {
	zone := Public
	for _, v4 := range inner {
		within, class := p.evaluatePlain(v4, port)
		if class != "" {
			return within, class
		}
		zone = max(zone, within)
	}
	if refused := p.lists(a, port); refused != "" {
		return zone, refused
	}
	if p.kind != kindCommandLine && !match(p.allow, a, port) {
		return zone, ClassWrapped
	}
	return zone, ""
}

// lists applies the operator's deny and allowOnly. A deny takes precedence over every allow that is not exact.
func (p Policy) lists(a netip.Addr, port uint16) Class {
	if match(p.deny, a, port) && !matchExact(p.allow, a, port) {
		return ClassDenied
	}
	if len(p.only) > 0 && !match(p.only, a, port) {
		return ClassUnlisted
	}
	return ""
}

// free reports whether the class is allowed without an entry.
func (p Policy) free(class Class) bool {
	switch class {
	case "":
		return true
	case ClassPrivate:
		return p.kind != kindPublic
	case ClassMetadata:
		return false
	default:
		return p.kind == kindCommandLine
	}
}

// opened reports whether an allow entry suffices for the class.
func (p Policy) opened(class Class, a netip.Addr, port uint16) bool {
	switch class {
	case ClassMetadata:
		return matchExact(p.allow, a, port)
	case ClassOwn:
		// The class without the port counts too: an own port on a link-local address requires both entries.
		below, _ := classify(a)
		return matchPort(p.allow, a, port) && (p.free(below) || p.opened(below, a, port))
	case ClassReserved:
		return match(p.allow, a, port) && !within(a, groups)
	default:
		return match(p.allow, a, port)
	}
}

// portAllowed allows a bad port only by an entry with that port: an entry for a network is not meant for the databases in
// it.
func (p Policy) portAllowed(a netip.Addr, port uint16) bool {
	if port == 0 {
		return false
	}
	return !badPorts[port] || p.kind == kindCommandLine || matchPort(p.allow, a, port)
}

func (p Policy) isOwn(a netip.Addr, port uint16) bool {
	return p.own != nil && p.own(netip.AddrPortFrom(a, port))
}
