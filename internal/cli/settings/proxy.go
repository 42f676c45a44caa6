package settings

import (
	"errors"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"github.com/regwarden/regwarden/egress"
)

// ProxyUsage describes the flag of a proxy, without its default.
const ProxyUsage = "proxy for outgoing connections: a URL, 'environment' for HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or none"

// Values of egress-proxy other than a URL.
const (
	ProxyFromEnvironment = "environment" // HTTPS_PROXY, HTTP_PROXY and NO_PROXY
	NoProxy              = "none"
)

// ProxyFunc returns the function that chooses the proxy for a target, or nil for no proxy.
func ProxyFunc(setting string) (func(*url.URL) (*url.URL, error), error) {
	switch setting {
	case "", NoProxy:
		return nil, nil
	case ProxyFromEnvironment:
		return httpproxy.FromEnvironment().ProxyFunc(), nil
	}
	u, err := url.Parse(setting)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		// The value may hold a password, so it is not shown.
		return nil, errors.New("egress-proxy: must be http://host:port, https://host:port, environment or none")
	}
	return func(*url.URL) (*url.URL, error) { return u, nil }, nil
}

// ParseProxyConnect returns the meaning of egress-proxy-connect, and false if it has none.
func ParseProxyConnect(setting string) (connect egress.ProxyConnect, ok bool) {
	connect, ok = map[string]egress.ProxyConnect{"": egress.ConnectDefault, "address": egress.ConnectAddress,
		"name": egress.ConnectName}[setting]
	return connect, ok
}
