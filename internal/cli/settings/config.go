// Package settings has the settings of the service: their flags, defaults and rules, and what they describe, such as the store, the mail
// server and the proxy.
package settings

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/clusterread"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/helptext"
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
	// EgressProxyConnect is read by ParseProxyConnect.
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

// New returns all settings with their defaults, in the order of helptext.Sections.
func New() *Settings {
	s := &Settings{Flags: pflag.NewFlagSet("settings", pflag.ContinueOnError), source: map[string]string{}}
	s.addStore(s.Flags)
	s.addListeners(s.Flags)
	s.addConnections(s.Flags)
	s.addSessions(s.Flags)
	s.addLogins(s.Flags)
	s.addChecks(s.Flags)
	s.addRegistries(s.Flags)
	s.Cluster.AddTo(s.Flags)
	s.addEgress(s.Flags)
	s.addMail(s.Flags)
	s.addLogs(s.Flags)
	helptext.NoteSections(s.Flags)
	return s
}

func (c *Config) addStore(f *pflag.FlagSet) {
	f.StringVar(&c.File, "config", "", "settings file (YAML); its keys are the names of these flags (default: none)")
	f.StringVar(&c.DataDir, "data-dir", "regwarden-data", "directory of the database and keys")
	f.StringVar((*string)(&c.DatabaseURL), "database-url", "",
		"PostgreSQL database to store everything in, as postgres://user@host/database?sslmode=verify-full; give a password in it by "+
			"the environment or the settings file only (default: SQLite in the data directory)")
	f.StringVar(&c.DatabaseURLFile, "database-url-file", "", "file that holds the database-url (default: none)")
	f.BoolVar(&c.AllowNewer, "allow-newer-database", false,
		"use a database that a newer version migrated, to go back to this version without restoring a backup")
	f.StringVar(&c.MasterKeyFile, "master-key-file", "", "file of the master key (default: master.key in the data directory)")
	f.StringVar(&c.MasterKeyCommand, "master-key-command", "",
		"command that prints the master key, started without a shell, such as vault kv get -field=key secret/regwarden (default: none)")
	flagvalue.Duration(f, &c.AuditRetention, "audit-retention", 365*flagvalue.Day, flagvalue.Day, flagvalue.Longest, "forever",
		"how long audit records are retained; 0s means forever")
	f.BoolVar(&c.AuditRefreshes, "audit-refreshes", true, "write an audit record for each hour in which a session was refreshed; "+
		"refused and repeated refreshes have records in any case")
}

func (c *Config) addListeners(f *pflag.FlagSet) {
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 is a free port, which the output names")
	f.StringVar(&c.TLSCert, "tls-cert", "", "certificate file (PEM), chain included (default: none, and plain HTTP)")
	f.StringVar(&c.TLSKey, "tls-key", "", "file of the private key, as PEM (default: none)")
	f.BoolVar(&c.TLSSelfSigned, "tls-self-signed", false, "serve TLS with a generated certificate, for trials")
	f.BoolVar(&c.InsecureHTTP, "insecure-http", false, "allow plain HTTP on addresses other than loopback")
	f.BoolVar(&c.Console, "console", true, "serve pages for browsers at /console/")
	f.StringVar(&c.MetricsListen, "metrics-listen", "", "address to serve /metrics on, for Prometheus (default: off)")
	flagvalue.Number(f, &c.MetricsRegistries, "metrics-registries", 5000, 0, 1_000_000,
		"stored registries up to which each has metrics of its own; 0: none has")
	f.StringVar(&c.DebugListen, "debug-listen", "", "loopback address to serve Go's profiles on, under /debug/pprof/ (default: off)")
	f.StringSliceVar(&c.TrustedProxies, "trusted-proxies", nil, "addresses or networks whose X-Forwarded-For is trusted (default: none)")
	f.StringVar(&c.PublicURL, "public-url", "", "URL at which people reach this service, for links in emails (default: none, and "+
		"addresses outside of alert-mail-domains are refused)")
}

func (c *Config) addConnections(f *pflag.FlagSet) {
	flagvalue.Number(f, &c.MaxConnections, "max-connections", 4096, 16, 1_000_000, "open client connections, in all")
	flagvalue.Number(f, &c.MaxConnectionsPerSource, "max-connections-per-source", 1024, 8, 1_000_000,
		"open connections of one client address (IPv6: of a /64); trusted-proxies are exempt")
	flagvalue.Number(f, &c.RequestMemory, "request-memory", 32, 8, 1<<20,
		"MiB of requests received whose responses are not sent yet; one client address may use a quarter")
	flagvalue.Number(f, &c.ResponseMemory, "response-memory", 64, 8, 1<<20,
		"MiB of lists and other large responses that clients are still receiving; one organization may use a quarter, one user an eighth")
}

func (c *Config) addSessions(f *pflag.FlagSet) {
	f.StringVar(&c.DefaultOrg, "default-org", "", "organization of a login that names none (default: none, and each login must name one)")
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
}

