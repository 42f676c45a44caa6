package alerts

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/wneessen/go-mail"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// TLS of the connection to the mail server.
const (
	StartTLS  = "starttls" // and nothing is sent without it
	DirectTLS = "tls"
	NoTLS     = "none"
)

const (
	smtpTime      = 8 * time.Second  // of one step: connecting, or one message
	smtpLast      = 12 * time.Second // no message is begun later in an attempt
	maxRecipients = 500
	maxSubject    = 200
)

// Mail is the mail server that alerts are handed to. It is the operator's, so no policy judges its address.
type Mail struct {
	Host     string
	Port     int
	Username string // empty: no authentication
	Password secret.String
	From     string
	TLS      string
	Roots    *x509.CertPool // nil: the system's

	last time.Duration // in place of smtpLast
}

func (m *Mail) client() (*mail.Client, error) {
	options := []mail.Option{
		mail.WithPort(m.Port), mail.WithTimeout(smtpTime), mail.WithoutNoop(),
		mail.WithTLSConfig(&tls.Config{ServerName: m.Host, MinVersion: tls.VersionTLS12, RootCAs: m.Roots}),
	}
	switch m.TLS {
	case DirectTLS:
		options = append(options, mail.WithSSL())
	case NoTLS:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if m.Username != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.Username), mail.WithPassword(m.Password.Reveal()))
	}
	return mail.NewClient(m.Host, options...)
}

// email sends the alert to each address by itself: nobody learns who else is told, and one bad address keeps nothing
// from the others.
func (s *Service) email(ctx context.Context, c store.Channel, d store.Delivery, a Alert) result {
	m := s.config.Mail
	if m == nil {
		return result{message: "not sent: the setting smtp-host is missing", rare: true, told: d.Told}
	}
	addresses, cut, err := s.addresses(ctx, c)
	if err != nil {
		return result{message: "the addresses could not be read from the store", told: d.Told}
	}
	r := s.emailTo(ctx, m, addresses, d, a)
	if cut {
		r.message += fmt.Sprintf("; more than %d users are to be told, only the first %d of them are", maxRecipients, maxRecipients)
	}
	return r
}

func (s *Service) emailTo(ctx context.Context, m *Mail, addresses []string, d store.Delivery, a Alert) result {
	addresses = slices.DeleteFunc(addresses, func(address string) bool { return slices.Contains(d.Told, address) })
	if len(addresses) == 0 {
		return result{ok: true, message: "nobody is left to tell", told: d.Told}
	}
	client, err := m.client()
	if err != nil {
		return result{message: "the mail server's settings cannot be used", told: d.Told}
	}
	if err := client.DialWithContext(ctx); err != nil {
		return result{message: "the mail server could not be used: " + mailReason(err), told: d.Told}
	}
	defer func() { _ = client.Close() }()
	return sendEach(client, m, addresses, d, a)
}

// handedOver is what became of the addresses of one attempt.
type handedOver struct {
	told, refused []string
	reason        string // of what was not told
	late          bool   // there was not time for all
}

// sendEach hands over one message after the other, as far as there is time.
func sendEach(client *mail.Client, m *Mail, addresses []string, d store.Delivery, a Alert) result {
	began, h := time.Now(), handedOver{}
	for _, address := range addresses {
		if h.late = time.Since(began) > cmp.Or(m.last, smtpLast); h.late {
			break
		}
		message, err := m.message(address, d, a)
		if err != nil {
			h.refused, h.reason = append(h.refused, address), "an address cannot be written to"
			continue
		}
		err = client.Send(message)
		failed, _ := errors.AsType[*mail.SendError](err)
		switch {
		case message.IsDelivered():
			h.told = append(h.told, address)
		case failed != nil && failed.Reason == mail.ErrSMTPRcptTo && !failed.IsTemp() && failed.ErrorCode()/100 == 5:
			h.refused, h.reason = append(h.refused, address), mailReason(err)
		default:
			return result{message: "the mail server did not take the message: " + mailReason(err), told: append(slices.Clone(d.Told), h.told...)}
		}
	}
	return h.summary(d, len(addresses))
}

