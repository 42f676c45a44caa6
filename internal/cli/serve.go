package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/clock"
	"github.com/regwarden/regwarden/internal/service/ambient"
	"github.com/regwarden/regwarden/internal/service/auditchain"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/bulk"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/clockmonitor"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/expiries"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/service/hashing"
	"github.com/regwarden/regwarden/internal/service/mutes"
	"github.com/regwarden/regwarden/internal/service/outbound"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/service/tenants"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/telemetry"
	"github.com/regwarden/regwarden/internal/web/auxiliary"
	"github.com/regwarden/regwarden/internal/web/budget"
	"github.com/regwarden/regwarden/internal/web/bulkhandlers"
	"github.com/regwarden/regwarden/internal/web/console"
	"github.com/regwarden/regwarden/internal/web/expiryhandlers"
	"github.com/regwarden/regwarden/internal/web/metrics"
	"github.com/regwarden/regwarden/internal/web/mutehandlers"
	"github.com/regwarden/regwarden/internal/web/probe"
	"github.com/regwarden/regwarden/internal/web/server"
	"github.com/regwarden/regwarden/internal/web/servercert"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// shutdownTimeout is how long running requests may take to end; a validation takes up to 30 s by default.
const shutdownTimeout = 30 * time.Second

// envMasterKey may contain the master key itself, if it cannot be in a file.
const envMasterKey = command.EnvPrefix + "MASTER_KEY"

