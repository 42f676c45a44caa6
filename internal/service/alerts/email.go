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

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// TLS of the connection to the mail server.
const (
	StartTLS  = "starttls" // required: nothing is sent without it
	DirectTLS = "tls"
	NoTLS     = "none"
)

const (
	smtpTimeout   = 8 * time.Second  // for connecting, and for each message
	budgetBackoff = 10 * time.Minute // before the next attempt of an organization without budget
	maxRecipients = 500
	maxSubject    = 200

	mailHint = "Correct the addresses that were rejected, or ask the operator to check the settings --smtp-*."
)

// Mail is the mail server for alerts. The operator configures it, so the egress policy does not apply to its address.
type Mail struct {
	Host     string
	Port     int
	Username string // empty: no authentication
	Password secret.String
	From     string
	TLS      string
	Roots    *x509.CertPool // nil: the system's

	reserve time.Duration // time left of an attempt in which no message is begun; 0: smtpTimeout
}

// email sends the alert to each confirmed address in a separate message: recipients do not see each other, and an invalid address
// does not affect the others.
func (s *sender) email(ctx context.Context, c store.Channel, d store.Delivery, a Alert) result {
	m := s.config.Mail
	if m == nil {
		return result{message: "not sent: the setting smtp-host is missing", blocked: true, sentTo: d.Processed,
			hint: "Ask the operator to set --smtp-host."}
	}
	var to recipients
	if err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		to, err = s.links.recipients(ctx, tx, c)
		return err
	}); err != nil {
		return result{message: "the addresses could not be read from the store", sentTo: d.Processed}
	}
	if to.unconfirmed > 0 && len(to.confirmed) == 0 {
		return result{message: fmt.Sprintf("not sent: none of %d addresses is confirmed", to.unconfirmed), blocked: true,
			sentTo: d.Processed,
			hint:   "Open the link in the email that each address gets. Store the channel again to send another link, at most once a day."}
	}
	r := s.emailTo(ctx, m, to.confirmed, d, a)
	if to.unconfirmed > 0 {
		r.message += fmt.Sprintf("; %d addresses are not confirmed", to.unconfirmed)
	}
	if to.cut {
		r.message += fmt.Sprintf("; the project has more than %d users, and only the first %d get alerts", maxRecipients, maxRecipients)
	}
	return r
}

func (s *sender) emailTo(ctx context.Context, m *Mail, addresses []string, d store.Delivery, a Alert) result {
	addresses = slices.DeleteFunc(addresses, func(address string) bool { return slices.Contains(d.Processed, address) })
	if len(addresses) == 0 {
		return result{ok: true, message: "sent to all addresses", sentTo: d.Processed}
	}
	client, err := m.connect(ctx)
	if err != nil {
		return result{message: "the mail server could not be used: " + mailReason(err), sentTo: d.Processed, hint: mailHint}
	}
	defer func() { _ = client.Close() }()
	return s.sendEach(ctx, client, addresses, d, a)
}

// sendings is the outcome of one attempt for each address.
type sendings struct {
	sent, rejected []string
	reason         string        // why an address was not sent to
	later          bool          // the mail server does not accept one now, which is tried again
	late           bool          // there was not enough time for all
	pause          time.Duration // until the organization may send more
}

// sendEach sends one message after the other, while there is time and the budget of the organization allows it. There is always time
// for the first.
func (s *sender) sendEach(ctx context.Context, client *mailSession, addresses []string, d store.Delivery, a Alert) result {
	var out sendings
	for i, address := range addresses {
		if out.late = i > 0 && client.late(); out.late {
			break
		}
		message, err := s.config.Mail.message(address, d, a)
		if err != nil {
			out.rejected, out.reason = append(out.rejected, address), "an address is not valid"
			continue
		}
		if err := storeOutcome(ctx, s.db, func(ctx context.Context, tx *store.Tx) (err error) {
			out.pause, err = s.links.reserveMail(ctx, tx, d.OrgUID)
			return err
		}); err != nil {
			return result{message: "the store could not count the message", sentTo: append(slices.Clone(d.Processed), out.sent...)}
		}
		if out.pause > 0 {
			out.reason = fmt.Sprintf("the organization reached its limit of %d messages per hour", s.config.MailsPerHour)
			break
		}
		err = client.Send(message)
		switch {
		case message.IsDelivered():
			out.sent = append(out.sent, address)
		case isRefused(err, 5):
			out.rejected, out.reason = append(out.rejected, address), mailReason(err)
		case isRefused(err, 4): // such as a full mailbox; others must not wait for it
			out.later, out.reason = true, mailReason(err)
		default:
			return result{hint: mailHint, message: "the mail server did not accept the message: " + mailReason(err),
				sentTo: append(slices.Clone(d.Processed), out.sent...)}
		}
	}
	return out.result(d, len(addresses))
}

