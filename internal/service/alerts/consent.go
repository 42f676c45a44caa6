package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// consent decides which addresses an organization may send alerts to: those in the operator's domains, and those that confirmed.
// Addresses of users must confirm too, since administrators create users with any address.
type consent struct {
	domains []string
	known   map[string]store.AlertAddress
}

// links knows who has confirmed, and sends links to the others.
type links struct {
	db     *store.DB
	config Config
	now    func() time.Time
}

func (s *links) consentOf(ctx context.Context, tx *store.Tx, orgUID string) (consent, error) {
	list, err := tx.Addresses.List(ctx, orgUID)
	c := consent{domains: s.config.MailDomains, known: make(map[string]store.AlertAddress, len(list))}
	for _, a := range list {
		c.known[a.Address] = a
	}
	return c, err
}

// given reports whether alerts may be sent to an address.
func (c consent) given(address string) bool {
	domain, problem := egress.ReadHost(address[strings.LastIndexByte(address, '@')+1:])
	return problem == "" && slices.Contains(c.domains, domain) || !c.known[addressKey(address)].ConfirmedAt.IsZero()
}

// hasLink reports whether a link was sent to an address.
func (c consent) hasLink(address string) bool {
	_, is := c.known[addressKey(address)]
	return is
}

// addressKey returns the spelling in which an address is stored, so that variants of it share a link. It changes ASCII letters only:
// with other mappings one address could confirm for another.
func addressKey(address string) string { return lowerASCII(address) }

// lowerASCII returns a text of the same length with lowercase ASCII letters.
func lowerASCII(text string) string {
	lower := []byte(text)
	for i, b := range lower {
		if 'A' <= b && b <= 'Z' {
			lower[i] = b + 'a' - 'A'
		}
	}
	return string(lower)
}

// recipients are the addresses of a channel.
type recipients struct {
	confirmed   []string
	unconfirmed int
	withoutLink []string // unconfirmed addresses that no link was sent to
	cut         bool     // the project has more than maxRecipients users
}

func (s *links) recipients(ctx context.Context, tx *store.Tx, c store.Channel) (to recipients, err error) {
	addresses, cut, err := addressesOf(ctx, tx, c)
	if err != nil {
		return to, err
	}
	consent, err := s.consentOf(ctx, tx, c.OrgUID)
	to.cut = cut
	for _, address := range addresses {
		switch {
		case consent.given(address):
			to.confirmed = append(to.confirmed, address)
		case consent.hasLink(address):
			to.unconfirmed++
		default:
			to.unconfirmed++
			to.withoutLink = append(to.withoutLink, address)
		}
	}
	return to, err
}

// addressesOf returns the addresses of the channel and, with AlertAllUsers, those of the first maxRecipients users of the project.
func addressesOf(ctx context.Context, tx *store.Tx, c store.Channel) (addresses []string, cut bool, err error) {
	addresses = slices.Clone(c.Identifiers)
	if c.AlertAllUsers {
		users, err := tx.Outbox.Emails(ctx, c.OrgUID, c.ProjectUID, maxRecipients+1)
		if err != nil {
			return nil, false, err
		}
		cut = len(users) > maxRecipients
		addresses = append(addresses, users[:min(len(users), maxRecipients)]...)
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), cut, nil
}

// complete is fill with the problems that depend on the store: without links, addresses outside of the operator's domains cannot
// be confirmed.
func (s *Channels) complete(ctx context.Context, tx *store.Tx, in Scope, input Channel,
	old store.Channel) (store.Channel, []fault.Field, error) {
	c, found := s.fill(input, old)
	if in.Component == APIKeyExpiry && c.AlertTimes != (store.AlertTimes{}) {
		found = append(found, fault.Field{Field: "afterMinutes", Problem: "and repeatHours must be 0 for " + APIKeyExpiry})
	}
	c.OrgUID, c.ProjectUID = in.OrgUID, in.ProjectUID
	if c.Type != TypeEmail || len(found) > 0 || s.config.Links != "" {
		return c, found, nil
	}
	consent, err := s.links.consentOf(ctx, tx, in.OrgUID)
	if err != nil {
		return c, nil, err
	}
	unconfirmable, err := unconfirmableAddresses(ctx, tx, c, consent)
	return c, unconfirmable, err
}

func unconfirmableAddresses(ctx context.Context, tx *store.Tx, c store.Channel, consent consent) (found problems, err error) {
	const problem = "must be in a domain of the setting alert-mail-domains; other addresses cannot confirm, since the setting " +
		"public-url is missing"
	for i, address := range c.Identifiers {
		if !consent.given(address) {
			found.add(fmt.Sprintf("identifiers[%d]", i), problem)
		}
	}
	c.Identifiers = nil
	users, _, err := addressesOf(ctx, tx, c)
	if slices.ContainsFunc(users, func(address string) bool { return !consent.given(address) }) {
		found.add("alertAllUsers", "includes users with addresses that "+problem)
	}
	return found, err
}

// canSendLinks reports whether the settings allow links.
func (s *links) canSendLinks() bool { return s.config.Mail != nil && s.config.Links != "" }

// renewLinks schedules links to the addresses of a stored channel, also to those that have not confirmed an earlier link.
func (s *links) renewLinks(ctx context.Context, tx *store.Tx, c store.Channel) error {
	if c.Type != TypeEmail || !s.canSendLinks() {
		return nil
	}
	consent, err := s.consentOf(ctx, tx, c.OrgUID)
	if err != nil {
		return err
	}
	addresses, _, err := addressesOf(ctx, tx, c)
	if err != nil {
		return err
	}
	before := s.now().Add(-linkInterval)
	for _, address := range addresses {
		if consent.hasLink(address) && !consent.given(address) && !consent.known[addressKey(address)].RequestedAt.After(before) {
			if err := tx.Addresses.DeleteUnconfirmed(ctx, c.OrgUID, addressKey(address), before); err != nil {
				return err
			}
		}
	}
	return tx.Channels.Wake(ctx, c.OrgUID, c.UID, s.now())
}

// wakeForLinks makes a channel due at that time if it has addresses without a link.
func (s *links) wakeForLinks(ctx context.Context, tx *store.Tx, claimed store.ClaimedChannel, at time.Time) error {
	if !s.canSendLinks() {
		return nil
	}
	c, err := tx.Channels.Get(ctx, claimed.OrgUID, claimed.UID)
	if errors.Is(err, store.ErrNotFound) || err == nil && c.Type != TypeEmail {
		return nil
	}
	if err != nil {
		return err
	}
	to, err := s.recipients(ctx, tx, c)
	if err != nil || len(to.withoutLink) == 0 {
		return err
	}
	return tx.Channels.Wake(ctx, c.OrgUID, c.UID, at)
}
