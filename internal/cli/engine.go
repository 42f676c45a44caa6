package cli

import (
	"cmp"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/regcheck"
)

// Bounds of --timeout.
const (
	minTimeout = time.Second
	maxTimeout = time.Minute
)

// engineFlags are the flags of commands that check without a server.
type engineFlags struct {
	proxy, proxyConnect string
	timeout             time.Duration
	noColor             bool
}

func (f *engineFlags) addTo(flags *pflag.FlagSet, defaultProxy string) {
	flags.StringVar(&f.proxy, "egress-proxy", "", settings.ProxyUsage+" (default: "+defaultProxy+")")
	flags.StringVar(&f.proxyConnect, "egress-proxy-connect", "",
		"what the proxy connects to: address (resolved and checked here) or name (default: address for https, name for http)")
	flagvalue.Duration(flags, &f.timeout, "timeout", 30*time.Second, minTimeout, maxTimeout, "", "maximum duration of a check, 1s–60s")
	flags.BoolVar(&f.noColor, "no-color", false, "disable color on terminals")
}

// checker returns the engine with the address policy of the command line.
func (f engineFlags) checker() (*regcheck.Checker, error) {
	f.proxy = f.proxySetting()
	checker := &regcheck.Checker{Egress: egress.ForCommandLine(), Audience: wording.CommandLine()}
	return checker, f.apply(checker)
}

// proxySetting is that of the environment unless a flag says otherwise, as other tools of a terminal have it.
func (f engineFlags) proxySetting() string { return cmp.Or(f.proxy, settings.ProxyFromEnvironment) }

// apply sets what the flags set.
func (f *engineFlags) apply(checker *regcheck.Checker) error {
	connect, known := settings.ParseProxyConnect(f.proxyConnect)
	if !known {
		return command.AsUsage(errors.New("--egress-proxy-connect must be address or name"))
	}
	proxy, err := settings.ProxyFunc(f.proxy)
	if err != nil {
		return command.AsUsage(err)
	}
	checker.Limits.Total = f.timeout
	if f.proxy != "" {
		checker.Proxy = proxy
	}
	if f.proxyConnect != "" {
		checker.ProxyConnect = connect
	}
	return nil
}
