// Package wording has the texts about settings of the service, which only its operator can change.
package wording

import (
	"cmp"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
)

// Reason returns why an address is forbidden, as the end of a sentence.
func Reason(f *egress.Forbidden) string { return rules[f.Class].reason }

// Hint returns how an operator can allow a forbidden address, in one sentence.
func Hint(f *egress.Forbidden) string { return rules[f.Class].hint }

// Engine returns the texts of the service for reports of the engine. Their readers are users: they name what the operator must change.
func Engine() regcheck.Audience {
	return regcheck.Audience{
		Program:   "regwarden",
		Forbidden: func(f *egress.Forbidden) (reason, hint string) { return Reason(f), Hint(f) },
		DNS: "Contact the operator of regwarden: the DNS server of --egress-dns, or of the system if it is not set, must be " +
			"reachable.",
		Proxy: func(target string, byAddress bool) string {
			hint := "Ask the operator to correct --egress-proxy, or to allow " + target + " in the proxy. The definition is not the cause."
			if byAddress {
				hint += " If the proxy allows names only, ask the operator to set --egress-proxy-connect to name."
			}
			return hint
		},
	}
}

// CommandLine returns the texts for checks without a server: their reader is the one who set up this machine and the flags.
func CommandLine() regcheck.Audience {
	return regcheck.Audience{
		Program: "regwarden",
		Forbidden: func(f *egress.Forbidden) (reason, hint string) {
			return Reason(f), cmp.Or(commandLineHints[f.Class], Hint(f))
		},
		Ambient: "Give credentials with flags, or allow with --ambient that the identity of this machine is used.",
		DNS:     "Correct the network or DNS settings of this machine: its DNS server must be reachable.",
		Proxy: func(target string, byAddress bool) string {
			hint := "Correct --egress-proxy or HTTPS_PROXY, or allow " + target + " in the proxy. The definition is not the cause."
			if byAddress {
				hint += " If the proxy allows names only, set --egress-proxy-connect to name."
			}
			return hint
		},
	}
}

// commandLineHints are for the classes that egress.ForCommandLine forbids and an operator could allow.
var commandLineHints = map[egress.Class]string{
	egress.ClassMetadata: "Use another address: checks without a server never connect to this one.",
	egress.ClassReserved: "Correct the DNS records of the host.",
}

var rules = map[egress.Class]struct{ reason, hint string }{
	egress.ClassPort: {"the port is reserved for another kind of service",
		"Use another port, or ask an operator to add an entry with address and port to --egress-allow."},
	egress.ClassWrapped: {"the address is an IPv4 address embedded in an IPv6 address",
		"Use the plain IPv4 address, or ask an operator to add the IPv6 range to --egress-allow; the embedded IPv4 address must be " +
			"allowed as well."},
	egress.ClassDenied: {"the operator denies this address",
		"Ask an operator to change --egress-deny, or to add this one address to --egress-allow."},
	egress.ClassUnlisted: {"the operator allows listed addresses only",
		"Ask an operator to add the address to --egress-allow-only."},
	egress.ClassMetadata: {"the address is link-local or a cloud's metadata service",
		"Use another address, or ask the operator of the server to add exactly this address, not a range, to --egress-allow."},
	egress.ClassOwn: {"regwarden itself or its database listens on it",
		"Use another address or port, or ask an operator to add an entry with address and port to --egress-allow."},
	egress.ClassHost: {"the address is this machine itself",
		"Use an address that other machines can use, or ask an operator to add it to --egress-allow."},
	egress.ClassReserved: {"the address is reserved",
		"Correct the DNS records of the host, or ask an operator to add the range to --egress-allow (not possible for multicast and " +
			"broadcast)."},
	egress.ClassPrivate: {"the address is private, and the profile is public",
		"Ask an operator to add the network to --egress-allow or to set --egress-profile to private."},
	egress.ClassZone: {"a server in a wider zone must not redirect to a private address or to this machine",
		"Contact the registry operator: the address of the token service or redirect must be in the network zone of the registry or a " +
			"wider one."},
}
