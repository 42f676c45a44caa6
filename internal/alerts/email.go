package alerts

import (
	"context"
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
	budgetPause   = 10 * time.Minute // until an organization without budget is tried again
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

	reserve time.Duration // of an attempt, for its last message; 0: smtpTime
}

// email sends the alert to each address in a message of its own: nobody sees who else gets it, and one bad address keeps nothing
// from the others. Addresses that did not confirm get nothing.
func (s *Service) email(ctx context.Context, c store.Channel, d store.Delivery, a Alert) result {
	m := s.config.Mail
	if m == nil {
		return result{message: "not sent: the setting smtp-host is missing", rare: true, told: d.Processed}
	}
	var to recipients
	if err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		to, err = s.recipients(ctx, tx, c)
		return err
	}); err != nil {
		return result{message: "the addresses could not be read from the store", told: d.Processed}
	}
	if to.unconfirmed > 0 && len(to.confirmed) == 0 {
		return result{message: fmt.Sprintf("not sent: none of %d addresses is confirmed", to.unconfirmed), rare: true, told: d.Processed}
	}
	r := s.emailTo(ctx, m, to.confirmed, d, a)
	if to.unconfirmed > 0 {
		r.message += fmt.Sprintf("; %d addresses are not confirmed", to.unconfirmed)
	}
	if to.cut {
		r.message += fmt.Sprintf("; more than %d users are to be told, only the first %d of them are", maxRecipients, maxRecipients)
	}
	return r
}

func (s *Service) emailTo(ctx context.Context, m *Mail, addresses []string, d store.Delivery, a Alert) result {
	addresses = slices.DeleteFunc(addresses, func(address string) bool { return slices.Contains(d.Processed, address) })
	if len(addresses) == 0 {
		return result{ok: true, message: "nobody is left to tell", told: d.Processed}
	}
	client, err := m.connect(ctx)
	if err != nil {
		return result{message: "the mail server could not be used: " + mailReason(err), told: d.Processed}
	}
	defer func() { _ = client.Close() }()
	return s.sendEach(ctx, client, addresses, d, a)
}

// handedOver is what became of the addresses of one attempt.
type handedOver struct {
	told, refused []string
	reason        string        // of what was not told
	late          bool          // there was not time for all
	pause         time.Duration // until the organization may send more
}

// sendEach hands over one message after the other, as far as there is time and the organization's budget allows. There is always time
// for the first.
func (s *Service) sendEach(ctx context.Context, client *mailSession, addresses []string, d store.Delivery, a Alert) result {
	h := handedOver{}
	for i, address := range addresses {
		if h.late = i > 0 && client.late(); h.late {
			break
		}
		message, err := s.config.Mail.message(address, d, a)
		if err != nil {
			h.refused, h.reason = append(h.refused, address), "an address cannot be written to"
			continue
		}
		if err := s.record(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			h.pause, err = s.reserveMail(ctx, tx, d.OrgUID)
			return err
		}); err != nil {
			return result{message: "the store could not count the message", told: append(slices.Clone(d.Processed), h.told...)}
		}
		if h.pause > 0 {
			h.reason = fmt.Sprintf("the %d messages that the organization may send per hour are used up", s.config.MailsPerHour)
			break
		}
		err = client.Send(message)
		switch {
		case message.IsDelivered():
			h.told = append(h.told, address)
		case refusedForGood(err):
			h.refused, h.reason = append(h.refused, address), mailReason(err)
		default:
			return result{message: "the mail server did not take the message: " + mailReason(err), told: append(slices.Clone(d.Processed), h.told...)}
		}
	}
	return h.summary(d, len(addresses))
}

// reserveMail counts a message of an organization. It returns how long to wait if its budget is used up.
func (s *Service) reserveMail(ctx context.Context, tx *store.Tx, orgUID string) (time.Duration, error) {
	wait, reserved, err := tx.Allowances.Reserve(ctx, "mails of "+orgUID, s.config.MailsPerHour, time.Hour, 0, s.now())
	if reserved {
		return 0, err
	}
	return max(wait, spread(budgetPause)), err
}

// refusedForGood reports whether the mail server does not take messages for an address.
func refusedForGood(err error) bool {
	failed, is := errors.AsType[*mail.SendError](err)
	return is && failed.Reason == mail.ErrSMTPRcptTo && !failed.IsTemp() && failed.ErrorCode()/100 == 5
}

// summary gives up on refused addresses once others were told; where all are refused, it is rather the server's
// settings that are wrong. The remaining addresses come in the next attempt: at once if time was short, after a pause if the budget was.
func (h handedOver) summary(d store.Delivery, left int) result {
	sent := len(d.Processed) - int(d.Refused) + len(h.told)
	rest := h.late || h.pause > 0
	r := result{told: append(slices.Clone(d.Processed), h.told...), ok: sent > 0 && !rest, more: sent > 0 && h.late || h.pause > 0, pause: h.pause}
	refused := d.Refused
	if r.more && sent > 0 { // and is not to be refused again
		r.told, r.refused = append(r.told, h.refused...), int64(len(h.refused))
		refused += r.refused
	}
	r.message = fmt.Sprintf("sent to %d of %d addresses", sent, len(d.Processed)+left)
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

// message is the alert as plain text. The library encodes what stands in headers; line ends are taken out before.
func (m *Mail) message(address string, d store.Delivery, a Alert) (*mail.Msg, error) {
	msg, err := m.envelope(address, a.At)
	if err != nil {
		return nil, err
	}
	msg.Subject(subject(a))
	_, domain, _ := strings.Cut(msg.GetFrom()[0].Address, "@")
	msg.SetMessageIDWithValue(d.UID + "@" + domain) // the same at each attempt, so that mailboxes drop the second
	msg.SetGenHeader(HeaderDelivery, d.UID)
	msg.SetBodyString(mail.TypeTextPlain, text(a))
	return msg, nil
}

// envelope is a message of the service to one address, still without subject and text.
func (m *Mail) envelope(address string, at time.Time) (*mail.Msg, error) {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := errors.Join(msg.From(m.From), msg.To(address)); err != nil {
		return nil, err
	}
	msg.SetDateWithValue(at)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
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
