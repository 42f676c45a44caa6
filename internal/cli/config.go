package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/cli/clusterread"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/helptext"
	"github.com/regwarden/regwarden/internal/service/ambient"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

// Config has all settings of the service. Each is a flag, an environment variable and a key of the settings file, with the same name.
type Config struct {
	File    string
	DataDir string

	Listen        string
	TLSCert       string
	TLSKey        string
	TLSSelfSigned bool
	InsecureHTTP  bool
	MetricsListen string

	MetricsRegistries int // up to which each has metrics of its own
	DebugListen       string
	Console           bool

	MaxConnections          int
	MaxConnectionsPerSource int
	RequestMemory           int // MiB
	ResponseMemory          int // MiB

	DatabaseURL     secret.String
	DatabaseURLFile string
	AllowNewer      bool
	MasterKeyFile   string
	// MasterKeyCommand prints the master key, if it is not in a file.
	MasterKeyCommand string

	DefaultOrg                  string
	TrustedProxies              []string
	TokenLifetime               time.Duration
	RefreshGrace                time.Duration
	SessionIdle                 time.Duration
	SessionMax                  time.Duration
	SSORecheck                  time.Duration
	RefreshAcceptsAuthorization bool
	LoginWorkers                int
	LoginQueue                  int
	LoginWait                   time.Duration
	LoginFreeFailures           int
	LoginMaxWait                time.Duration
	LoginIsolation              string

	OrganizationRegistries int
	OrganizationStorage    int // MiB

	CheckConcurrency int
	CheckPerOrg      int
	CheckPerMinute   int
	CheckTimeout     time.Duration
	EgressProfile    string
	EgressAllow      []string
	EgressDeny       []string
	EgressAllowOnly  []string
	EgressProxy      string
	// EgressProxyConnect is a key of proxyConnects.
	EgressProxyConnect             string
	EgressDNS                      string
	AmbientCredentials, AWSAccount []string

	Cluster clusterread.Settings

	WatchInterval     time.Duration
	WatchConcurrency  int
	SyncInterval      time.Duration
	SMTPHost          string
	SMTPPort          int
	SMTPUsername      string
	SMTPPasswordFile  string
	SMTPFrom          string
	SMTPTLS           string
	AlertMailDomains  []string
	AlertMailsPerHour int
	PublicURL         string

	AuditRetention time.Duration
	AuditRefreshes bool

	LogFormat string
	LogLevel  string
}

// settings binds a Config to its flags. The flags also parse values of the environment and the settings file, so that each setting has
// one parser and one default.
type settings struct {
	Config
	flags  *pflag.FlagSet
	source map[string]string // flag name to "flag", "environment", "file" or "default"
}

