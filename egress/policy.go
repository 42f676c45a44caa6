package egress

import (
	"net/netip"
)

// Policy says which addresses may be dialled. The zero value is the profile "private" with no
// entries: public and private networks are allowed, the machine itself and metadata services are
// not. It is safe for concurrent use.
type Policy struct {
	kind              kind
	allow, deny, only []entry
	own               func(netip.AddrPort) bool
}

type kind uint8

const (
	kindPrivate     kind = iota // private networks allowed: that is where registries live
	kindPublic                  // for servers shared by strangers
	kindCommandLine             // the user's own rights
)

// ForCommandLine is the policy of a program that its user runs with the user's own rights: every
// address and port that the user could reach anyway, except metadata services, which a hostile
// registry would name.
func ForCommandLine() Policy { return Policy{kind: kindCommandLine} }

// Evaluate reports whether the address may be dialed and in which zone it lies. The error is always a
// *Forbidden. An IPv4 address wrapped into IPv6 is never judged more leniently than when plain.
func (p Policy) Evaluate(target netip.AddrPort) (Zone, error) {
	raw := target.Addr().WithZone("").Unmap()
	if !raw.IsValid() {
		return Host, &Forbidden{Class: ClassReserved, Address: target}
	}
	address := plain(raw)
	zone, class := p.judge(address, target.Port())
	if class == "" && raw != address && match(p.deny, raw, target.Port()) {
		class = ClassDenied // all of NAT64 may be denied, whatever it leads to
	}
	if class != "" {
		return zone, &Forbidden{Class: class, Address: target}
	}
	return zone, nil
}

func (p Policy) judge(a netip.Addr, port uint16) (Zone, Class) {
	class, zone := classify(a)
	if p.isOwn(a, port) {
		class, zone = ClassOwn, Host
	}
	if !p.portAllowed(a, port) {
		return zone, ClassPort
	}
	if inner := wrappedIn(a); inner != nil {
		return p.judgeWrapped(a, inner, port)
	}
	if refused := p.lists(a, port); refused != "" {
		return zone, refused
	}
	if p.free(class) || p.opened(class, a, port) {
		return zone, ""
	}
	return zone, class
}

// judgeWrapped wants both: the wrapping was asked for, and what is in it is allowed by itself.
func (p Policy) judgeWrapped(a netip.Addr, inner []netip.Addr, port uint16) (Zone, Class) {
	zone := Public
	for _, v4 := range inner {
		within, class := p.judge(v4, port)
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

// lists applies the operator's deny and allowOnly. A deny wins over every allow but an exact one.
func (p Policy) lists(a netip.Addr, port uint16) Class {
	if match(p.deny, a, port) && !matchExact(p.allow, a, port) {
		return ClassDenied
	}
	if len(p.only) > 0 && !match(p.only, a, port) {
		return ClassUnlisted
	}
	return ""
}

// free reports whether the class needs no entry.
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

// opened reports whether an allow entry is strong enough for the class.
func (p Policy) opened(class Class, a netip.Addr, port uint16) bool {
	switch class {
	case ClassMetadata:
		return matchExact(p.allow, a, port)
	case ClassOwn:
		// Whatever the address is besides: an own port on a link-local address wants both.
		below, _ := classify(a)
		return matchPort(p.allow, a, port) && (p.free(below) || p.opened(below, a, port))
	case ClassReserved:
		return match(p.allow, a, port) && !within(a, groups)
	default:
		return match(p.allow, a, port)
	}
}

// portAllowed lets a bad port through only by an entry that names it: who allows a network does
// not think of the databases in it.
func (p Policy) portAllowed(a netip.Addr, port uint16) bool {
	if port == 0 {
		return false
	}
	return !badPorts[port] || p.kind == kindCommandLine || matchPort(p.allow, a, port)
}

func (p Policy) isOwn(a netip.Addr, port uint16) bool {
	return p.own != nil && p.own(netip.AddrPortFrom(a, port))
}
