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
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/queue"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	// workers is how many channels deliver concurrently. A channel has one worker at most, so that a slow receiver blocks only one.
	workers = 16
	// leaseTime is longer than an attempt and storing its outcome. After a crash, a delivery under way is retried after it.
	leaseTime      = 30 * time.Second
	attemptTimeout = 15 * time.Second
)

// Outcome is the outcome of a delivery attempt, for metrics.
type Outcome string

// Outcomes of attempts.
const (
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed"
	Forbidden Outcome = "forbidden" // by the egress policy, or not confirmed by the address: the receiver was not contacted
	GivenUp   Outcome = "givenUp"
)

// Outcomes returns all outcomes of attempts.
func Outcomes() []Outcome { return []Outcome{Delivered, Failed, Forbidden, GivenUp} }

// Config configures the delivery of alerts. The zero values are the system's resolver, dialer and roots, the zero policy, no proxy
// and no mail server.
type Config struct {
	Egress   egress.Policy
	Resolver egress.Resolver
	Dialer   egress.Dialer
	Roots    *x509.CertPool
	Proxy    func(target *url.URL) (*url.URL, error)
	// ProxyConnect is the target that the proxy gets.
	ProxyConnect egress.ProxyConnect
	// Header is sent with every webhook. The server recognizes its own webhooks by it and refuses them.
	Header map[string]string
	Mail   *Mail // nil: channels of type email are refused
	// MailDomains are the domains, as egress.ReadHost spells them, whose addresses need no confirmation.
	MailDomains []string
	// Links is the prefix of confirmation links, before the token. Empty: addresses outside of MailDomains are refused.
	Links string
	// Pages is the URL below which the console is, with a slash at the end. Empty: alerts have no links.
	Pages string
	// MailsPerHour is how many messages an organization may send per hour; 0 is 200.
	MailsPerHour int
	// ChecksPerMinute is how many checks and other contacts of hosts a user may cause per minute; 0 is 120.
	ChecksPerMinute int
	// ObserveLatency is called with how late an attempt begins.
	ObserveLatency func(time.Duration)
	Observe        func(channelType string, o Outcome)
	Log            *slog.Logger
}

func (c Config) withDefaults() Config {
	c.ChecksPerMinute = cmp.Or(c.ChecksPerMinute, 120)
	c.MailsPerHour = cmp.Or(c.MailsPerHour, 200)
	return c
}

// link returns the page of what an alert is about, empty if the URL of the service is not known.
func (c Config) link(a Alert) string {
	switch {
	case c.Pages == "":
		return ""
	case a.Registry == nil:
		return c.Pages + "api-keys"
	}
	return c.Pages + "registries/" + url.PathEscape(a.Registry.UID)
}

// Deliverer sends alerts to channels.
type Deliverer struct {
	db     *store.DB
	config Config
	now    func() time.Time
	links  *links
	sender *sender
}

// Deliver sends pending deliveries until ctx ends. Any number of replicas may use the same store.
func (s *Deliverer) Deliver(ctx context.Context) {
	queue.Queue[store.ClaimedChannel]{
		Name:    "alerts",
		Workers: workers,
		Waiting: func(ctx context.Context) ([]string, error) {
			return store.Read(ctx, s.db, func(tx *store.Tx) ([]string, error) { return tx.Outbox.DueOrgs(ctx, s.now()) })
		},
		Claim: s.claim,
		OrgOf: func(c store.ClaimedChannel) string { return c.OrgUID },
		Work:  s.deliver,
		Log:   s.config.Log,
	}.Run(ctx)
}

func (s *Deliverer) claim(ctx context.Context, shares []queue.Share) ([]store.ClaimedChannel, error) {
	owner, now := uuid.NewString(), s.now()
	return store.Write(ctx, s.db, func(tx *store.Tx) ([]store.ClaimedChannel, error) {
		return tx.Outbox.Claim(ctx, owner, now, now.Add(leaseTime), shares)
	})
}

// deliver sends the next pending delivery of a channel and releases the channel.
func (s *Deliverer) deliver(ctx context.Context, claimed store.ClaimedChannel) {
	err := s.attempt(ctx, claimed)
	if err == nil {
		return
	}
	if ctx.Err() == nil && s.config.Log != nil {
		s.config.Log.Error("alert not sent", "channel", claimed.UID, "error", err)
	}
	after := s.now()
	if ctx.Err() == nil {
		after = after.Add(firstWait)
	}
	err = s.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.Outbox.Release(ctx, claimed, after) })
	if err != nil && s.config.Log != nil {
		s.config.Log.Error("lease not released; it will expire", "channel", claimed.UID, "error", err)
	}
}

