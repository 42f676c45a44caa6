package cli

import (
	"errors"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"github.com/regwarden/regwarden/egress"
)

const proxyUsage = "proxy for outgoing connections: a URL, 'environment' for HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or none"

// Values of egress-proxy other than a URL.
const (
	proxyFromEnvironment = "environment" // HTTPS_PROXY, HTTP_PROXY and NO_PROXY
	noProxy              = "none"
)

// proxyFunc returns the function that chooses the proxy for a target, or nil for no proxy.
func proxyFunc(setting string) (func(*url.URL) (*url.URL, error), error) {
	switch setting {
	case "", noProxy:
		return nil, nil
	case proxyFromEnvironment:
		return httpproxy.FromEnvironment().ProxyFunc(), nil
	}
	u, err := url.Parse(setting)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		// The value may hold a password, so it is not shown.
		return nil, errors.New("egress-proxy: must be http://host:port, https://host:port, environment or none")
	}
	return func(*url.URL) (*url.URL, error) { return u, nil }, nil
}

// proxyConnects are the values of egress-proxy-connect.
var proxyConnects = map[string]egress.ProxyConnect{"": egress.ConnectDefault, "address": egress.ConnectAddress, "name": egress.ConnectName}

func isProxyConnect(setting string) bool {
	_, ok := proxyConnects[setting]
	return ok
}
