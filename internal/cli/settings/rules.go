package settings

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/service/ambient"
)

// Validate returns all problems of the settings that the flags do not check themselves.
func (c *Config) Validate() []error {
	var problems []error
	_, knownConnect := ParseProxyConnect(c.EgressProxyConnect)
	for _, rule := range []struct {
		broken  bool
		problem string
	}{
		{c.DataDir == "", "data-dir: is required"},
		{(c.TLSCert == "") != (c.TLSKey == ""), "tls-cert: requires tls-key, and tls-key requires tls-cert"},
		{c.TLSCert != "" && c.TLSSelfSigned, "tls-self-signed: cannot be combined with tls-cert"},
		{!isHostPort(c.Listen), "listen: must be host:port, not " + c.Listen},
		{isHostPort(c.Listen) && !c.ServesTLS() && !c.InsecureHTTP && !IsLoopback(c.Listen),
			"listen: " + c.Listen + " is not a loopback address, and passwords would cross the network unencrypted; set tls-cert and " +
				"tls-key, or insecure-http if a proxy in front of regwarden serves TLS"},
		{c.MetricsListen != "" && !isHostPort(c.MetricsListen), "metrics-listen: must be host:port, not " + c.MetricsListen},
		{c.DebugListen != "" && (!isHostPort(c.DebugListen) || !IsLoopback(c.DebugListen)),
			"debug-listen: must be host:port on loopback, not " + c.DebugListen + "; profiles show the content of memory"},
		{c.MaxConnectionsPerSource > c.MaxConnections, "max-connections-per-source: must be at most max-connections"},
		{c.SessionMax < c.SessionIdle, "session-max: must be at least session-idle"},
		{!slices.Contains([]string{IsolateProcess, IsolateThreads, IsolateNothing}, c.LoginIsolation),
			"login-isolation: must be one of process, none"},
		{!knownConnect, "egress-proxy-connect: must be address or name"},
		{c.EgressDNS != "" && !isAddressPort(c.EgressDNS), "egress-dns: must be an address and port such as 192.0.2.1:53, not " +
			c.EgressDNS},
		{c.LogFormat != "text" && c.LogFormat != "json", "log-format: must be one of text, json"},
		{!slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel), "log-level: must be one of debug, info, warn, error"},
	} {
		if rule.broken {
			problems = append(problems, errors.New(rule.problem))
		}
	}
	problems = append(problems, c.smtpProblems()...)
	problems = append(problems, c.Cluster.Problems()...)
	_, err := c.EgressPolicy(nil)
	if wrong, ok := errors.AsType[*egress.SettingsError](err); ok {
		for _, p := range wrong.Problems {
			problems = append(problems, fmt.Errorf("%s: %q %s", egressSettings[p.Field], p.Entry, p.Problem))
		}
	}
	_, ambientErr := ambient.Parse(c.AmbientCredentials)
	_, accountErr := ambient.ParseAWSAccounts(c.AWSAccount)
	_, err = c.Proxies()
	problems = append(problems, ambientErr, accountErr, err)
	_, err = ProxyFunc(c.EgressProxy)
	return append(problems, err)
}

func (c *Config) ServesTLS() bool { return c.TLSCert != "" || c.TLSSelfSigned }

// egressSettings are the settings for the fields of egress.Settings.
var egressSettings = map[string]string{"Profile": "egress-profile", "Allow": "egress-allow", "Deny": "egress-deny",
	"AllowOnly": "egress-allow-only"}

func (c *Config) EgressPolicy(own func(netip.AddrPort) bool) (egress.Policy, error) {
	return egress.ParsePolicy(egress.Settings{
		Profile: c.EgressProfile, Allow: c.EgressAllow, Deny: c.EgressDeny, AllowOnly: c.EgressAllowOnly, Own: own,
	})
}

func (c *Config) Proxies() ([]netip.Prefix, error) {
	prefixes, problems := make([]netip.Prefix, 0, len(c.TrustedProxies)), []error(nil)
	for _, text := range c.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("trusted-proxies: %q must be an address, or a network in CIDR form", text))
			continue
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, errors.Join(problems...)
}

func isHostPort(listen string) bool {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func isAddressPort(text string) bool {
	_, err := netip.ParseAddrPort(text)
	return err == nil
}

func IsLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
