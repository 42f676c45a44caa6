package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/ambient"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/bulk"
	"github.com/regwarden/regwarden/internal/service/checks"
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
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/budget"
	"github.com/regwarden/regwarden/internal/web/bulkhandlers"
	"github.com/regwarden/regwarden/internal/web/expiryhandlers"
	"github.com/regwarden/regwarden/internal/web/metrics"
	"github.com/regwarden/regwarden/internal/web/mutehandlers"
	"github.com/regwarden/regwarden/internal/web/server"
	"github.com/regwarden/regwarden/regcheck"
)

// newServer connects the parts of the service on an open store.
func newServer(db *store.DB, authService *auth.Service, checker *regcheck.Checker, c *settings.Config, version string, log *slog.Logger) (
	*server.Server, error) {
	stored := registries.New(db, registries.Limits{ContactsPerMinute: c.CheckPerMinute,
		OrgRegistries: int64(c.OrganizationRegistries), OrgBytes: int64(c.OrganizationStorage) << 20}, time.Now)
	validations := checks.New(db, stored, checker, checks.Limits{Concurrency: c.CheckConcurrency, PerOrg: c.CheckPerOrg,
		PerMinute: c.CheckPerMinute}, time.Now)
	watched := watch.New(db, stored, checker, time.Now)
	counted := metrics.New(version, map[string]metrics.Load{
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
		Version:     version,
		AWSAccounts: ambient.Accounts(c.AWSAccount),
		Log:         log,
		Hairpin:     checker.Header[server.HairpinHeader],
	}
	allowed, ambientErr := ambient.Parse(c.AmbientCredentials)
	s.Checks.Ambient, s.Watch.Ambient, s.ContentSync.Ambient = allowed, allowed, allowed
	return s, errors.Join(err, ambientErr)
}

// NewAuth returns the rules of logins on an open store. hash computes hashes of passwords; nil: in this process. now and waitNow are
// auth.Config.Now and WaitNow.
func NewAuth(ctx context.Context, db *store.DB, c *settings.Config, hash func(hashing.Input) ([]byte, error),
	now, waitNow func() time.Time, log *slog.Logger) (*auth.Service, error) {
	return auth.New(ctx, db, auth.Config{
		TokenLifetime: c.TokenLifetime, RefreshGrace: c.RefreshGrace, SessionIdle: c.SessionIdle, SessionMax: c.SessionMax,
		RefreshAcceptsAuthorization: c.RefreshAcceptsAuthorization, OmitRefreshRecords: !c.AuditRefreshes, DefaultOrg: c.DefaultOrg,
		LoginWorkers: c.LoginWorkers, LoginQueue: c.LoginQueue, LoginWait: c.LoginWait,
		LoginFreeFailures: c.LoginFreeFailures, LoginMaxWait: c.LoginMaxWait,
		ComputeHash: hash, Log: log, Now: now, WaitNow: waitNow,
	})
}

// NewChecker returns the engine. It refuses endpoints that are the service itself or its database on this machine.
func NewChecker(c *settings.Config, listeners ...net.Listener) (*regcheck.Checker, error) {
	ports := sqldb.Ports(c.DatabaseURL)
	for _, l := range listeners {
		if l == nil {
			continue
		}
		if address, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
			ports = append(ports, address.Port())
		}
	}
	policy, err := c.EgressPolicy(egress.OwnPorts(ports...))
	if err != nil {
		return nil, err
	}
	checker := &regcheck.Checker{Resolver: resolver(c.EgressDNS), Egress: policy,
		Header: map[string]string{server.HairpinHeader: rand.Text()}, Audience: wording.Engine(), Obtained: new(regcheck.CredentialCache)}
	checker.ProxyConnect, _ = settings.ParseProxyConnect(c.EgressProxyConnect)
	checker.Limits.Total = c.CheckTimeout
	checker.Proxy, err = settings.ProxyFunc(c.EgressProxy)
	return checker, err
}
