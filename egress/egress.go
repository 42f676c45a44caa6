// Package egress decides which addresses this program may dial.
//
// A program that connects where its users say allows server-side request forgery, unless it checks the resolved
// address of each connection: a check of the URL's text fails as soon as a harmless name resolves to a forbidden address,
// or to another address the second time. A Policy evaluates addresses and ports, never names, and a Guard dials
// only addresses that its policy allows.
package egress

import (
	"context"
	"net"
	"net/netip"
)

// A Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Dialer connects. *net.Dialer is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Zone says from how far an address can be reached. Zones only widen: a registry may send us on
// (redirect, token service) to its own zone or a wider one, never to a narrower one.
type Zone uint8

// From wide to narrow.
const (
	Public  Zone = iota // anybody's
	Private             // the site's own networks
	Host                // this machine, and metadata services, which answer this machine only
)

func (z Zone) String() string {
	return [...]string{"public", "private", "host"}[z]
}

// Hop returns nil when a server in zone z may send us on to one in zone next, else a *Forbidden
// with ClassZone. No setting changes that.
func (z Zone) Hop(next Zone) error {
	if next <= z {
		return nil
	}
	return &Forbidden{Class: ClassZone}
}

// Class says which rule forbids an address.
type Class string

// Classes in the order in which they are judged.
const (
	ClassPort     Class = "port"     // port 0, or the port of a service that must not be spoken to
	ClassWrapped  Class = "wrapped"  // IPv4 within IPv6: 6to4, Teredo, local NAT64 and the like
	ClassDenied   Class = "denied"   // on the operator's deny list
	ClassUnlisted Class = "unlisted" // not on the operator's list of the only ones
	ClassMetadata Class = "metadata" // metadata services of clouds, link-local addresses
	ClassOwn      Class = "own"      // a port on which regwarden or its store listens
	ClassHost     Class = "host"     // this machine
	ClassReserved Class = "reserved" // no unicast address that anybody may use
	ClassPrivate  Class = "private"  // private networks, under the profile "public"
	ClassZone     Class = "zone"     // a hop to a narrower zone
)

// Forbidden is the error of a judgement. Its text never names the address: an answer that did
// would let a stranger read our DNS.
type Forbidden struct {
	Class Class
	Port  uint16 // the port that was judged, 0 for ClassZone
}

func (f *Forbidden) Error() string { return "not allowed to connect: " + f.Reason() }

// Reason says what the address is, as the end of a sentence.
func (f *Forbidden) Reason() string { return rules[f.Class].reason }

// Setting names the operator's setting that could let the address through, "" when none can.
func (f *Forbidden) Setting() string { return rules[f.Class].setting }

// Hint says what an operator can do, in one sentence.
func (f *Forbidden) Hint() string { return rules[f.Class].hint }

type rule struct{ reason, setting, hint string }

// The operator's settings, by the names that they have in a settings file. Hints name the flags.
const (
	settingProfile   = "egress-profile"
	settingAllow     = "egress-allow"
	settingDeny      = "egress-deny"
	settingAllowOnly = "egress-allow-only"
)

var rules = map[Class]rule{
	ClassPort: {"the port belongs to another kind of service", settingAllow,
		"Use another port, or ask an operator to add an entry with address and port to --egress-allow."},
	ClassWrapped: {"the address is an IPv4 address wrapped into IPv6", settingAllow,
		"Use the plain IPv4 address, or ask an operator to add the IPv6 range to --egress-allow; the IPv4 address within must be allowed as well."},
	ClassDenied: {"the operator denies this address", settingDeny,
		"Ask an operator to change --egress-deny, or to add this one address to --egress-allow."},
	ClassUnlisted: {"the operator allows listed addresses only", settingAllowOnly,
		"Ask an operator to add the address to --egress-allow-only."},
	ClassMetadata: {"the address is link-local or a cloud's metadata service", settingAllow,
		"Use another address. On a server, only an entry for exactly this address in --egress-allow allows it; a range does not."},
	ClassOwn: {"regwarden itself or its store listens there", settingAllow,
		"Only an entry in --egress-allow that names the port allows it."},
	ClassHost: {"the address is this machine itself", settingAllow,
		"Use an address that other machines can use, or ask an operator to add it to --egress-allow."},
	ClassReserved: {"the address is reserved and no host's own", settingAllow,
		"Check the name's DNS records; an operator can add the range to --egress-allow, but not multicast or broadcast."},
	ClassPrivate: {"the address is private, and the profile is public", settingAllow,
		"Ask an operator to add the network to --egress-allow or to set --egress-profile to private."},
	ClassZone: {"a server in a wider zone may not send us to a private address or to this machine", "",
		"Correct the server: the address that it names for its token service or redirect must be reachable from where it is itself."},
}
