package egress

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Origin is scheme, host and port (RFC 6454).
type Origin struct {
	Scheme string // "http" or "https"
	Host   string // ASCII name or address, without brackets
	Port   uint16
}

// HostPort returns "host:port", with brackets around an IPv6 address.
func (o Origin) HostPort() string { return net.JoinHostPort(o.Host, strconv.Itoa(int(o.Port))) }

// Authority returns the host as written in a URL: without the default port of the scheme.
func (o Origin) Authority() string {
	if o.Port == DefaultPort(o.Scheme) {
		if strings.Contains(o.Host, ":") {
			return "[" + o.Host + "]"
		}
		return o.Host
	}
	return o.HostPort()
}

func (o Origin) String() string { return o.Scheme + "://" + o.Authority() }

// Address returns the host if it is an address.
func (o Origin) Address() (netip.Addr, bool) {
	a, err := netip.ParseAddr(o.Host)
	return a, err == nil
}

// DefaultPort returns the port of "http" or "https".
func DefaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

type urlError string

func (e urlError) Error() string { return string(e) }

// ReadOrigin returns the origin of a URL, with the host as ReadHost returns it.
func ReadOrigin(u *url.URL) (Origin, error) {
	o := Origin{Scheme: strings.ToLower(u.Scheme)}
	if o.Scheme != "http" && o.Scheme != "https" {
		return o, urlError("its scheme must be http or https")
	}
	if u.User != nil {
		return o, urlError("it must not contain user information")
	}
	name := u.Hostname()
	if strings.Contains(u.Host, "[") {
		name = "[" + name + "]"
	}
	if name == "" || strings.Contains(name, "%") {
		return o, urlError("its host is missing or not valid")
	}
	host, problem := ReadHost(name)
	if problem != "" {
		return o, urlError("it " + problem)
	}
	o.Host, o.Port = host, DefaultPort(o.Scheme)
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return o, urlError("its port must be 1–65535")
		}
		o.Port = uint16(n)
	}
	return o, nil
}
