package cli

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
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

// proxyNote returns what adds to the stages of a check why the proxy of the environment is not used. The engine names a proxy that is.
func proxyNote(setting string, plan *regcheck.Plan) func(*regcheck.StageResult) {
	why := unusedProxy(setting, plan.Registry())
	return func(stage *regcheck.StageResult) {
		connected := stage.Name == regcheck.StageConnect && stage.Status != regcheck.Skipped
		if unresolved := stage.Name == regcheck.StageResolve && stage.Status == regcheck.Failed; why != "" && (connected || unresolved) {
			stage.Detail += "; " + why
		}
	}
}

// unusedProxy returns why the proxy of the environment is not used for a registry, "" if it is, or if there is none.
func unusedProxy(setting, registry string) string {
	environment := httpproxy.FromEnvironment()
	target, err := url.Parse(registry)
	name := cmp.Or(proxyName("HTTPS_PROXY", environment.HTTPSProxy), proxyName("HTTP_PROXY", environment.HTTPProxy))
	if err == nil && name != "" {
		return whyUnused(setting, name, target, environment)
	}
	return ""
}

func proxyName(name, value string) string {
	if value == "" {
		return ""
	}
	return name
}

func whyUnused(setting, name string, target *url.URL, environment *httpproxy.Config) string {
	used, err := environment.ProxyFunc()(target)
	address, _ := netip.ParseAddr(target.Hostname())
	own := target.Scheme == "https" && environment.HTTPSProxy == "" || target.Scheme == "http" && environment.HTTPProxy == ""
	switch {
	case setting == "":
		return name + " is not used: the server's setting egress-proxy applies"
	case setting == noProxy:
		return name + " is not used: egress-proxy is none"
	case setting != proxyFromEnvironment || used != nil || err != nil:
		return ""
	case target.Hostname() == "localhost" || address.IsLoopback():
		return name + " is not used for this machine"
	case own:
		return name + " is not used for " + target.Scheme + "://"
	}
	return name + " is not used: NO_PROXY has this host"
}
