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
	ClassOwn      Class = "own"      // a port of this program (Settings.Own)
	ClassHost     Class = "host"     // this machine
	ClassReserved Class = "reserved" // no unicast address that anybody may use
	ClassPrivate  Class = "private"  // private networks, under the profile "public"
	ClassZone     Class = "zone"     // a hop to a narrower zone
)

// Forbidden is the error for an address that must not be dialed. Its text never names the address, which would show a
// caller what our DNS says.
type Forbidden struct {
	Class   Class
	Address netip.AddrPort // the zero value for ClassZone
}

func (f *Forbidden) Error() string { return "not allowed to connect (rule " + string(f.Class) + ")" }
