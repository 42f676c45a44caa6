package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
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
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/checks"
	"github.com/regwarden/regwarden/internal/contentsync"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/hashing"
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/server"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/sqldb"
	"github.com/regwarden/regwarden/internal/watch"
	"github.com/regwarden/regwarden/internal/wording"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// shutdownTimeout is how long requests under way may take to end; a validation takes 30 s by default.
const shutdownTimeout = 30 * time.Second

// envMasterKey may hold the master key itself, where no file can be kept.
const envMasterKey = envPrefix + "MASTER_KEY"

func newServe() *cobra.Command {
	settings := newSettings()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP interface",
		Long: `Serve the HTTP interface. The first start makes the data folder, the keys and one organization with an
administrator, whose password is shown once. Ctrl-C lets requests under way end, then stops.

Every setting is a flag, a key of the settings file, and an environment variable: --login-wait is REGWARDEN_LOGIN_WAIT.
A flag wins over the environment, and that over the file.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settings.load(os.Getenv); err != nil {
				return err
			}
			return serve(cmd.Context(), settings.Config, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	settings.addTo(cmd.Flags())
	return cmd
}

// serve wires the service from top to bottom and runs it until ctx ends. It prints what a person wants
// to see to out, and the log to logTo.
func serve(ctx context.Context, c Config, out, logTo io.Writer) error {
	log, err := c.logger(logTo)
	if err != nil {
		return err
	}
	warnUnknownVariables(log, os.Environ())
	limitMemory(log)
	unlock, err := lockFolder(c)
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
	authService, err := newAuth(ctx, db, c, hash, log)
	if err != nil {
		return err
	}
	people := directory.New(db, authService.Passwords(), time.Now)

	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	defer listener.Close() // the server closes it too; this is for the ways out before that
	metricsListener, err := listenAlso(c.MetricsListen, "metrics")
	if err != nil {
		return err
	}
	debugListener, err := listenAlso(c.DebugListen, "profiles")
	if err != nil {
		return err
	}
	if debugListener != nil && !isLoopback(debugListener.Addr().String()) { // "localhost" may be any address
		return fmt.Errorf("debug-listen: %s is %s here, which is no loopback address; name one, such as 127.0.0.1:6060", c.DebugListen, debugListener.Addr())
	}
	tlsConfig, caFile, err := c.tls()
	if err != nil {
		return err
	}
	checker, err := newChecker(c, listener, metricsListener, debugListener)
	if err != nil {
		return err
	}
	checker.Dialer = checks.NewConnLimiter()
	// Twice as many threads as processors: while hostile registries flood hundreds of checks, the operating system's scheduler
	// gives other requests a processor earlier than Go's run queue does; docs/benchmarks.md has the figures. The limiter above
	// counts processors, so it is made before this line.
	runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	proxies, err := c.trustedProxies()
	if err != nil {
		return err
	}
	stored := registries.New(db, registries.Limits{ContactsPerMinute: c.CheckPerMinute,
		OrgRegistries: int64(c.OrganizationRegistries), OrgBytes: int64(c.OrganizationStorage) << 20}, time.Now)
	validations := checks.New(db, stored, checker, checks.Limits{Concurrency: c.CheckConcurrency, PerOrg: c.CheckPerOrg, PerMinute: c.CheckPerMinute}, time.Now)
	scheduled := watch.New(db, stored, checker, time.Now)
	content := contentsync.New(db, stored, checker, time.Now)
	version := currentVersion().Version
	metrics := server.NewMetrics(version, map[string]server.Load{"validation": validations.Load, "login": authService.Passwords().Load})
	alerting, err := newAlerts(db, c, checker, metrics, log)
	if err != nil {
		return err
	}
	metrics.Watch(scheduled, c.WatchInterval, alerting)
	limited := server.NewListener(listener, server.ConnLimits{
		Connections: c.MaxConnections, PerSource: c.MaxConnectionsPerSource, Bytes: int64(c.RequestMemory) << 20, Proxies: proxies,
	})
	metrics.Connections(limited)
	s := &server.Server{
		Auth:           authService,
		Directory:      people,
		Registries:     stored,
		Checks:         validations,
		Watch:          scheduled,
		ContentSync:    content,
		Alerts:         alerting,
		Metrics:        metrics,
		Responses:      server.NewResponseBudget(int64(c.ResponseMemory) << 20),
		Ready:          db.Ready,
		Log:            log,
		TrustedProxies: proxies,
		TLS:            tlsConfig != nil,
		Hairpin:        checker.Header[server.HairpinHeader],
	}
	first, err := firstStart(ctx, people, c, isTerminal(out))
	if err != nil {
		return err
	}
	address := publicAddress(listener.Addr(), tlsConfig != nil)
	first.print(out, log, address, caFile)
	fmt.Fprintf(out, "regwarden %s serves on %s; press Ctrl-C to stop.\n", version, address)
	unasked := []func(context.Context){alerting.Deliver, alerting.WatchKeys}
	if c.WatchInterval > 0 {
		unasked = append(unasked, func(ctx context.Context) { scheduled.Run(ctx, c.watch(metrics, log)) })
	}
	unasked = append(unasked, func(ctx context.Context) { stored.Recount(ctx, log) }, func(ctx context.Context) {
		content.Run(ctx, contentsync.Config{Every: c.SyncInterval, Log: log})
	})
	defer background(ctx, authService, c.AuditRetention, log, unasked...)() // ends before the store closes
	defer serveAlso(metricsListener, "metrics", metrics.Handler(log), log)()
	if debugListener != nil {
		defer serveAlso(debugListener, "profiles", profiles(), log)()
	}
	log.Info("serving", "address", listener.Addr().String(), "tls", tlsConfig != nil, "version", version)
	return listen(ctx, s.HTTPServer(), limited, tlsConfig, log)
}

// memoryShare is the part of the cgroup's memory that the Go runtime may use. SQLite's page cache and the process that
// hashes passwords need the rest.
const memoryShare = 0.7

// limitMemory has the garbage collector work harder as the memory limit of the cgroup comes near, instead of being
// killed there. GOMEMLIMIT, when set, wins.
func limitMemory(log *slog.Logger) {
	if limit, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil { // no cgroup, or not Linux
		log.Debug("memory limit not set", "error", err)
	} else if limit < math.MaxInt64 {
		log.Debug("memory limit set", "bytes", limit)
	}
}

// listen serves until ctx ends, then lets requests under way end.
func listen(ctx context.Context, server *http.Server, listener net.Listener, tlsConfig *tls.Config, log *slog.Logger) error {
	if tlsConfig != nil {
		listener = tls.NewListener(listener, tlsConfig)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping; requests under way may end", "within", shutdownTimeout.String())
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(bound); err != nil {
		_ = server.Close() // cut what did not end; its context ends with it
		log.Warn("some requests did not end in time and were cut", "error", err)
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

// lockFolder makes this the only server on a database file; one in PostgreSQL is for many.
func lockFolder(c Config) (unlock func() error, err error) {
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
	options, err := storeOptions(c)
	if err != nil {
		return nil, err
	}
	if warning := sqldb.Warning(c.DatabaseURL); warning != "" {
		log.Warn(warning)
	}
	return store.Open(ctx, options)
}

func storeOptions(c Config) (store.Options, error) {
	options := store.Options{DatabaseURL: c.DatabaseURL, DataDir: c.DataDir, MasterKeyFile: c.MasterKeyFile}
	if text := os.Getenv(envMasterKey); text != "" {
		key, err := seal.ParseMasterKey(secret.String(text))
		if err != nil {
			return options, fmt.Errorf("%s: %w", envMasterKey, err)
		}
		options.MasterKey = key
	}
	return options, nil
}

func newAuth(ctx context.Context, db *store.DB, c Config, hash func(hashing.Input) ([]byte, error), log *slog.Logger) (*auth.Service, error) {
	return auth.New(ctx, db, auth.Config{
		TokenLifetime: c.TokenLifetime, RefreshGrace: c.RefreshGrace, SessionIdle: c.SessionIdle, SessionMax: c.SessionMax,
		RefreshAcceptsAuthorization: c.RefreshAcceptsAuthorization, DefaultOrg: c.DefaultOrg,
		LoginWorkers: c.LoginWorkers, LoginQueue: c.LoginQueue, LoginWait: c.LoginWait,
		LoginFreeFailures: c.LoginFreeFailures, LoginMaxWait: c.LoginMaxWait,
		ComputeHash: hash, Log: log,
	})
}

// newChecker makes the engine. It refuses to check what listens here, at this machine's own addresses: us and our database.
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
		Header: map[string]string{server.HairpinHeader: rand.Text()}, Words: wording.Engine()}
	checker.Limits.Total = c.CheckTimeout
	checker.Proxy, err = proxyFunc(c.EgressProxy)
	return checker, err
}

// publicAddress is the listener's address as a client writes it.
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

// tls returns the configuration to serve TLS with, nil for plain HTTP, and the file of a self-made
// certificate, for clients to trust.
func (c *Config) tls() (*tls.Config, string, error) {
	certFile, keyFile, caFile := c.TLSCert, c.TLSKey, ""
	if c.TLSSelfSigned {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil { // with PostgreSQL there may be none yet
			return nil, "", fmt.Errorf("make the data folder: %w", err)
		}
		var err error
		if certFile, keyFile, err = selfSigned(c.DataDir, c.Listen, time.Now()); err != nil {
			return nil, "", fmt.Errorf("make a certificate: %w", err)
		}
		caFile = certFile
	}
	if certFile == "" {
		return nil, "", nil
	}
	pair, err := loadKeyPair(certFile, keyFile)
	if err != nil {
		return nil, "", errors.Join(errors.New("tls-cert, tls-key: not usable as a pair"), err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"},
	}, caFile, nil
}

// loadKeyPair is tls.LoadX509KeyPair with a check of the key file's mode.
func loadKeyPair(certFile, keyFile string) (tls.Certificate, error) {
	chain, err := os.ReadFile(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := seal.ReadSecretFile(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(chain, []byte(key.Reveal()))
}
