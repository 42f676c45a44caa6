package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Settings are the settings of an operator. An entry is an address or a network in CIDR form, with an
// optional port: "10.1.0.0/16", "192.168.7.9", "127.0.0.1:5000", "[fd12::/16]:443".
type Settings struct {
	Profile   string   // "private" (also when empty) or "public"
	Allow     []string // allowed although their class is denied
	Deny      []string // denied; only an exact address in Allow takes precedence
	AllowOnly []string // if not empty, nothing else is allowed; it does not allow a denied class
	// Own reports whether an address is one of the program itself; OwnPorts returns such a function. May be nil.
	Own func(netip.AddrPort) bool
}

// Problem is an invalid entry of the settings.
type Problem struct {
	Field   string // of Settings, such as "AllowOnly"
	Entry   string // as written
	Problem string
}

// SettingsError lists every problem of the settings.
type SettingsError struct{ Problems []Problem }

func (e *SettingsError) Error() string {
	var text strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			text.WriteString("; ")
		}
		fmt.Fprintf(&text, "%s: %q %s", p.Field, p.Entry, p.Problem)
	}
	return text.String()
}

// ParsePolicy reads the settings. The error is a *SettingsError with all problems at once.
func ParsePolicy(s Settings) (Policy, error) {
	p := Policy{own: s.Own}
	var problems []Problem
	switch s.Profile {
	case "", "private":
	case "public":
		p.kind = kindPublic
	default:
		problems = append(problems, Problem{"Profile", s.Profile, "must be one of private, public"})
	}
	parse := func(field string, texts []string) []entry {
		entries, found := parseEntries(field, texts)
		problems = append(problems, found...)
		return entries
	}
	p.allow = parse("Allow", s.Allow)
	p.deny = parse("Deny", s.Deny)
	p.only = parse("AllowOnly", s.AllowOnly)
	if len(problems) > 0 {
		return Policy{}, &SettingsError{problems}
	}
	return p, nil
}

// entry is one line of a list; port 0 means any.
type entry struct {
	prefix netip.Prefix
	port   uint16
}

func parseEntries(field string, texts []string) (entries []entry, problems []Problem) {
	for _, text := range texts {
		e, err := parseEntry(strings.TrimSpace(text))
		if err == nil && field != "Deny" && nat64.Overlaps(e.prefix) && e.prefix.Bits() >= nat64.Bits() {
			err = errors.New("must be the embedded IPv4 address")
		}
		if err != nil {
			problems = append(problems, Problem{field, text, err.Error()})
			continue
		}
		entries = append(entries, e)
	}
	return entries, problems
}

func parseEntry(text string) (entry, error) {
	network, port, err := splitPort(text)
	if err != nil {
		return entry{}, err
	}
	prefix, err := parsePrefix(network)
	if err != nil {
		return entry{}, err
	}
	return entry{prefix, port}, nil
}

// splitPort separates the port, which follows the bracket or the only colon.
func splitPort(text string) (network string, port uint16, err error) {
	rest := ""
	switch {
	case strings.HasPrefix(text, "["):
		inside, after, closed := strings.Cut(text[1:], "]")
		if !closed {
			return "", 0, errors.New(`must have "]" after "["`)
		}
		network, rest = inside, after
		if rest != "" && !strings.HasPrefix(rest, ":") {
			return "", 0, errors.New(`must be [network]:port`)
		}
		rest = strings.TrimPrefix(rest, ":")
		if after == ":" {
			return "", 0, errors.New("must have a port after the colon")
		}
	case strings.Count(text, ":") == 1:
		network, rest, _ = strings.Cut(text, ":")
		if rest == "" {
			return "", 0, errors.New("must have a port after the colon")
		}
	default:
		return text, 0, nil
	}
	if rest == "" {
		return network, 0, nil
	}
	number, err := strconv.ParseUint(rest, 10, 16)
	if err != nil || number == 0 || rest[0] == '+' {
		return "", 0, errors.New("must have a port 1–65535")
	}
	return network, uint16(number), nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, errors.New("must be an address or a network, such as 10.0.0.0/8")
		}
		if a.Zone() != "" {
			return netip.Prefix{}, errors.New("must not have an IPv6 zone")
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errors.New("must be a network, such as 10.0.0.0/8 or [fd00::/8]:443")
	}
	if prefix.Addr().Is4In6() || prefix.Bits() >= 96 && mapped.Overlaps(prefix) {
		return netip.Prefix{}, errors.New("must be the IPv4 network, not its IPv6 form")
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("has bits set after its prefix; use %s", prefix.Masked())
	}
	return prefix, nil
}

func match(list []entry, a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.covers(a, port) })
}

// matchExact reports whether an entry is for this single address, with or without its port.
func matchExact(list []entry, a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.prefix.IsSingleIP() && e.covers(a, port) })
}

// matchPort reports whether an entry with this port matches.
func matchPort(list []entry, a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.port != 0 && e.covers(a, port) })
}

func (e entry) covers(a netip.Addr, port uint16) bool {
	return e.prefix.Contains(a) && (e.port == 0 || e.port == port)
}
