package egress

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// hostProfile turns names to ASCII, non-transitional (UTS 46). Underscores stay: compose files
// name hosts so.
var hostProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false))

// ReadHost reads a host as people write it into the one spelling that is dialled: an address, or a name in ASCII (IDNA). problem
// says, in words that go after a field's name, why there is none. What a proxy or a resolver might take for an address
// and is none is refused.
func ReadHost(host string) (ascii, problem string) {
	if strings.HasPrefix(host, "[") {
		a, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil || !a.Is6() {
			return "", "has no IPv6 address between its brackets"
		}
		return a.String(), ""
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String(), ""
	}
	ascii, err := hostProfile.ToASCII(host)
	if err != nil {
		return "", "has a host name that cannot be used in the DNS"
	}
	name := strings.TrimSuffix(ascii, ".")
	if len(name) > 253 {
		return "", "has a host name longer than 253 characters"
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isLabel(label) {
			return "", "has " + strconv.Quote(host[:min(len(host), 256)]) + " as host, which is no host name"
		}
	}
	// getaddrinfo takes 2852039166 and 0xa9fea9fe for 169.254.169.254 (WHATWG URL, "ends in a number").
	if isNumber(labels[len(labels)-1]) {
		return "", "has a numeric host that is no IPv4 address; write four decimal numbers from 0 to 255"
	}
	return ascii, ""
}

func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