// attempt makes one attempt and stores its outcome. A failure of the receiver is not an error.
func (s *Deliverer) attempt(ctx context.Context, claimed store.ClaimedChannel) error {
	channel, pending, err := s.nextDelivery(ctx, claimed)
	if errors.Is(err, store.ErrNotFound) || err == nil && !channel.Active {
		return s.endIdle(ctx, claimed, channel)
	}
	if err != nil {
		return err
	}
	if s.config.ObserveLatency != nil {
		s.config.ObserveLatency(s.now().Sub(pending.NextAt))
	}
	alert, err := readAlert(pending)
	if err != nil {
		return err
	}
	sent := s.sender.send(ctx, channel, pending, alert)
	if ctx.Err() != nil && !sent.ok && len(sent.sentTo) == len(pending.Processed) {
		return ctx.Err() // the service ends, which is not a failure of the receiver
	}
	return s.endAttempt(ctx, claimed, channel, pending, sent)
}

// nextDelivery reads a channel, and what is to be sent to it next.
func (s *Deliverer) nextDelivery(ctx context.Context, claimed store.ClaimedChannel) (
	channel store.Channel, pending store.Delivery, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if channel, err = tx.Channels.Get(ctx, claimed.OrgUID, claimed.UID); err != nil {
			return err
		}
		pending, err = tx.Outbox.Next(ctx, claimed.UID, s.now())
		return err
	})
	return channel, pending, err
}

// endAttempt stores the outcome of an attempt, and releases the channel.
func (s *Deliverer) endAttempt(ctx context.Context, claimed store.ClaimedChannel, channel store.Channel, pending store.Delivery,
	sent result) error {
	now := s.now()
	after, failures, notBefore := next(pending, channel.Failures, sent, now)
	status := store.ChannelStatus{OK: sent.ok || sent.more && sent.pause == 0 && after.EndedAt.IsZero(), Message: sent.message, At: now}
	if !sent.ok && !after.EndedAt.IsZero() {
		status.Message = "given up after three days: " + status.Message
	}
	err := storeOutcome(ctx, s.db, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Outbox.EndAttempt(ctx, claimed, after, failures, status, notBefore); err != nil {
			return err
		}
		if sent.ok || sent.blocked { // otherwise the mail server is contacted only when the retry is due
			return s.links.wakeForLinks(ctx, tx, claimed, now)
		}
		return nil
	})
	if err == nil {
		s.observe(channel.Type, sent, after)
	}
	return err
}

// endIdle sends the links of a channel without pending deliveries, and releases it.
func (s *Deliverer) endIdle(ctx context.Context, claimed store.ClaimedChannel, channel store.Channel) error {
	next := s.now()
	if channel.Active {
		pause, err := s.links.sendLinks(ctx, channel)
		if err != nil {
			return err
		}
		next = next.Add(pause)
	}
	return storeOutcome(ctx, s.db, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Outbox.EndIdle(ctx, claimed); err != nil {
			return err
		}
		return s.links.wakeForLinks(ctx, tx, claimed, next)
	})
}

// storeOutcome stores an outcome, also when the service ends.
func storeOutcome(ctx context.Context, db *store.DB, write func(context.Context, *store.Tx) error) error {
	return fault.Wrap("store the outcome of an attempt", db.InTxDetached(ctx, write))
}

func (s *Deliverer) observe(channelType string, sent result, after store.Delivery) {
	if s.config.Observe == nil {
		return
	}
	switch {
	case sent.more && after.EndedAt.IsZero(): // not finished
	case sent.ok:
		s.config.Observe(channelType, Delivered)
	case !after.EndedAt.IsZero():
		s.config.Observe(channelType, GivenUp)
	case sent.blocked:
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

// sender makes one attempt to send.
type sender struct {
	db     *store.DB
	config Config
	now    func() time.Time
	links  *links
}

func (s *sender) send(ctx context.Context, c store.Channel, d store.Delivery, a Alert) result {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	a.Channel, a.Link = c.Name, s.config.link(a)
	switch {
	case c.Damaged:
		return result{message: "the stored settings of this channel cannot be decrypted; store the channel again", blocked: true,
			sentTo: d.Processed}
	case c.Type == TypeEmail:
		return s.email(ctx, c, d, a)
	default:
		return s.webhook(ctx, c, d, a)
	}
}

// CountPending counts the pending deliveries, up to 100,000.
func (s *Deliverer) CountPending(ctx context.Context) (int64, error) {
	return store.Read(ctx, s.db, func(tx *store.Tx) (int64, error) { return tx.Outbox.Count(ctx, 100_000) })
}