func newServe() *cobra.Command {
	settings := newSettings()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP interface",
		Args:  command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settings.load(os.Getenv); err != nil {
				return err
			}
			return serve(cmd.Context(), settings, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	settings.addTo(cmd.Flags())
	return cmd
}

// serve creates the parts of the service and runs it until ctx ends. It prints messages for people to out, and the log to logTo.
func serve(ctx context.Context, settings *settings, out, logTo io.Writer) error {
	c := settings.Config
	log, err := c.logger(logTo)
	if err != nil {
		return err
	}
	warnUnknownVariables(log, os.Environ())
	tracing, err := telemetry.Start(ctx, currentVersion().Version, log)
	if err != nil {
		return err
	}
	defer tracing.Stop()
	log = tracing.Logger(log)
	limitMemory(log)
	unlock, err := lockDataDir(c)
	if err != nil {
		return err
	}
	defer unlock()
	db, err := openStore(ctx, c, log)
	if err != nil {
		return err
	}
	defer db.Close()
	hash, endHashing, err := newHashing(c, log)
	if err != nil {
		return err
	}
	defer endHashing()
	clocks := &clockmonitor.Monitor{DB: db, Clock: clock.New(0), Log: log}
	authService, err := newAuth(ctx, db, c, hash, clocks.Clock.Now, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("%w; choose another address with --listen", err)
	}
	defer listener.Close() // the server closes it too; this is for earlier returns
	metricsListener, err := auxiliary.Listen(c.MetricsListen, "metrics")
	if err != nil {
		return err
	}
	debugListener, err := auxiliary.Listen(c.DebugListen, "profiles")
	if err != nil {
		return err
	}
	if debugListener != nil && !isLoopback(debugListener.Addr().String()) { // "localhost" may be any address
		return fmt.Errorf("debug-listen: must be a loopback address such as 127.0.0.1:6060, but %s is %s here", c.DebugListen,
			debugListener.Addr())
	}
	certificate, err := servercert.Load(servercert.Settings{CertFile: c.TLSCert, KeyFile: c.TLSKey, SelfSigned: c.TLSSelfSigned,
		DataDir: c.DataDir, Listen: c.Listen}, log, time.Now)
	if err != nil {
		return err
	}
	tlsConfig := certificate.Config()
	checker, err := newChecker(c, listener, metricsListener, debugListener)
	if err != nil {
		return err
	}
	checker.Dialer = checks.NewConnLimiter()
	// Twice as many threads as processors: while hostile registries flood hundreds of checks, the scheduler of the operating system
	// gives other requests a processor earlier than Go's run queue does; docs/benchmarks.md has the figures. The limiter above
	// counts processors, so it must be created before this line.
	runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	proxies, err := c.trustedProxies()
	if err != nil {
		return err
	}
	address := publicAddress(listener.Addr(), tlsConfig != nil)
	s, err := newServer(db, authService, checker, c, log)
	if err != nil {
		return err
	}
	s.Traced, s.Checks.Traced, s.Watch.Traced = tracing.Request, tracing.Check, tracing.Check
	s.SSO = federation.NewSSO(s.Federation, cmp.Or(c.PublicURL, address), c.SSORecheck)
	s.Devices = federation.NewDevices(s.Federation, cmp.Or(c.PublicURL, address))
	s.Invitations = newInvitations(s, c.invitationLinks(address))
	authService.AskProvider(s.SSO.Recheck)
	files, err := newFileReader(log)
	if err != nil {
		return err
	}
	defer files.Close()
	s.Checks.ReadFile = files.Read
	counted := s.Metrics
	counted.Watch(s.Watch, c.WatchInterval, s.Alerts.Deliverer)
	limited := server.NewListener(listener, server.ConnLimits{
		Connections: c.MaxConnections, PerSource: c.MaxConnectionsPerSource, Bytes: int64(c.RequestMemory) << 20, Proxies: proxies,
	})
	counted.Connections(limited.Load)
	linker := auditchain.NewLinker(db, log, time.Now)
	counted.AuditChain(linker.Lag)
	counted.Clock(clocks.Behind)
	if c.MetricsRegistries > 0 {
		counted.Registries(s.Watch, c.MetricsRegistries)
	}
	s.TrustedProxies, s.TLS = proxies, tlsConfig != nil
	s.Requests = budget.NewRequests(int64(c.RequestMemory) << 20)
	if s.Console, err = settings.pages(s); err != nil {
		return err
	}
	first, err := firstStart(ctx, s.Directory, c, command.IsTerminal(out))
	if err != nil {
		return err
	}
	reading, err := c.Cluster.Open(ctx, db, s.Registries, c.WatchInterval, log)
	if err != nil {
		return err
	}
	first.print(out, log, address, certificate.TrustFile(), c.Console)
	printURL(out, "Metrics", metricsListener, "/metrics")
	printURL(out, "Profiles", debugListener, auxiliary.PathProfiles)
	fmt.Fprintf(out, "regwarden %s serves on %s; press Ctrl-C to stop.\n", currentVersion().Version, address)
	backgroundTasks := []func(context.Context){clocks.Run, s.Alerts.Deliverer.Deliver, s.Alerts.KeyWatcher.WatchKeys,
		s.Alerts.OrgReminder.Run, linker.Run}
	if c.WatchInterval > 0 {
		clocks.AfterStop = func(ctx context.Context) error { return c.spreadChecks(ctx, s.Watch, log) }
		backgroundTasks = append(backgroundTasks, func(ctx context.Context) { s.Watch.Run(ctx, c.watch(counted, log)) })
	}
	backgroundTasks = append(backgroundTasks, reading...)
	if certificate != nil {
		backgroundTasks = append(backgroundTasks, certificate.Watch)
	}
	backgroundTasks = append(backgroundTasks, func(ctx context.Context) { s.Registries.Recount(ctx, log) }, func(ctx context.Context) {
		s.ContentSync.Run(ctx, contentsync.Config{Every: c.SyncInterval, Log: log})
	})
	defer background(ctx, authService, c.AuditRetention, log, backgroundTasks...)() // ends before the store closes
	defer auxiliary.Serve(metricsListener, "metrics", probe.Handler(counted.Handler(log), s.Watch.Probe, c.WatchInterval, log), log)()
	if debugListener != nil {
		defer auxiliary.Serve(debugListener, "profiles", auxiliary.Profiles(), log)()
	}
	log.Info("serving", "address", listener.Addr().String(), "tls", tlsConfig != nil, "version", currentVersion().Version)
	httpServer := s.HTTPServer()
	httpServer.Handler = tracing.Requests(httpServer.Handler)
	if tlsConfig != nil {
		return listen(ctx, httpServer, limited.WithTLS(tlsConfig), log)
	}
	return listen(ctx, httpServer, limited, log)
}

// newServer connects the parts of the service on an open store.
func newServer(db *store.DB, authService *auth.Service, checker *regcheck.Checker, c Config, log *slog.Logger) (*server.Server, error) {
	stored := registries.New(db, registries.Limits{ContactsPerMinute: c.CheckPerMinute,
		OrgRegistries: int64(c.OrganizationRegistries), OrgBytes: int64(c.OrganizationStorage) << 20}, time.Now)
	validations := checks.New(db, stored, checker, checks.Limits{Concurrency: c.CheckConcurrency, PerOrg: c.CheckPerOrg,
		PerMinute: c.CheckPerMinute}, time.Now)
	watched := watch.New(db, stored, checker, time.Now)
	counted := metrics.New(currentVersion().Version, map[string]metrics.Load{
		"validation": validations.Load, "scan": validations.ScanLoad, "login": authService.Passwords.Load})
	alerting, err := newAlerts(db, c, checker, counted, log)
	issuers := outbound.Dialer{Egress: checker.Egress, Resolver: checker.Resolver, Proxy: checker.Proxy, ProxyConnect: checker.ProxyConnect}
	s := &server.Server{
		Auth:      authService,
		Directory: directory.New(db, authService.Passwords, time.Now),
		Federation: federation.New(db, authService.Logins, federation.Config{Dialer: issuers, DefaultOrg: c.DefaultOrg, Log: log,
			Now: time.Now}),
		Registries:  stored,
		Checks:      validations,
		Watch:       watched,
		ContentSync: contentsync.New(db, stored, checker, time.Now),
		Alerts:      alerting,
		Roles:       roles.New(db, time.Now),
		Settings:    tenants.New(db, time.Now),
		Factors:     secondfactor.New(db, authService.Logins, time.Now),
		Mutes:       mutehandlers.Handlers{Mutes: mutes.New(db, time.Now)},
		Expiry: expiryhandlers.Handlers{Service: expiries.Service{Registries: stored, Keys: authService.APIKeys, DB: db,
			Now: time.Now, Authenticator: authService.Authenticator, Limiter: expiries.NewLimiter()}},
		Bulk:        bulkhandlers.Handlers{Service: bulk.New(stored, watched)},
		Metrics:     counted,
		Responses:   budget.NewResponses(int64(c.ResponseMemory) << 20),
		ScanBytes:   min(8<<20, int64(c.RequestMemory)<<20/8), // half of what one client address may use
		Ready:       db.Ready,
		Version:     currentVersion().Version,
		AWSAccounts: ambient.Accounts(c.AWSAccount),
		Log:         log,
		Hairpin:     checker.Header[server.HairpinHeader],
	}
	allowed, ambientErr := ambient.Parse(c.AmbientCredentials)
	s.Checks.Ambient, s.Watch.Ambient, s.ContentSync.Ambient = allowed, allowed, allowed
	return s, errors.Join(err, ambientErr)
}

// pages returns the console, nil if it is off.
func (c *settings) pages(s *server.Server) (server.Pages, error) {
	if !c.Console {
		return nil, nil
	}
	return console.New(console.Config{Auth: s.Auth, SSO: s.SSO, Devices: s.Devices, Factors: s.Factors, Directory: s.Directory,
		Roles:      s.Roles,
		Registries: s.Registries,
		Checks:     s.Checks, Watch: s.Watch, ContentSync: s.ContentSync, Alerts: s.Alerts, Mutes: s.Mutes.Mutes,
		Invitations: s.Invitations,
		Tenants:     s.Settings, Bulk: s.Bulk.Service,
		Expiry:    s.Expiry.Service,
		PublicURL: c.PublicURL,
		ScanBytes: s.ScanBytes,
		Secure:    s.TLS || strings.HasPrefix(c.PublicURL, "https:"), CountLogin: s.Metrics.Login, CountValidation: s.Metrics.Validation,
		Reserve: s.Responses.Reserve, Requests: s.Requests, Settings: c.forConsole(), Now: time.Now})
}

// memoryShare is the part of the cgroup's memory that the Go runtime may use. SQLite's page cache and the process that
// hashes passwords need the rest.
const memoryShare = 0.7

// limitMemory sets the memory limit of the Go runtime from that of the cgroup, so that the garbage collector runs more often instead of
// the process being killed. GOMEMLIMIT takes precedence.
func limitMemory(log *slog.Logger) {
	if limit, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil { // no cgroup, or not Linux
		log.Debug("memory limit not set", "error", err)
	} else if limit < math.MaxInt64 {
		log.Debug("memory limit set", "bytes", limit)
	}
}

// listen serves until ctx ends, then waits for running requests.
func listen(ctx context.Context, server *http.Server, listener net.Listener, log *slog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping", "timeout", shutdownTimeout.String())
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(bound); err != nil {
		_ = server.Close() // aborts the remaining requests and ends their contexts
		log.Warn("requests aborted", "error", err)
	}
	log.Info("stopped")
	return nil
}

func (c *Config) logger(to io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options)), nil
	}
	return slog.New(slog.NewTextHandler(to, options)), nil
}

