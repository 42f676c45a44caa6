package alerts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	linksPerHour = 20 // of one organization
	linkLifetime = 7 * 24 * time.Hour
	linkInterval = 24 * time.Hour // before an address may be sent another link
	linkBackoff  = 10 * time.Minute
	maxOrgName   = 64 // characters of user text in a message to an address that has not confirmed
)

// Confirmation is an address that was sent a link to agree to an organization's alerts.
type Confirmation struct {
	Address, Organization string
	Confirmed             bool
}

// Confirmations has the pages that links lead to.
type Confirmations struct {
	db  *store.DB
	now func() time.Time
}

// Confirmation returns the address and organization of a link. It changes nothing, since mail servers follow links to look for
// malware.
//
// Faults: NotFound.
func (s *Confirmations) Confirmation(ctx context.Context, token string) (c Confirmation, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) error {
		a, err := s.addressOf(ctx, tx, token)
		c = Confirmation{a.Address, a.OrgName, !a.ConfirmedAt.IsZero()}
		return err
	})
	return c, err
}

// Confirm confirms the address that a link was sent to. Repeating it changes nothing.
//
// Faults: NotFound.
func (s *Confirmations) Confirm(ctx context.Context, origin audit.Origin, token string) (c Confirmation, err error) {
	if c, err = s.Confirmation(ctx, token); err != nil || c.Confirmed {
		return c, err // without a write: requests with invalid tokens must be cheap
	}
	err = s.db.InTx(ctx, func(tx *store.Tx) error {
		a, err := s.addressOf(ctx, tx, token)
		if err != nil {
			return err
		}
		c = Confirmation{a.Address, a.OrgName, true}
		first, err := tx.Addresses.Confirm(ctx, hashOf(token), s.now())
		if err != nil || !first {
			return err
		}
		return tx.Audits.Append(ctx, audit.Record{UID: origin.RecordUID(), At: s.now(), OrgUID: a.OrgUID, ActorName: a.Address,
			Method: audit.MethodLink,
			Action: audit.AlertConfirm, Object: a.Address, Outcome: audit.Succeeded, Origin: origin})
	})
	return c, err
}

func hashOf(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}

func (s *Confirmations) addressOf(ctx context.Context, tx *store.Tx, token string) (store.AlertAddress, error) {
	a, err := tx.Addresses.ByToken(ctx, hashOf(token))
	if errors.Is(err, store.ErrNotFound) || err == nil && a.ConfirmedAt.IsZero() && s.now().Sub(a.RequestedAt) > linkLifetime {
		return a, fault.ResourceNotFound(
			"This link is not valid or has expired. Ask an administrator of the organization to store the alert channel again: a new " +
				"link is then sent.")
	}
	return a, err
}

// sendLinks sends links to the addresses of a channel that have none. It returns how long to wait before sending the remaining ones.
// An address gets one link; only storing a channel sends another one, after linkInterval.
func (s *links) sendLinks(ctx context.Context, c store.Channel) (time.Duration, error) {
	if c.Type != TypeEmail || !s.canSendLinks() {
		return 0, nil
	}
	var to recipients
	var org store.Org
	if err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		if to, err = s.recipients(ctx, tx, c); err == nil && len(to.withoutLink) > 0 {
			org, err = tx.Orgs.Get(ctx, c.OrgUID)
		}
		return err
	}); err != nil || len(to.withoutLink) == 0 {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	client, err := s.config.Mail.connect(ctx)
	if err != nil {
		return linkBackoff, nil // the status of a channel describes alerts, not links
	}
	defer func() { _ = client.Close() }()
	for i, address := range to.withoutLink {
		if i > 0 && client.late() {
			return 0, nil
		}
		if wait, err := s.sendLink(ctx, client, org, address); err != nil || wait > 0 {
			return wait, err
		}
	}
	return 0, nil
}

// errNoLink rolls a transaction back.
var errNoLink = errors.New("no link is sent now")

// sendLink sends a link to one address, unless another replica does. It returns how long to wait if it fails.
func (s *links) sendLink(ctx context.Context, client *mailSession, org store.Org, address string) (time.Duration, error) {
	token := rand.Text()
	requested := store.AlertAddress{OrgUID: org.UID, Address: addressKey(address), RequestedAt: s.now()}
	var wait time.Duration
	err := s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		if wait, err = s.reserveLink(ctx, tx, org.UID); err != nil {
			return err
		}
		first := false
		if wait == 0 {
			first, err = tx.Addresses.Request(ctx, requested, hashOf(token))
		}
		if err == nil && !first {
			return errNoLink
		}
		return err
	})
	switch {
	case errors.Is(err, errNoLink):
		return wait, nil
	case err != nil:
		return 0, fmt.Errorf("record a link: %w", err)
	}
	message, err := s.config.Mail.link(address, org.Name, s.config.Links+token, s.now())
	if err != nil {
		return 0, nil // no message can be sent to that address
	}
	if err := client.Send(message); message.IsDelivered() || isRefused(err, 5) {
		return 0, nil
	}
	err = storeOutcome(ctx, s.db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Addresses.DeleteUnconfirmed(ctx, requested.OrgUID, requested.Address, requested.RequestedAt)
	})
	return linkBackoff, err
}

// reserveLink reserves a message with a link in two allowances: that of links, which is low, and that of the organization's messages.
// It returns how long to wait if one of them is used up; the caller must then roll back.
func (s *links) reserveLink(ctx context.Context, tx *store.Tx, orgUID string) (wait time.Duration, err error) {
	if wait, _, err = tx.Allowances.Reserve(ctx, store.LinksOf+orgUID, linksPerHour, time.Hour, 0, s.now()); err != nil || wait > 0 {
		return max(wait, jitter(linkBackoff)), err
	}
	return s.reserveMail(ctx, tx, orgUID)
}

// link returns the message with a link. Its only user text is the name of the organization, which operators choose: administrators
// must not be able to send text of theirs to other people.
func (m *Mail) link(address, org, url string, at time.Time) (*mail.Msg, error) {
	msg, err := m.envelope(address, at)
	if err != nil {
		return nil, err
	}
	msg.Subject("[regwarden] Confirm this address for alerts")
	msg.SetBodyString(mail.TypeTextPlain, strings.Join([]string{
		fmt.Sprintf("The organization %q wants to send alerts of regwarden, which checks container", OrgName(org)),
		"registries, to this address.", "",
		"To agree, open this link within 7 days and press the button:", "", url, "",
		"If you do not agree, do nothing: no alerts are sent to this address.", "",
	}, "\n"))
	return msg, nil
}
