package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

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
	_, err = c.MailDomains()
	return append(problems, err)
}

// MailDomains returns the domains of alert-mail-domains in canonical spelling.
func (c *Config) MailDomains() ([]string, error) {
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

// isPublicURL reports whether text is a valid prefix of links.
func isPublicURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" &&
		u.Fragment == ""
}

// MailServer returns the mail server of the settings, or nil if there is none.
func (c *Config) MailServer() (*alerts.Mail, error) {
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