// lockDataDir makes this the only server on a SQLite database. Several servers may use a PostgreSQL database.
func lockDataDir(c Config) (unlock func() error, err error) {
	if c.DatabaseURL != "" {
		return func() error { return nil }, nil
	}
	lock, err := sqldb.LockServer(c.DataDir)
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

func openStore(ctx context.Context, c Config, log *slog.Logger) (*store.DB, error) {
	options, err := storeOptions(ctx, c)
	if err != nil {
		return nil, err
	}
	if warning := sqldb.Warning(c.DatabaseURL); warning != "" {
		log.Warn(warning)
	}
	db, err := store.Open(ctx, options)
	return db, noMasterKey(err)
}

func storeOptions(ctx context.Context, c Config) (options store.Options, err error) {
	options = store.Options{DatabaseURL: c.DatabaseURL, DataDir: c.DataDir, MasterKeyFile: c.MasterKeyFile, AllowNewer: c.AllowNewer}
	if c.MasterKeyCommand != "" {
		options.MasterKey, err = keyByCommand(ctx, "master-key-command", c.MasterKeyCommand)
		return options, err
	}
	if text := os.Getenv(envMasterKey); text != "" {
		key, err := seal.ParseMasterKey(secret.String(text))
		if err != nil {
			return options, fmt.Errorf("%s: %w", envMasterKey, err)
		}
		options.MasterKey = key
	}
	return options, nil
}

func newAuth(ctx context.Context, db *store.DB, c Config, hash func(hashing.Input) ([]byte, error),
	now func() time.Time, log *slog.Logger) (*auth.Service, error) {
	return auth.New(ctx, db, auth.Config{
		TokenLifetime: c.TokenLifetime, RefreshGrace: c.RefreshGrace, SessionIdle: c.SessionIdle, SessionMax: c.SessionMax,
		RefreshAcceptsAuthorization: c.RefreshAcceptsAuthorization, OmitRefreshRecords: !c.AuditRefreshes, DefaultOrg: c.DefaultOrg,
		LoginWorkers: c.LoginWorkers, LoginQueue: c.LoginQueue, LoginWait: c.LoginWait,
		LoginFreeFailures: c.LoginFreeFailures, LoginMaxWait: c.LoginMaxWait,
		ComputeHash: hash, Log: log, Now: now, WaitNow: clock.New(clockmonitor.WaitHold).Now,
	})
}

// newChecker returns the engine. It refuses endpoints that are the service itself or its database on this machine.
func newChecker(c Config, listeners ...net.Listener) (*regcheck.Checker, error) {
	ports := sqldb.Ports(c.DatabaseURL)
	for _, l := range listeners {
		if l == nil {
			continue
		}
		if address, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
			ports = append(ports, address.Port())
		}
	}
	policy, err := c.egressPolicy(egress.OwnPorts(ports...))
	if err != nil {
		return nil, err
	}
	checker := &regcheck.Checker{Resolver: c.resolver(), Egress: policy, ProxyConnect: proxyConnects[c.EgressProxyConnect],
		Header: map[string]string{server.HairpinHeader: rand.Text()}, Audience: wording.Engine(), Obtained: new(regcheck.CredentialCache)}
	checker.Limits.Total = c.CheckTimeout
	checker.Proxy, err = proxyFunc(c.EgressProxy)
	return checker, err
}