func newSettings() *settings {
	s := &settings{flags: pflag.NewFlagSet("settings", pflag.ContinueOnError), source: map[string]string{}}
	f, c := s.flags, &s.Config
	f.StringVar(&c.File, "config", "", "settings file (YAML); its keys are the names of these flags")
	f.StringVar(&c.DataDir, "data-dir", "regwarden-data", "directory of the database and keys")
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 is a free port, which the output names")
	f.StringVar(&c.TLSCert, "tls-cert", "", "certificate file (PEM), chain included")
	f.StringVar(&c.TLSKey, "tls-key", "", "private key file (PEM)")
	f.BoolVar(&c.TLSSelfSigned, "tls-self-signed", false, "serve TLS with a generated certificate, for trials")
	f.BoolVar(&c.InsecureHTTP, "insecure-http", false, "allow plain HTTP on addresses other than loopback")
	f.BoolVar(&c.Console, "console", true, "serve pages for browsers at /console/")
	f.StringVar(&c.MetricsListen, "metrics-listen", "", "address to serve /metrics on, for Prometheus (default: off)")
	flagvalue.Number(f, &c.MetricsRegistries, "metrics-registries", 5000, 0, 1_000_000,
		"stored registries up to which each has metrics of its own; 0: none has")
	flagvalue.Number(f, &c.MaxConnections, "max-connections", 4096, 16, 1_000_000, "open client connections, in all")
	flagvalue.Number(f, &c.MaxConnectionsPerSource, "max-connections-per-source", 1024, 8, 1_000_000,
		"open connections of one client address (IPv6: of a /64); trusted-proxies are exempt")
	flagvalue.Number(f, &c.RequestMemory, "request-memory", 32, 8, 1<<20,
		"MiB of requests received whose responses are not sent yet; one client address may use a quarter")
	flagvalue.Number(f, &c.ResponseMemory, "response-memory", 64, 8, 1<<20,
		"MiB of lists and other large responses that clients are still receiving; one organization may use a quarter, one user an eighth")
	f.StringVar((*string)(&c.DatabaseURL), "database-url", "",
		"PostgreSQL database to store everything in, as postgres://user@host/database?sslmode=verify-full; give a password in it by "+
			"the environment or the settings file only (default: SQLite in the data directory)")
	f.StringVar(&c.DatabaseURLFile, "database-url-file", "", "file that holds the database-url")
	f.BoolVar(&c.AllowNewer, "allow-newer-database", false,
		"use a database that a newer version migrated, to go back to this version without restoring a backup")
	f.StringVar(&c.DebugListen, "debug-listen", "", "loopback address to serve Go's profiles on, under /debug/pprof/ (default: off)")
	f.StringVar(&c.MasterKeyFile, "master-key-file", "", "file of the master key (default: master.key in the data directory)")
	f.StringVar(&c.MasterKeyCommand, "master-key-command", "",
		"command that prints the master key, started without a shell, such as vault kv get -field=key secret/regwarden (default: none)")
	f.StringVar(&c.DefaultOrg, "default-org", "", "organization of a login that names none")
	f.StringSliceVar(&c.TrustedProxies, "trusted-proxies", nil, "addresses or networks whose X-Forwarded-For is trusted")
	flagvalue.Duration(f, &c.TokenLifetime, "token-lifetime", 15*time.Minute, time.Second, 15*time.Minute, "",
		"life of an authorization token, at most 15m")
	flagvalue.Duration(f, &c.RefreshGrace, "refresh-grace", 30*time.Second, time.Second, 5*time.Minute, "",
		"how long a refresh token may be used again, as by a client that lost the response")
	flagvalue.Duration(f, &c.SessionIdle, "session-idle", 7*flagvalue.Day, time.Minute, flagvalue.Longest, "",
		"how long a session lasts without a refresh")
	flagvalue.Duration(f, &c.SessionMax, "session-max", 30*flagvalue.Day, time.Minute, flagvalue.Longest, "",
		"how long a session lasts at most")
	flagvalue.Duration(f, &c.SSORecheck, "sso-recheck", time.Hour, time.Second, flagvalue.Day, "",
		"how often the identity provider is asked whether the user of a session may still log in")
	f.BoolVar(&c.RefreshAcceptsAuthorization, "refresh-accepts-authorization", true,
		"accept an authorization token at the refresh path, once")
	flagvalue.Number(f, &c.LoginWorkers, "login-workers", 0, 0, 1024, "concurrent password hashes (default: number of CPUs)")
	flagvalue.Number(f, &c.LoginQueue, "login-queue", 64, 1, 100_000, "logins that may wait for a hash")
	flagvalue.Duration(f, &c.LoginWait, "login-wait", 2*time.Second, 10*time.Millisecond, time.Minute, "",
		"how long a login may wait for a hash")
	flagvalue.Number(f, &c.LoginFreeFailures, "login-free-failures", 5, 1, 100,
		"wrong passwords of one address for one account before it must wait")
	flagvalue.Duration(f, &c.LoginMaxWait, "login-max-wait", 15*time.Minute, time.Second, flagvalue.Day, "",
		"maximum wait after wrong passwords")
	f.StringVar(&c.LoginIsolation, "login-isolation", isolateProcess,
		"where passwords are hashed: process (a child process of low priority, so that other requests stay fast) or none (in the "+
			"server itself)")
	flagvalue.Number(f, &c.OrganizationRegistries, "organization-registries", 10_000, 1, 10_000_000,
		"registries that one organization may store")
	flagvalue.Number(f, &c.OrganizationStorage, "organization-storage", 64, 1, 1<<20, "MiB of registries that one organization may store")
	flagvalue.Number(f, &c.CheckConcurrency, "check-concurrency", 64, 1, 10_000, "concurrent validations")
	flagvalue.Number(f, &c.CheckPerOrg, "check-per-org", 8, 1, 10_000, "concurrent validations of one organization")
	flagvalue.Number(f, &c.CheckPerMinute, "check-per-minute", 120, 1, 10_000_000,
		"validations of a user per minute, and as many checks and new webhooks that its changes cause")
	flagvalue.Duration(f, &c.CheckTimeout, "check-timeout", 30*time.Second, time.Second, time.Minute, "",
		"maximum duration of one validation, at most 60s")
	f.StringSliceVar(&c.AWSAccount, "aws-account", nil, "AWS account of this server, [PARTITION:]ID, which the trust of roles needs")
	f.StringVar(&c.EgressProfile, "egress-profile", "private",
		"addresses that registries may have: private (all but this machine's own and metadata services) or public (no private "+
			"networks either)")
	f.StringSliceVar(&c.EgressAllow, "egress-allow", nil, "address or network, with an optional port, to allow in addition")
	f.StringSliceVar(&c.EgressDeny, "egress-deny", nil, "address or network, with an optional port, to deny")
	f.StringSliceVar(&c.EgressAllowOnly, "egress-allow-only", nil, "the only addresses or networks to allow")
	f.StringSliceVar(&c.AmbientCredentials, "ambient-credentials", nil,
		"CLOUD:ORGANIZATION, who may use this server's identity at aws, gcp or azure, by the organization's uid (default: none)")
	f.StringVar(&c.EgressProxy, "egress-proxy", "", proxyUsage+" (default: none)")
	f.StringVar(&c.EgressProxyConnect, "egress-proxy-connect", "",
		"what the proxy connects to: address (resolved and checked here) or name (default: address for https, name for http)")
	flagvalue.Duration(f, &c.WatchInterval, "watch-interval", 15*time.Minute, time.Second, flagvalue.Week, "never",
		"how often each stored registry is checked; 0s means never")
	flagvalue.Number(f, &c.WatchConcurrency, "watch-concurrency", 16, 1, 1000,
		"concurrent checks of stored registries, in addition to the validations that users request; up to seven times as many may "+
			"wait for slow registries")
	flagvalue.Duration(f, &c.SyncInterval, "sync-interval", flagvalue.Day, time.Second, 30*flagvalue.Day, "only when asked",
		"how often the content of each stored registry is listed; 0s means only on request")
	c.Cluster.AddTo(f)
	f.StringVar(&c.SMTPHost, "smtp-host", "", "mail server for alerts (default: none, and no alert channel of type email)")
	flagvalue.Number(f, &c.SMTPPort, "smtp-port", 0, 0, 65535,
		"port of the mail server (default: 587 for starttls, 465 for tls, 25 for none)")
	f.StringVar(&c.SMTPUsername, "smtp-username", "", "username at the mail server")
	f.StringVar(&c.SMTPPasswordFile, "smtp-password-file", "", "file of the password for the mail server")
	f.StringVar(&c.SMTPFrom, "smtp-from", "", "sender address of alerts")
	f.StringVar(&c.SMTPTLS, "smtp-tls", "starttls", "encryption of the connection to the mail server: starttls, tls or none")
	f.StringSliceVar(&c.AlertMailDomains, "alert-mail-domains", nil,
		"domains of email addresses that get alerts without confirming a link first")
	flagvalue.Number(f, &c.AlertMailsPerHour, "alert-mails-per-hour", 200, 1, 100_000, "email messages of one organization per hour")
	f.StringVar(&c.PublicURL, "public-url", "", "URL at which people reach this service, for links in emails (default: none, and "+
		"addresses outside of alert-mail-domains are refused)")
	f.StringVar(&c.EgressDNS, "egress-dns", "", "DNS server (address:port) for the names of registries, token services and webhooks "+
		"(default: the system's)")
	flagvalue.Duration(f, &c.AuditRetention, "audit-retention", 365*flagvalue.Day, flagvalue.Day, flagvalue.Longest, "forever",
		"how long audit records are retained; 0s means forever")
	f.BoolVar(&c.AuditRefreshes, "audit-refreshes", true, "write an audit record for each hour in which a session was refreshed; "+
		"refused and repeated refreshes have records in any case")
	f.StringVar(&c.LogFormat, "log-format", "text", "format of log lines: text or json")
	f.StringVar(&c.LogLevel, "log-level", "info", "lowest level that is logged: debug, info, warn or error")
	helptext.NoteSections(f)
	return s
}

