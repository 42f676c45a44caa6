package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/metrics"
	"github.com/regwarden/regwarden/internal/web/server"
	"github.com/regwarden/regwarden/regcheck"
)

// newAlerts returns the service that delivers alerts. It has the same egress policy and proxy as the engine.
func newAlerts(db *store.DB, c *settings.Config, checker *regcheck.Checker, m *metrics.Metrics, log *slog.Logger) (*alerts.Service, error) {
	mailServer, err := c.MailServer()
	if err != nil {
		return nil, err
	}
	domains, err := c.MailDomains()
	if err != nil {
		return nil, err
	}
	return alerts.New(db, alerts.Config{
		Resolver: checker.Resolver, Egress: checker.Egress, Proxy: checker.Proxy, ProxyConnect: checker.ProxyConnect,
		Header:          checker.Header,
		ChecksPerMinute: c.CheckPerMinute, Mail: mailServer, MailDomains: domains, MailsPerHour: c.AlertMailsPerHour,
		Links:          confirmationLinks(c),
		Pages:          consolePages(c),
		Observe:        func(channelType string, o alerts.Outcome) { m.Delivery(channelType, string(o)) },
		ObserveLatency: func(late time.Duration) { m.QueueLatency("alerts", late) }, Log: log,
	}), nil
}

func newInvitations(s *server.Server, links string) *invitations.Service {
	return &invitations.Service{Invitations: directory.Invitations{Directory: s.Directory}, Mailer: s.Alerts.Mailer, Links: links}
}

// watchConfig returns how stored registries are checked.
func watchConfig(c *settings.Config, m *metrics.Metrics, log *slog.Logger) watch.Config {
	return watch.Config{Interval: c.WatchInterval, Concurrency: c.WatchConcurrency, Log: log,
		Observe:        func(o watch.Outcome) { m.WatchCheck(string(o)) },
		ObserveLatency: func(late time.Duration) { m.QueueLatency("watch", late) }}
}

// spreadChecks reschedules the checks that were missed while no server ran.
func spreadChecks(ctx context.Context, watched *watch.Service, interval time.Duration, log *slog.Logger) error {
	n, err := watched.Spread(ctx, interval)
	if n > 0 {
		log.Info("missed checks rescheduled", "checks", n, "within", interval)
	}
	return err
}
