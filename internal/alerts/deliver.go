package alerts

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/queue"
	"github.com/regwarden/regwarden/internal/store"
)

const (
	// deliveries is how many channels are served at once. Each is served by one at a time, so that a slow receiver
	// costs one place and no more.
	deliveries = 16
	// lease is longer than an attempt may take and its end needs to be written. It is also how long something on its
	// way waits when the process dies.
	lease       = 30 * time.Second
	attemptTime = 15 * time.Second
)

// Outcome says how an attempt to deliver ended, for those who count.
type Outcome string

// Outcomes of attempts.
const (
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed"
	Forbidden Outcome = "forbidden" // by the egress policy, or not confirmed by the address: the receiver was not contacted
	GivenUp   Outcome = "givenUp"
)

// Config says how alerts are delivered. Zero fields mean the system's resolver, dialer and roots, the zero policy,
// no proxy and no mail server.
type Config struct {
	Egress   egress.Policy
	Resolver egress.Resolver
	Dialer   egress.Dialer
	Roots    *x509.CertPool
	Proxy    func(target *url.URL) (*url.URL, error)
	// ProxyConnect is what the proxy is asked to connect to.
	ProxyConnect egress.ProxyConnect
	// Header is sent with every webhook: the mark by which our own server knows and refuses what comes back to it.
	Header map[string]string
	Mail   *Mail // nil: channels of type email are refused
	// MailDomains are the domains, as egress.ReadHost spells them, whose addresses need not confirm that they want alerts.
	MailDomains []string
	// Links begins the links by which other addresses confirm; a token follows. Empty: they cannot, and are refused.
	Links string
	// MailsPerHour is how many messages an organization may send per hour; 0 is 200.
	MailsPerHour int
	// ChecksPerMinute is how many checks and other contacts of hosts a user may cause per minute; 0 is 120.
	ChecksPerMinute int
	Observe         func(channelType string, o Outcome)
	Log             *slog.Logger
}

func (c Config) withDefaults() Config {
	c.ChecksPerMinute = cmp.Or(c.ChecksPerMinute, 120)
	c.MailsPerHour = cmp.Or(c.MailsPerHour, 200)
	return c
}

// Deliver sends what is owed until ctx ends. Any number of replicas may work on the same store.
func (s *Service) Deliver(ctx context.Context) {
	queue.Queue[store.ClaimedChannel]{
		Name:    "alerts",
		Workers: deliveries,
		Waiting: func(ctx context.Context) (orgs []string, err error) {
			err = s.db.View(ctx, func(tx *store.Tx) (err error) {
				orgs, err = tx.Outbox.DueOrgs(ctx, s.now())
				return err
			})
			return orgs, err
		},
		Claim: s.claim,
		OrgOf: func(c store.ClaimedChannel) string { return c.OrgUID },
		Work:  s.serve,
		Log:   s.config.Log,
	}.Run(ctx)
}

func (s *Service) claim(ctx context.Context, shares []queue.Share) (rows []store.ClaimedChannel, err error) {
	wanted := make([]store.Share, len(shares))
	for i, share := range shares {
		wanted[i] = store.Share(share)
	}
	owner, now := uuid.NewString(), s.now()
	err = s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.Outbox.Claim(ctx, owner, now, now.Add(lease), wanted)
		return err
	})
	return rows, err
}

// serve sends one alert by a channel, and gives the channel back.
func (s *Service) serve(ctx context.Context, claimed store.ClaimedChannel) {
	err := s.try(ctx, claimed)
	if err == nil {
		return
	}
	if ctx.Err() == nil && s.config.Log != nil {
		s.config.Log.Error("an alert was not sent", "channel", claimed.UID, "error", err)
	}
	after := s.now()
	if ctx.Err() == nil {
		after = after.Add(firstWait)
	}
	err = s.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.Outbox.Release(ctx, claimed, after) })
	if err != nil && s.config.Log != nil {
		s.config.Log.Error("a lease was not given back and will run out", "channel", claimed.UID, "error", err)
	}
}