// reserveMail counts a message of an organization. It returns how long to wait if its budget is used up.
func (s *links) reserveMail(ctx context.Context, tx *store.Tx, orgUID string) (time.Duration, error) {
	wait, reserved, err := tx.Allowances.Reserve(ctx, store.MailsOf+orgUID, s.config.MailsPerHour, time.Hour, 0, s.now())
	if reserved {
		return 0, err
	}
	return max(wait, jitter(budgetBackoff)), err
}

// isRefused reports whether the mail server refuses an address, for now (4) or always (5). By code 421 it ends the connection (RFC 5321
// section 3.8).
func isRefused(err error, class int) bool {
	failed, is := errors.AsType[*mail.SendError](err)
	return is && failed.Reason == mail.ErrSMTPRcptTo && failed.ErrorCode()/100 == class && failed.ErrorCode() != 421
}

// result gives up rejected addresses if others were sent to; if all are rejected, the settings of the mail server are the likely
// cause. The remaining addresses follow in the next attempt: at once if time was short, after a pause if the budget was used up.
func (out sendings) result(d store.Delivery, left int) result {
	sent := len(d.Processed) - int(d.Refused) + len(out.sent)
	rest := out.late || out.later || out.pause > 0
	r := result{hint: mailHint, sentTo: append(slices.Clone(d.Processed), out.sent...), ok: sent > 0 && !rest,
		deferred: sent > 0 && out.later,
		more:     sent > 0 && out.late && !out.later || out.pause > 0, pause: out.pause}
	rejected := d.Refused
	if r.more && sent > 0 { // do not try them in the next attempt
		r.sentTo, r.rejected = append(r.sentTo, out.rejected...), int64(len(out.rejected))
		rejected += r.rejected
	}
	r.message = fmt.Sprintf("sent to %d of %d addresses", sent, len(d.Processed)+left)
	if r.more {
		r.message += " so far"
	}
	if rejected > 0 {
		r.message += fmt.Sprintf("; %d were rejected", rejected)
	}
	if out.reason != "" {
		r.message += "; " + out.reason
	}
	return r
}

// mailReason describes an error of the mail server by its code. The server's own text is not shown.
func mailReason(err error) string {
	if failed, ok := errors.AsType[*mail.SendError](err); ok && failed.ErrorCode() != 0 {
		return fmt.Sprintf("it returned %d %s", failed.ErrorCode(), failed.EnhancedStatusCode())
	}
	return strings.Replace(failureOf(err).message, "receiver", "mail server", 1)
}

// message returns the alert as plain text. The library encodes header values; newlines are removed before.
func (m *Mail) message(address string, d store.Delivery, a Alert) (*mail.Msg, error) {
	msg, err := m.envelope(address, a.At)
	if err != nil {
		return nil, err
	}
	msg.Subject(subject(a))
	_, domain, _ := strings.Cut(msg.GetFrom()[0].Address, "@")
	msg.SetMessageIDWithValue(d.UID + "@" + domain) // the same in each attempt, so that mailboxes drop duplicates
	msg.SetGenHeader(HeaderDelivery, d.UID)
	msg.SetBodyString(mail.TypeTextPlain, text(a))
	return msg, nil
}

// envelope returns a message to one address without subject and text.
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

// timeText returns a time, empty if it is zero.
func timeText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// text returns the body of the email.
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
		add("Result", r.Current.Message)
		add("Stage", r.Current.Stage)
		add("Field", r.Current.Field)
		add("Fix", r.Current.Hint)
		add("Certificate expires", timeText(r.Current.CertificateNotAfter))
		add("Credentials expire", timeText(r.Current.CredentialsNotAfter))
	}
	for _, k := range a.APIKeys {
		add("API key", k.Name+" ("+k.UID+")")
		add("User", k.User)
		add("Expires", k.ExpiresAt.UTC().Format(time.RFC3339))
	}
	add("Page", a.Link)
	add("At", a.At.UTC().Format(time.RFC3339))
	add("Alert", a.UID)
	add("Channel", a.Channel)
	return strings.Join(lines, "\n") + "\n"
}
