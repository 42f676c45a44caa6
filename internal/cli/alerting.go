package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/console/people"
	"github.com/regwarden/regwarden/internal/web/metrics"
	"github.com/regwarden/regwarden/internal/web/server"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Scheduled checks of stored registries, and alerts.

// smtpPorts are the usual ones for each way of TLS (RFC 8314 section 3.3, RFC 6409).
var smtpPorts = map[string]int{alerts.StartTLS: 587, alerts.DirectTLS: 465, alerts.NoTLS: 25}

// smtpProblems lists the problems of the settings of the mail server.
func (c *Config) smtpProblems() []error {
	var problems []error
	_, known := smtpPorts[c.SMTPTLS]
	from, err := mail.ParseAddress(c.SMTPFrom)
	for _, rule := range []struct {
		broken  bool
		problem string
	}{
		{!known, "smtp-tls: must be one of starttls, tls, none"},
		{c.SMTPHost == "" && (c.SMTPUsername != "" || c.SMTPFrom != "" || c.SMTPPasswordFile != ""),
			"smtp-host: is required with other smtp settings"},
		{c.SMTPHost != "" && (err != nil || from.Address != c.SMTPFrom),
			"smtp-from: must be an email address such as regwarden@example.com"},
		{(c.SMTPUsername == "") != (c.SMTPPasswordFile == ""),
			"smtp-username: requires smtp-password-file, and smtp-password-file requires smtp-username"},
		{c.PublicURL != "" && !isPublicURL(c.PublicURL), "public-url: must be a URL like https://regwarden.example.com, without " +
			"username, password and query"},
		{c.SMTPUsername != "" && c.SMTPTLS == alerts.NoTLS, "smtp-tls: the password of smtp-username would cross the network unencrypted"},
	} {
		if rule.broken {
			problems = append(problems, errors.New(rule.problem))
		}
	}
	_, err = c.mailDomains()
	return append(problems, err)
}

// mailDomains returns the domains of alert-mail-domains in canonical spelling.
func (c *Config) mailDomains() ([]string, error) {
	domains, problems := make([]string, len(c.AlertMailDomains)), []error(nil)
	for i, text := range c.AlertMailDomains {
		domain, problem := egress.ReadHost(text)
		if problem != "" {
			problems = append(problems, fmt.Errorf("alert-mail-domains: %q must be a domain like example.com", text))
		}
		domains[i] = domain
	}
	return domains, errors.Join(problems...)
}

// links returns the prefix of confirmation links, empty without public-url.
func (c *Config) links() string {
	if c.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(c.PublicURL, "/") + strings.TrimSuffix(api.PathAlertConfirmation, "{token}")
}

// invitationLinks returns the prefix of links by which users set their password, empty without console, or if its URL is not known.
func (c *Config) invitationLinks(address string) string {
	base := cmp.Or(c.PublicURL, address)
	if !c.Console || base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + people.PathInvitation
}

func newInvitations(s *server.Server, links string) *invitations.Service {
	return &invitations.Service{Invitations: directory.Invitations{Directory: s.Directory}, Mailer: s.Alerts.Mailer, Links: links}
}

// isPublicURL reports whether text is a valid prefix of links.
func isPublicURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" &&
		u.Fragment == ""
}

// mailServer returns the mail server of the settings, or nil if there is none.
func (c *Config) mailServer() (*alerts.Mail, error) {
	if c.SMTPHost == "" {
		return nil, nil
	}
	m := &alerts.Mail{Host: c.SMTPHost, Port: cmp.Or(c.SMTPPort, smtpPorts[c.SMTPTLS]), Username: c.SMTPUsername, From: c.SMTPFrom,
		TLS: c.SMTPTLS}
	if c.SMTPPasswordFile != "" {
		text, err := seal.ReadSecretFile(c.SMTPPasswordFile)
		if err != nil {
			return nil, fmt.Errorf("smtp-password-file: %w", err)
		}
		m.Password = secret.String(strings.TrimSuffix(strings.TrimSuffix(text.Reveal(), "\n"), "\r"))
		if m.Password == "" {
			return nil, errors.New("smtp-password-file: is empty")
		}
	}
	return m, nil
}

// newAlerts returns the service that delivers alerts. It has the same egress policy and proxy as the engine.
func newAlerts(db *store.DB, c Config, checker *regcheck.Checker, m *metrics.Metrics, log *slog.Logger) (*alerts.Service, error) {
	mailServer, err := c.mailServer()
	if err != nil {
		return nil, err
	}
	domains, err := c.mailDomains()
	if err != nil {
		return nil, err
	}
	return alerts.New(db, alerts.Config{
		Resolver: checker.Resolver, Egress: checker.Egress, Proxy: checker.Proxy, ProxyConnect: checker.ProxyConnect,
		Header:          checker.Header,
		ChecksPerMinute: c.CheckPerMinute, Mail: mailServer, MailDomains: domains, MailsPerHour: c.AlertMailsPerHour, Links: c.links(),
		Observe:        func(channelType string, o alerts.Outcome) { m.Delivery(channelType, string(o)) },
		ObserveLatency: func(late time.Duration) { m.QueueLatency("alerts", late) }, Log: log,
	}), nil
}

func (c *Config) watch(m *metrics.Metrics, log *slog.Logger) watch.Config {
	return watch.Config{Interval: c.WatchInterval, Concurrency: c.WatchConcurrency, Log: log,
		Observe:        func(o watch.Outcome) { m.WatchCheck(string(o)) },
		ObserveLatency: func(late time.Duration) { m.QueueLatency("watch", late) }}
}

// spreadChecks reschedules the checks that were missed while no server ran.
func (c *Config) spreadChecks(ctx context.Context, watched *watch.Service, log *slog.Logger) error {
	n, err := watched.Spread(ctx, c.WatchInterval)
	if n > 0 {
		log.Info("missed checks rescheduled", "checks", n, "within", c.WatchInterval)
	}
	return err
}
