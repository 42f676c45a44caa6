// Package serve creates the parts of the service as the settings say, connects them, and runs them; no other package knows all of them.
// Commands on a local store have the same parts without listeners.
package serve

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/clock"
	"github.com/regwarden/regwarden/internal/service/auditchain"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/clockmonitor"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/service/sweep"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/telemetry"
	"github.com/regwarden/regwarden/internal/web/auxiliary"
	"github.com/regwarden/regwarden/internal/web/budget"
	"github.com/regwarden/regwarden/internal/web/probe"
	"github.com/regwarden/regwarden/internal/web/server"
)

// shutdownTimeout is how long running requests may take to end; a validation takes up to 30 s by default.
const shutdownTimeout = 30 * time.Second

// New returns the command. version is that of the program.
func New(version string) *cobra.Command {
	s := settings.New()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP interface",
		Args:  command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.Load(os.Getenv); err != nil {
				return err
			}
			return (&process{settings: s, version: version, out: cmd.OutOrStdout()}).run(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	s.AddTo(cmd.Flags())
	return cmd
}

// process is the service while it runs. Each of its steps needs those before it.
type process struct {
	settings *settings.Settings
	version  string
	out      io.Writer // messages for people
	ends     []func()  // of what the steps began, in their order

	log       *slog.Logger
	tracing   *telemetry.Tracing
	db        *store.DB
	clocks    *clockmonitor.Monitor
	waits     *clock.Clock // of waits after failed logins
	auth      *auth.Service
	listeners listeners
	server    *server.Server
	linker    *auditchain.Linker
	reading   []func(context.Context) // of a Kubernetes cluster
}

// run does all steps and serves until ctx ends. It writes the log to logTo.
func (p *process) run(ctx context.Context, logTo io.Writer) error {
	defer func() {
		for _, end := range slices.Backward(p.ends) {
			end()
		}
	}()
	var err error
	if p.log, err = newLogger(&p.settings.Config, logTo); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{p.trace, p.openStore, p.listen, p.connect, p.addPages, p.start, p.serve} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// atEnd calls end when the process ends, before what was begun earlier ends.
func (p *process) atEnd(end func()) { p.ends = append(p.ends, end) }

// trace starts traces, if the environment asks for them.
func (p *process) trace(ctx context.Context) (err error) {
	warnUnknownVariables(p.log, os.Environ())
	if p.tracing, err = telemetry.Start(ctx, p.version, p.log); err != nil {
		return err
	}
	p.atEnd(p.tracing.Stop)
	p.log = p.tracing.Logger(p.log)
	limitMemory(p.log)
	return nil
}

// openStore opens the store, and what decides about logins to it.
func (p *process) openStore(ctx context.Context) error {
	c := &p.settings.Config
	if err := p.lockDataDir(c); err != nil {
		return err
	}
	if warning := sqldb.Warning(c.DatabaseURL); warning != "" {
		p.log.Warn(warning)
	}
	var err error
	if p.db, err = c.OpenStore(ctx); err != nil {
		return err
	}
	p.atEnd(func() { _ = p.db.Close() }) // every change is committed
	hash, endHashing, err := newHashing(c, p.log)
	if err != nil {
		return err
	}
	p.atEnd(endHashing)
	p.clocks = &clockmonitor.Monitor{DB: p.db, Clock: clock.New(0), Log: p.log}
	p.waits = clock.New(clockmonitor.WaitHold)
	p.auth, err = NewAuth(ctx, p.db, c, hash, p.clocks.Clock.Now, p.waits.Now, p.log)
	return err
}

// lockDataDir makes this the only server on a SQLite database. Several servers may use a PostgreSQL database.
func (p *process) lockDataDir(c *settings.Config) error {
	if c.DatabaseURL != "" {
		return nil
	}
	lock, err := sqldb.LockServer(c.DataDir)
	if err == nil {
		p.atEnd(func() { _ = lock.Release() })
	}
	return err
}

// connect creates the parts of the service.
func (p *process) connect(context.Context) error {
	c, at := &p.settings.Config, p.listeners
	checker, err := NewChecker(c, at.main, at.metrics, at.debug)
	if err != nil {
		return err
	}
	checker.Dialer = checks.NewConnLimiter()
	// Twice as many threads as processors: while hostile registries flood hundreds of checks, the scheduler of the operating system
	// gives other requests a processor earlier than Go's run queue does; docs/benchmarks.md has the figures. The limiter above
	// counts processors, so it must be created before this line.
	runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	s, err := newServer(p.db, p.auth, checker, c, p.version, p.log)
	if err != nil {
		return err
	}
	p.server = s
	s.Traced, s.Checks.Traced, s.Watch.Traced = p.tracing.Request, p.tracing.Check, p.tracing.Check
	public := cmp.Or(c.PublicURL, at.address)
	s.SSO, s.Devices = federation.NewSSO(s.Federation, public, c.SSORecheck), federation.NewDevices(s.Federation, public)
	s.Invitations = newInvitations(s, invitationLinks(c, at.address))
	p.auth.AskProvider(s.SSO.Recheck)
	files, err := newFileReader(p.log)
	if err != nil {
		return err
	}
	p.atEnd(files.Close)
	s.Checks.ReadFile = files.Read
	p.linker = auditchain.NewLinker(p.db, p.log, time.Now)
	p.count()
	s.TrustedProxies, err = c.Proxies()
	s.TLS = at.certificate != nil
	s.Requests = budget.NewRequests(int64(c.RequestMemory) << 20)
	return err
}

// count adds what the metrics of a running service have.
func (p *process) count() {
	counted, c := p.server.Metrics, &p.settings.Config
	counted.Watch(p.server.Watch, c.WatchInterval, p.server.Alerts.Deliverer)
	counted.Connections(p.listeners.limited.Load)
	counted.AuditChain(p.linker.Lag)
	counted.Clock(p.clocks.Behind)
	if c.MetricsRegistries > 0 {
		counted.Registries(p.server.Watch, c.MetricsRegistries)
	}
}

// start creates the first organization, begins the work that no request causes, and says where the service is.
func (p *process) start(ctx context.Context) error {
	c, at := &p.settings.Config, p.listeners
	first, err := firstStart(ctx, p.server.Directory, c, command.IsTerminal(p.out))
	if err != nil {
		return err
	}
	first.print(p.out, p.log, at.address, at.certificate.TrustFile(), c.Console) // before what may fail: only this start has it
	if p.reading, err = c.Cluster.Open(ctx, p.db, p.server.Registries, c.WatchInterval, p.log); err != nil {
		return err
	}
	printURL(p.out, "Metrics", at.metrics, "/metrics")
	printURL(p.out, "Profiles", at.debug, auxiliary.PathProfiles)
	fmt.Fprintf(p.out, "regwarden %s serves on %s; press Ctrl-C to stop.\n", p.version, at.address)
	sweeper := sweep.Sweeper{DB: p.db, Now: p.clocks.Clock.Now, WaitNow: p.waits.Now}
	p.atEnd(background(ctx, p.auth, sweeper, c.AuditRetention, p.log, p.tasks()...))
	p.atEnd(auxiliary.Serve(at.metrics, "metrics", probe.Handler(p.server.Metrics.Handler(p.log), p.server.Watch.Probe, c.WatchInterval,
		p.log), p.log))
	if at.debug != nil {
		p.atEnd(auxiliary.Serve(at.debug, "profiles", auxiliary.Profiles(), p.log))
	}
	return nil
}

// tasks returns what runs until its context ends, in addition to the work of logins.
func (p *process) tasks() []func(context.Context) {
	c, s := &p.settings.Config, p.server
	tasks := []func(context.Context){p.clocks.Run, s.Alerts.Deliverer.Deliver, s.Alerts.KeyWatcher.WatchKeys, s.Alerts.Repeater.Run,
		s.Alerts.OrgReminder.Run,
		p.linker.Run,
		func(ctx context.Context) { s.Registries.Recount(ctx, p.log) },
		func(ctx context.Context) {
			s.ContentSync.Run(ctx, contentsync.Config{Every: c.SyncInterval, Log: p.log})
		}}
	if c.WatchInterval > 0 {
		p.clocks.AfterStop = func(ctx context.Context) error { return spreadChecks(ctx, s.Watch, c.WatchInterval, p.log) }
		tasks = append(tasks, func(ctx context.Context) { s.Watch.Run(ctx, watchConfig(c, s.Metrics, p.log)) })
	}
	if p.listeners.certificate != nil {
		tasks = append(tasks, p.listeners.certificate.Watch)
	}
	return append(tasks, p.reading...)
}

// serve serves until ctx ends, then waits for running requests.
func (p *process) serve(ctx context.Context) error {
	at := p.listeners
	p.log.Info("serving", "address", at.main.Addr().String(), "tls", at.certificate != nil, "version", p.version)
	httpServer := p.server.HTTPServer()
	httpServer.Handler = p.tracing.Requests(httpServer.Handler)
	ended := make(chan error, 1)
	go func() { ended <- httpServer.Serve(at.served()) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	return p.shutDown(ctx, httpServer)
}

func (p *process) shutDown(ctx context.Context, httpServer *http.Server) error {
	p.log.Info("stopping", "timeout", shutdownTimeout.String())
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := httpServer.Shutdown(bound); err != nil {
		_ = httpServer.Close() // aborts the remaining requests and ends their contexts
		p.log.Warn("requests aborted", "error", err)
	}
	p.log.Info("stopped")
	return nil
}
