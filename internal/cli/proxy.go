package cli

import (
	"cmp"
	"net/netip"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/regcheck"
)

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
	case setting == settings.NoProxy:
		return name + " is not used: egress-proxy is none"
	case setting != settings.ProxyFromEnvironment || used != nil || err != nil:
		return ""
	case target.Hostname() == "localhost" || address.IsLoopback():
		return name + " is not used for this machine"
	case own:
		return name + " is not used for " + target.Scheme + "://"
	}
	return name + " is not used: NO_PROXY has this host"
}
