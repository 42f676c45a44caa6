package egress

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// hostProfile turns names to ASCII, non-transitional (UTS 46). It allows underscores, which
// hosts of compose files have.
var hostProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false))

// ReadHost returns the canonical form of a host: an address, or a name in ASCII (IDNA). If the host is not valid, problem
// completes a sentence that begins with the name of the field. ReadHost rejects names that a proxy or a resolver might
// parse as an address.
func ReadHost(host string) (ascii, problem string) {
	if strings.HasPrefix(host, "[") {
		a, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil || !a.Is6() {
			return "", "must have an IPv6 address in the brackets"
		}
		return a.String(), ""
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String(), ""
	}
	ascii, err := hostProfile.ToASCII(host)
	if err != nil {
		return "", "has a host name that is not valid in DNS"
	}
	name := strings.TrimSuffix(ascii, ".")
	if len(name) > 253 {
		return "", "has a host name of more than 253 characters"
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isLabel(label) {
			return "", "has the invalid host name " + strconv.Quote(host[:min(len(host), 256)])
		}
	}
	// getaddrinfo takes 2852039166 and 0xa9fea9fe for 169.254.169.254 (WHATWG URL, "ends in a number").
	if isNumber(labels[len(labels)-1]) {
		return "", "has a numeric host that is not an IPv4 address; use four decimal numbers 0–255"
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