// storeFlags are the settings of commands that open the store.
var storeFlags = []string{"config", "data-dir", "database-url", "database-url-file", "allow-newer-database", "master-key-file",
	"master-key-command",
	"default-org"}

// addTo adds settings as flags of a command: the named ones, or all if no name is given.
func (s *settings) addTo(target *pflag.FlagSet, names ...string) {
	target.SortFlags = false
	s.flags.SortFlags = false
	s.flags.VisitAll(func(f *pflag.Flag) {
		if len(names) == 0 || slices.Contains(names, f.Name) {
			target.AddFlag(f)
		}
	})
}

// load reads the settings that have no flag from the environment, then from the settings file, and validates all settings. Its error
// lists all problems.
func (s *settings) load(getenv func(string) string) error {
	var problems []error
	set := func(f *pflag.Flag, source, value string) {
		if err := f.Value.Set(value); err != nil {
			problems = append(problems, fmt.Errorf("%s (%s): %q %w", f.Name, source, value, command.PlainValueError(err)))
		}
		s.source[f.Name] = source
	}
	s.flags.VisitAll(func(f *pflag.Flag) {
		s.source[f.Name] = "default"
		if f.Changed {
			s.source[f.Name] = "flag"
		} else if value := getenv(envName(f.Name)); value != "" {
			set(f, "environment", value)
		}
	})
	fromFile, err := readFile(s.File, s.flags)
	problems = append(problems, err)
	for name, value := range fromFile {
		if s.source[name] == "default" {
			set(s.flags.Lookup(name), "file", value)
		}
	}
	problems = append(problems, s.fileProblem())
	problems = append(problems, s.keyProblem(getenv))
	problems = append(problems, s.completeDatabaseURL()...)
	if s.MasterKeyFile == "" {
		s.MasterKeyFile = filepath.Join(s.DataDir, "master.key")
	}
	if err := errors.Join(append(problems, s.Validate()...)...); err != nil {
		return command.AsUsage(fmt.Errorf("the settings are not valid:\n%w", err))
	}
	return nil
}

