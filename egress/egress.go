// Package egress decides which addresses this program may dial.
//
// A program that connects to addresses of its users must check the resolved address of each connection against server-side
// request forgery. A check of the URL does not suffice: a name may resolve to a forbidden address, or to another address
// the second time. A Policy evaluates addresses and ports, never names. A Guard dials only addresses that its policy
// allows.
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

// Zone is the part of the network from which an address can be reached. A registry may redirect to its own zone or a wider
// one, and name a token service there, but never in a narrower one.
type Zone uint8

// Zones, from wide to narrow.
const (
	Public  Zone = iota // the internet
	Private             // private networks
	Host                // this machine, and metadata services, which serve only this machine
)

func (z Zone) String() string {
	return [...]string{"public", "private", "host"}[z]
}

// AllowsHop returns nil if a server in zone z may refer to a server in zone next, otherwise a *Forbidden with ClassZone. No
// setting changes that.
func (z Zone) AllowsHop(next Zone) error {
	if next <= z {
		return nil
	}
	return &Forbidden{Class: ClassZone}
}

// Class is the rule that forbids an address.
type Class string

// Classes, in the order of evaluation.
const (
	ClassPort     Class = "port"     // port 0, or the port of another kind of service
	ClassWrapped  Class = "wrapped"  // IPv4 in IPv6: 6to4, Teredo, local NAT64 and the like
	ClassDenied   Class = "denied"   // on the operator's deny list
	ClassUnlisted Class = "unlisted" // not on the operator's allow-only list
	ClassMetadata Class = "metadata" // metadata services of clouds, link-local addresses
	ClassOwn      Class = "own"      // a port of this program (Settings.Own)
	ClassHost     Class = "host"     // this machine
	ClassReserved Class = "reserved" // not a unicast address in public use
	ClassPrivate  Class = "private"  // private networks, under the profile "public"
	ClassZone     Class = "zone"     // a hop to a narrower zone
)

// Forbidden is the error for an address that must not be dialed. Its text omits the address, which would reveal
// the responses of our DNS server.
type Forbidden struct {
	Class   Class
	Address netip.AddrPort // the zero value for ClassZone
}

func (f *Forbidden) Error() string { return "not allowed to connect (rule " + string(f.Class) + ")" }