// try makes one attempt and stores how it ended. Its error is one of ours.
func (s *Service) try(ctx context.Context, claimed store.ClaimedChannel) error {
	var channel store.Channel
	var owed store.Delivery
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		if channel, err = tx.Channels.Get(ctx, claimed.OrgUID, claimed.UID); err != nil {
			return err
		}
		owed, err = tx.Outbox.Next(ctx, claimed.UID, s.now())
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && !channel.Active {
		return s.endIdle(ctx, claimed, channel)
	}
	if err != nil {
		return err
	}
	alert, err := readAlert(owed)
	if err != nil {
		return err
	}
	sent := s.send(ctx, channel, owed, alert)
	if ctx.Err() != nil && !sent.ok {
		return ctx.Err() // cut off by our own end: no failure of the receiver
	}
	now := s.now()
	after, failures, notBefore := next(owed, channel.Failures, sent, now)
	status := store.ChannelStatus{OK: sent.ok || sent.more && sent.pause == 0 && after.EndedAt.IsZero(), Message: sent.message, At: now}
	if !sent.ok && !after.EndedAt.IsZero() {
		status.Message = "given up after three days: " + status.Message
	}
	err = s.record(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Outbox.EndAttempt(ctx, claimed, after, failures, status, notBefore); err != nil {
			return err
		}
		if sent.ok || sent.rare { // else the mail server is not to be bothered sooner than is planned
			return s.wakeToAsk(ctx, tx, claimed, now)
		}
		return nil
	})
	if err == nil {
		s.observe(channel.Type, sent, after)
	}
	return err
}

// endIdle uses the time of a channel that has nothing to send to ask its addresses, and gives it back.
func (s *Service) endIdle(ctx context.Context, claimed store.ClaimedChannel, channel store.Channel) error {
	next := s.now()
	if channel.Active {
		pause, err := s.ask(ctx, channel)
		if err != nil {
			return err
		}
		next = next.Add(pause)
	}
	return s.record(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Outbox.EndIdle(ctx, claimed); err != nil {
			return err
		}
		return s.wakeToAsk(ctx, tx, claimed, next)
	})
}

// record writes the end of what was done, also when the service is to end.
func (s *Service) record(ctx context.Context, write func(context.Context, *store.Tx) error) error {
	if err := s.db.InTxDetached(ctx, write); err != nil {
		return fmt.Errorf("store how an attempt ended: %w", err)
	}
	return nil
}

func (s *Service) observe(channelType string, sent result, after store.Delivery) {
	if s.config.Observe == nil {
		return
	}
	switch {
	case sent.more && after.EndedAt.IsZero(): // it has not ended
	case sent.ok:
		s.config.Observe(channelType, Delivered)
	case !after.EndedAt.IsZero():
		s.config.Observe(channelType, GivenUp)
	case sent.rare:
		s.config.Observe(channelType, Forbidden)
	default:
		s.config.Observe(channelType, Failed)
	}
}

func readAlert(d store.Delivery) (a Alert, err error) {
	if err := json.Unmarshal(d.AlertBody, &a); err != nil {
		return a, fmt.Errorf("read alert %s: %w", d.AlertUID, err)
	}
	return a, nil
}

func (s *Service) send(ctx context.Context, c store.Channel, d store.Delivery, a Alert) result {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	switch {
	case c.Damaged:
		return result{message: "what is stored of this channel cannot be read; send the channel again", rare: true}
	case c.Type == TypeEmail:
		return s.email(ctx, c, d, a)
	default:
		return s.webhook(ctx, c, d, a)
	}
}

// Waiting counts what is still to be sent, up to 100,000.
func (s *Service) Waiting(ctx context.Context) (n int64, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Outbox.Count(ctx, 100_000)
		return err
	})
	return n, err
}