// fileProblem checks the mode of a settings file that holds a password.
func (s *settings) fileProblem() error {
	for _, name := range []string{"database-url", "egress-proxy"} {
		f := s.flags.Lookup(name)
		if s.source[name] != "file" || s.shown(f) == f.Value.String() {
			continue
		}
		if _, err := seal.ReadSecretFile(s.File); err != nil {
			return fmt.Errorf("config: %s contains a password: %w", name, err)
		}
	}
	return nil
}

// keyProblem checks that the master key comes from one place.
func (s *settings) keyProblem(getenv func(string) string) error {
	if s.MasterKeyCommand == "" {
		return nil
	}
	if s.source["master-key-file"] != "default" || getenv(envMasterKey) != "" {
		return fmt.Errorf("master-key-command: cannot be combined with master-key-file or %s", envMasterKey)
	}
	if _, err := splitWords(s.MasterKeyCommand); err != nil {
		return fmt.Errorf("master-key-command: %w", err)
	}
	return nil
}

func envName(flag string) string {
	return command.EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readFile reads the settings file. Unknown keys are refused, since the default would silently apply instead of a misspelled setting.
func readFile(path string, known *pflag.FlagSet) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := seal.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("config: %s is not YAML of the form 'name: value': %w", path, err)
	}
	values, problems := map[string]string{}, []error(nil)
	for name, value := range content {
		if known.Lookup(name) == nil || name == "config" {
			problems = append(problems, fmt.Errorf("config: %s: %q is not a setting%s", path, name, didYouMean(name, known)))
			continue
		}
		if list, ok := value.([]any); ok {
			words := make([]string, len(list))
			for i, word := range list {
				words[i] = fmt.Sprint(word)
			}
			value = strings.Join(words, ",")
		}
		values[name] = fmt.Sprint(value)
	}
	return values, errors.Join(problems...)
}