// printURL prints where metrics or profiles are served, if they are: with port 0 only the listener knows.
func printURL(out io.Writer, what string, listener net.Listener, path string) {
	if listener != nil {
		fmt.Fprintf(out, "%s: %s%s\n", what, publicAddress(listener.Addr(), false), path)
	}
}

// publicAddress returns the URL of a listener for clients.
func publicAddress(addr net.Addr, tls bool) string {
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return scheme + addr.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + net.JoinHostPort(host, port)
}

// maxDNSResponse is the maximum size of a DNS response over TCP, which could have 64 KiB. Go opens a socket for each address in it to sort
// them (RFC 6724), and the owner of a domain chooses their number.
const maxDNSResponse = 4 << 10

var errLongDNSResponse = errors.New("the DNS response is longer than 4 KiB")

// resolver returns a resolver that uses the DNS server of the settings, or those of the system.
func (c *Config) resolver() egress.Resolver {
	return &net.Resolver{PreferGo: c.EgressDNS != "", Dial: func(ctx context.Context, network, system string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, cmp.Or(c.EgressDNS, system))
		if err != nil || !strings.HasPrefix(network, "tcp") {
			return conn, err
		}
		return &dnsConn{conn, maxDNSResponse}, nil
	}}
}

// dnsConn is the connection of one query.
type dnsConn struct {
	net.Conn
	left int
}

func (c *dnsConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errLongDNSResponse
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