// summary gives up on refused addresses once others were told; where all are refused, it is rather the server's
// settings that are wrong. Those for whom there was not time come in the next attempt, which begins at once.
func (h handedOver) summary(d store.Delivery, left int) result {
	sent := len(d.Told) - int(d.Refused) + len(h.told)
	r := result{told: append(slices.Clone(d.Told), h.told...), ok: sent > 0 && !h.late, more: sent > 0 && h.late}
	refused := d.Refused
	if r.more { // and is not to be refused again
		r.told, r.refused = append(r.told, h.refused...), int64(len(h.refused))
		refused += r.refused
	}
	r.message = fmt.Sprintf("sent to %d of %d addresses", sent, len(d.Told)+left)
	if r.more {
		r.message += " so far"
	}
	if refused > 0 {
		r.message += fmt.Sprintf("; %d were refused", refused)
	}
	if h.reason != "" {
		r.message += "; " + h.reason
	}
	return r
}

// mailReason is a server's answer by its number; its words are not ours to show.
func mailReason(err error) string {
	if failed, ok := errors.AsType[*mail.SendError](err); ok && failed.ErrorCode() != 0 {
		return fmt.Sprintf("it answered %d %s", failed.ErrorCode(), failed.EnhancedStatusCode())
	}
	return strings.Replace(unsent(err).message, "receiver", "mail server", 1)
}

// addresses are the channel's own, and those of the project's users when all are to be told; of very many the first.
func (s *Service) addresses(ctx context.Context, c store.Channel) (addresses []string, cut bool, err error) {
	addresses = slices.Clone(c.Identifiers)
	if c.AlertAllUsers {
		var users []string
		err := s.db.View(ctx, func(tx *store.Tx) (err error) {
			users, err = tx.AlertedEmails(ctx, c.OrgUID, c.ProjectUID, maxRecipients+1)
			return err
		})
		if err != nil {
			return nil, false, err
		}
		cut = len(users) > maxRecipients
		addresses = append(addresses, users[:min(len(users), maxRecipients)]...)
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), cut, nil
}

// message is the alert as plain text. The library encodes what stands in headers; line ends are taken out before.
func (m *Mail) message(address string, d store.Delivery, a Alert) (*mail.Msg, error) {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := errors.Join(msg.From(m.From), msg.To(address)); err != nil {
		return nil, err
	}
	msg.Subject(subject(a))
	msg.SetDateWithValue(a.At)
	_, domain, _ := strings.Cut(msg.GetFrom()[0].Address, "@")
	msg.SetMessageIDWithValue(d.UID + "@" + domain) // the same at each attempt, so that mailboxes drop the second
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader(HeaderDelivery, d.UID)
	msg.SetBodyString(mail.TypeTextPlain, text(a))
	return msg, nil
}

func subject(a Alert) string {
	clean := []rune(oneLine("[regwarden] " + a.Message))
	return string(clean[:min(len(clean), maxSubject)])
}

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Cf) {
			return ' '
		}
		return r
	}, text)
}

// text is the whole alert for people.
func text(a Alert) string {
	lines := []string{oneLine(a.Message), ""}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+oneLine(value))
		}
	}
	add("Organization", a.Organization.Name)
	if r := a.Registry; r != nil {
		add("Registry", r.Name+" ("+r.UID+")")
		add("Endpoint", r.Endpoint)
		add("What was seen", r.Current.Message)
		add("Stage", r.Current.Stage)
		add("Field", r.Current.Field)
		add("What to do", r.Current.Hint)
	}
	for _, k := range a.APIKeys {
		add("API key", k.Name+" ("+k.UID+")")
		add("User", k.User)
		add("Expires", k.ExpiresAt.UTC().Format(time.RFC3339))
	}
	add("At", a.At.UTC().Format(time.RFC3339))
	add("Alert", a.UID)
	return strings.Join(lines, "\n") + "\n"
}