func (c *Config) addLogins(f *pflag.FlagSet) {
	flagvalue.Number(f, &c.LoginWorkers, "login-workers", 0, 0, 1024, "concurrent password hashes (default: number of CPUs)")
	flagvalue.Number(f, &c.LoginQueue, "login-queue", 64, 1, 100_000, "logins that may wait for a hash")
	flagvalue.Duration(f, &c.LoginWait, "login-wait", 2*time.Second, 10*time.Millisecond, time.Minute, "",
		"how long a login may wait for a hash")
	flagvalue.Number(f, &c.LoginFreeFailures, "login-free-failures", 5, 1, 100,
		"wrong passwords of one address for one account before it must wait")
	flagvalue.Duration(f, &c.LoginMaxWait, "login-max-wait", 15*time.Minute, time.Second, flagvalue.Day, "",
		"maximum wait after wrong passwords")
	f.StringVar(&c.LoginIsolation, "login-isolation", IsolateProcess,
		"where passwords are hashed: process (a child process of low priority, so that other requests stay fast) or none (in the "+
			"server itself)")
}

func (c *Config) addChecks(f *pflag.FlagSet) {
	flagvalue.Number(f, &c.CheckConcurrency, "check-concurrency", 64, 1, 10_000, "concurrent validations")
	flagvalue.Number(f, &c.CheckPerOrg, "check-per-org", 8, 1, 10_000, "concurrent validations of one organization")
	flagvalue.Number(f, &c.CheckPerMinute, "check-per-minute", 120, 1, 10_000_000,
		"validations of a user per minute, and as many checks and new webhooks that its changes cause")
	flagvalue.Duration(f, &c.CheckTimeout, "check-timeout", 30*time.Second, time.Second, time.Minute, "",
		"maximum duration of one validation, at most 60s")
	f.StringSliceVar(&c.AWSAccount, "aws-account", nil, "AWS account of this server, [PARTITION:]ID, which the trust of roles needs "+
		"(default: none)")
}

func (c *Config) addRegistries(f *pflag.FlagSet) {
	flagvalue.Number(f, &c.OrganizationRegistries, "organization-registries", 10_000, 1, 10_000_000,
		"registries that one organization may store")
	flagvalue.Number(f, &c.OrganizationStorage, "organization-storage", 64, 1, 1<<20, "MiB of registries that one organization may store")
	flagvalue.Duration(f, &c.WatchInterval, "watch-interval", 15*time.Minute, time.Second, flagvalue.Week, "never",
		"how often each stored registry is checked; 0s means never")
	flagvalue.Number(f, &c.WatchConcurrency, "watch-concurrency", 16, 1, 1000,
		"concurrent checks of stored registries, in addition to the validations that users request; up to seven times as many may "+
			"wait for slow registries")
	flagvalue.Duration(f, &c.SyncInterval, "sync-interval", flagvalue.Day, time.Second, 30*flagvalue.Day, "only when asked",
		"how often the content of each stored registry is listed; 0s means only on request")
}

func (c *Config) addEgress(f *pflag.FlagSet) {
	f.StringVar(&c.EgressProfile, "egress-profile", "private",
		"addresses that registries may have: private (all but this machine's own and metadata services) or public (no private "+
			"networks either)")
	f.StringSliceVar(&c.EgressAllow, "egress-allow", nil, "address or network, with an optional port, to allow in addition (default: none)")
	f.StringSliceVar(&c.EgressDeny, "egress-deny", nil, "address or network, with an optional port, to deny (default: none)")
	f.StringSliceVar(&c.EgressAllowOnly, "egress-allow-only", nil,
		"the only addresses or networks to allow (default: all that the others allow)")
	f.StringSliceVar(&c.AmbientCredentials, "ambient-credentials", nil,
		"CLOUD:ORGANIZATION, who may use this server's identity at aws, gcp or azure, by the organization's uid (default: none)")
	f.StringVar(&c.EgressProxy, "egress-proxy", "", ProxyUsage+" (default: none)")
	f.StringVar(&c.EgressProxyConnect, "egress-proxy-connect", "",
		"what the proxy connects to: address (resolved and checked here) or name (default: address for https, name for http)")
	f.StringVar(&c.EgressDNS, "egress-dns", "", "DNS server (address:port) for the names of registries, token services and webhooks "+
		"(default: the system's)")
}

func (c *Config) addMail(f *pflag.FlagSet) {
	f.StringVar(&c.SMTPHost, "smtp-host", "", "mail server for alerts (default: none, and no alert channel of type email)")
	flagvalue.Number(f, &c.SMTPPort, "smtp-port", 0, 0, 65535,
		"port of the mail server (default: 587 for starttls, 465 for tls, 25 for none)")
	f.StringVar(&c.SMTPUsername, "smtp-username", "", "username at the mail server (default: none, and no login)")
	f.StringVar(&c.SMTPPasswordFile, "smtp-password-file", "", "file of the password for the mail server (default: none)")
	f.StringVar(&c.SMTPFrom, "smtp-from", "", "sender address of alerts (default: none; smtp-host requires one)")
	f.StringVar(&c.SMTPTLS, "smtp-tls", "starttls", "encryption of the connection to the mail server: starttls, tls or none")
	f.StringSliceVar(&c.AlertMailDomains, "alert-mail-domains", nil,
		"domains of email addresses that get alerts without confirming a link first (default: none)")
	flagvalue.Number(f, &c.AlertMailsPerHour, "alert-mails-per-hour", 200, 1, 100_000, "email messages of one organization per hour")
}

func (c *Config) addLogs(f *pflag.FlagSet) {
	f.StringVar(&c.LogFormat, "log-format", "text", "format of log lines: text or json")
	f.StringVar(&c.LogLevel, "log-level", "info", "lowest level that is logged: debug, info, warn or error")
}

// Values of --login-isolation. IsolateThreads is the former name of IsolateProcess.
const (
	IsolateProcess = "process"
	IsolateThreads = "threads"
	IsolateNothing = "none"
)