func didYouMean(name string, known *pflag.FlagSet) string {
	var names []string
	known.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if like := flagvalue.Nearest(name, names, command.MaxTypos); like != "" {
		return "; did you mean " + like + "?"
	}
	return ""
}

// Validate returns all problems of the settings that the flags do not check themselves.
func (c *Config) Validate() []error {
	var problems []error
	for _, rule := range []struct {
		broken  bool
		problem string
	}{
		{c.DataDir == "", "data-dir: is required"},
		{(c.TLSCert == "") != (c.TLSKey == ""), "tls-cert: requires tls-key, and tls-key requires tls-cert"},
		{c.TLSCert != "" && c.TLSSelfSigned, "tls-self-signed: cannot be combined with tls-cert"},
		{!isHostPort(c.Listen), "listen: must be host:port, not " + c.Listen},
		{isHostPort(c.Listen) && !c.servesTLS() && !c.InsecureHTTP && !isLoopback(c.Listen),
			"listen: " + c.Listen + " is not a loopback address, and passwords would cross the network unencrypted; set tls-cert and " +
				"tls-key, or insecure-http if a proxy in front of regwarden serves TLS"},
		{c.MetricsListen != "" && !isHostPort(c.MetricsListen), "metrics-listen: must be host:port, not " + c.MetricsListen},
		{c.DebugListen != "" && (!isHostPort(c.DebugListen) || !isLoopback(c.DebugListen)),
			"debug-listen: must be host:port on loopback, not " + c.DebugListen + "; profiles show the content of memory"},
		{c.MaxConnectionsPerSource > c.MaxConnections, "max-connections-per-source: must be at most max-connections"},
		{c.SessionMax < c.SessionIdle, "session-max: must be at least session-idle"},
		{!slices.Contains([]string{isolateProcess, isolateThreads, isolateNothing}, c.LoginIsolation),
			"login-isolation: must be one of process, none"},
		{!isProxyConnect(c.EgressProxyConnect), "egress-proxy-connect: must be address or name"},
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
	_, err := c.egressPolicy(nil)
	if wrong, ok := errors.AsType[*egress.SettingsError](err); ok {
		for _, p := range wrong.Problems {
			problems = append(problems, fmt.Errorf("%s: %q %s", egressSettings[p.Field], p.Entry, p.Problem))
		}
	}
	_, ambientErr := ambient.Parse(c.AmbientCredentials)
	_, accountErr := ambient.ParseAWSAccounts(c.AWSAccount)
	_, err = c.trustedProxies()
	problems = append(problems, ambientErr, accountErr, err)
	_, err = proxyFunc(c.EgressProxy)
	return append(problems, err)
}

func (c *Config) servesTLS() bool { return c.TLSCert != "" || c.TLSSelfSigned }

// egressSettings are the settings for the fields of egress.Settings.
var egressSettings = map[string]string{"Profile": "egress-profile", "Allow": "egress-allow", "Deny": "egress-deny",
	"AllowOnly": "egress-allow-only"}

func (c *Config) egressPolicy(own func(netip.AddrPort) bool) (egress.Policy, error) {
	return egress.ParsePolicy(egress.Settings{
		Profile: c.EgressProfile, Allow: c.EgressAllow, Deny: c.EgressDeny, AllowOnly: c.EgressAllowOnly, Own: own,
	})
}

func (c *Config) trustedProxies() ([]netip.Prefix, error) {
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

func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// exists reports whether a file exists.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
