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
	"github.com/regwarden/regwarden/internal/store"
)

// consent is which addresses an organization may send alerts to: those in the operator's domains, and those that confirmed. The
// addresses of users need it too, since administrators create users with any address.
type consent struct {
	domains []string
	known   map[string]store.AlertAddress
}

func (s *Service) consentOf(ctx context.Context, tx *store.Tx, orgUID string) (consent, error) {
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

// asked reports whether a link was sent to an address.
func (c consent) asked(address string) bool {
	_, is := c.known[addressKey(address)]
	return is
}

// addressKey is the spelling in which an address is stored, so that variants of it are not sent a link each. Only ASCII letters
// are changed: other mappings would let one address confirm for another.
func addressKey(address string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, address)
}

// recipients are the addresses of a channel.
type recipients struct {
	confirmed   []string
	unconfirmed int
	unasked     []string // of the unconfirmed ones, those that no link was sent to
	cut         bool     // there are more users than one alert is sent to
}

func (s *Service) recipients(ctx context.Context, tx *store.Tx, c store.Channel) (to recipients, err error) {
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
		case consent.asked(address):
			to.unconfirmed++
		default:
			to.unconfirmed++
			to.unasked = append(to.unasked, address)
		}
	}
	return to, err
}

// addressesOf returns the channel's own addresses, and those of the project's users when all of them get alerts; of very many
// users the first.
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

// complete is fill with the problems that only the store knows: without links, addresses outside of the operator's domains
// could never be confirmed.
func (s *Service) complete(ctx context.Context, tx *store.Tx, in Scope, w Channel, old store.Channel) (store.Channel, []fault.Field, error) {
	c, found := s.fill(w, old)
	c.OrgUID, c.ProjectUID = in.OrgUID, in.ProjectUID
	if c.Type != TypeEmail || len(found) > 0 || s.config.Links != "" {
		return c, found, nil
	}
	consent, err := s.consentOf(ctx, tx, in.OrgUID)
	if err != nil {
		return c, nil, err
	}
	more, err := unconfirmable(ctx, tx, c, consent)
	return c, more, err
}

func unconfirmable(ctx context.Context, tx *store.Tx, c store.Channel, consent consent) (found problems, err error) {
	const problem = "must be in a domain of the setting alert-mail-domains; other addresses cannot be confirmed, since the setting public-url is missing"
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

// asks reports whether addresses are sent links at all.
func (s *Service) asks() bool { return s.config.Mail != nil && s.config.Links != "" }

// expectConsent has the addresses of a stored channel asked, also those that did not confirm the link of another day.
func (s *Service) expectConsent(ctx context.Context, tx *store.Tx, c store.Channel) error {
	if c.Type != TypeEmail || !s.asks() {
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
	before := s.now().Add(-askAgain)
	for _, address := range addresses {
		if consent.asked(address) && !consent.given(address) && !consent.known[addressKey(address)].AskedAt.After(before) {
			if err := tx.Addresses.Forget(ctx, c.OrgUID, addressKey(address), before); err != nil {
				return err
			}
		}
	}
	return tx.Channels.Wake(ctx, c.OrgUID, c.UID, s.now())
}

// wakeToAsk has a channel served again at that moment if it has addresses to ask.
func (s *Service) wakeToAsk(ctx context.Context, tx *store.Tx, claimed store.ClaimedChannel, at time.Time) error {
	if !s.asks() {
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
	if err != nil || len(to.unasked) == 0 {
		return err
	}
	return tx.Channels.Wake(ctx, c.OrgUID, c.UID, at)
}
