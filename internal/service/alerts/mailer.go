package alerts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// Mailer sends messages with links other than alerts, within the limits of an organization. It is safe for concurrent use.
type Mailer struct{ links *links }

// Send sends a message to one address. It returns why it could not be sent, "" if the mail server accepted it. Of what users choose, the
// text may have OrgName only: users must not be able to send text of theirs to other people.
func (m *Mailer) Send(ctx context.Context, orgUID, address, subject string, lines ...string) (problem string, err error) {
	server := m.links.config.Mail
	if server == nil {
		return "the setting smtp-host is missing", nil
	}
	message, err := server.envelope(address, m.links.now())
	if err != nil {
		return "the address is not valid", nil
	}
	message.Subject(subject)
	message.SetBodyString(mail.TypeTextPlain, strings.Join(append(lines, ""), "\n"))
	if wait, err := m.reserve(ctx, orgUID); err != nil || wait > 0 {
		return fmt.Sprintf("the organization reached its limit of messages with links; try again in %v", wait.Round(time.Minute)), err
	}
	return server.deliver(ctx, message), nil
}

// reserve counts a message. It returns how long to wait if a limit is reached.
func (m *Mailer) reserve(ctx context.Context, orgUID string) (wait time.Duration, err error) {
	err = m.links.db.InTx(ctx, func(tx *store.Tx) (err error) {
		if wait, err = m.links.reserveLink(ctx, tx, orgUID); err == nil && wait > 0 {
			return errNoLink
		}
		return err
	})
	if errors.Is(err, errNoLink) {
		return wait, nil
	}
	return 0, err
}

// deliver sends one message, and returns why the mail server did not accept it.
func (m *Mail) deliver(ctx context.Context, message *mail.Msg) (problem string) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	client, err := m.connect(ctx)
	if err != nil {
		return "the mail server could not be used: " + mailReason(err)
	}
	defer func() { _ = client.Close() }()
	if err := client.Send(message); err != nil && !message.IsDelivered() {
		return "the mail server did not accept the message: " + mailReason(err)
	}
	return ""
}

// OrgName returns the name of an organization in a message.
func OrgName(name string) string {
	text := []rune(oneLine(name))
	return string(text[:min(len(text), maxOrgName)])
}
