// Package wording puts what only the operator of the service can change into words, with the names of the settings.
package wording

import (
	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
)

// Reason says what a forbidden address is, as the end of a sentence.
func Reason(f *egress.Forbidden) string { return rules[f.Class].reason }

// Hint says what an operator can do about a forbidden address, in one sentence.
func Hint(f *egress.Forbidden) string { return rules[f.Class].hint }

// Engine returns the words of the service for the engine's reports.
func Engine() regcheck.Words {
	return regcheck.Words{
		Program:   "regwarden",
		Forbidden: func(f *egress.Forbidden) (reason, hint string) { return Reason(f), Hint(f) },
		DNS:       "Contact the operator of regwarden: check that the DNS server of --egress-dns, or else of the system, runs and can be reached.",
		Proxy: func(target string, byAddress bool) string {
			hint := "The definition is not at fault: ask the operator to correct --egress-proxy, or to allow " + target + " in the proxy."
			if byAddress {
				hint += " If the proxy allows names only, ask the operator to set --egress-proxy-connect to name."
			}
			return hint
		},
	}
}

var rules = map[egress.Class]struct{ reason, hint string }{
	egress.ClassPort: {"the port belongs to another kind of service",
		"Use another port, or ask an operator to add an entry with address and port to --egress-allow."},
	egress.ClassWrapped: {"the address is an IPv4 address wrapped into IPv6",
		"Use the plain IPv4 address, or ask an operator to add the IPv6 range to --egress-allow; the IPv4 address within must be allowed as well."},
	egress.ClassDenied: {"the operator denies this address",
		"Ask an operator to change --egress-deny, or to add this one address to --egress-allow."},
	egress.ClassUnlisted: {"the operator allows listed addresses only",
		"Ask an operator to add the address to --egress-allow-only."},
	egress.ClassMetadata: {"the address is link-local or a cloud's metadata service",
		"Use another address. On a server, only an entry for exactly this address in --egress-allow allows it; a range does not."},
	egress.ClassOwn: {"regwarden itself or its store listens there",
		"Only an entry in --egress-allow that names the port allows it."},
	egress.ClassHost: {"the address is this machine itself",
		"Use an address that other machines can use, or ask an operator to add it to --egress-allow."},
	egress.ClassReserved: {"the address is reserved and no host's own",
		"Check the name's DNS records; an operator can add the range to --egress-allow, but not multicast or broadcast."},
	egress.ClassPrivate: {"the address is private, and the profile is public",
		"Ask an operator to add the network to --egress-allow or to set --egress-profile to private."},
	egress.ClassZone: {"a server in a wider zone may not send us to a private address or to this machine",
		"Correct the server: the address that it names for its token service or redirect must be reachable from where it is itself."},
}
