// Package auth authenticates callers: it logs users in, refreshes their tokens, checks tokens and API keys, and decides
// what a principal may do.
//
// It stores no secret in plaintext, returns the same response for every refused login, and decides about sessions and
// waits in pure functions of row, time and token (refreshdecision.go, package throttle). Package directory manages
// organizations and their users and projects.
package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/fingerprints"
	"github.com/regwarden/regwarden/internal/service/auth/passwordhash"
	"github.com/regwarden/regwarden/internal/service/hashing"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/service/throttle"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Limits and defaults of the settings.
const (
	maxTokenLifetime = 15 * time.Minute // promised by the interface

	defaultIssuer       = "regwarden"
	defaultRefreshGrace = 30 * time.Second
	defaultSessionIdle  = 7 * 24 * time.Hour
	defaultSessionMax   = 30 * 24 * time.Hour
	defaultLoginQueue   = 64
	defaultLoginWait    = 2 * time.Second
	defaultFreeFailures = 5
	defaultLoginMaxWait = 15 * time.Minute
)

// Config has the settings. Zero values stand for the defaults.
type Config struct {
	Issuer        string        // "regwarden"
	TokenLifetime time.Duration // default and maximum: 15 minutes
	RefreshGrace  time.Duration // how long a consumed refresh token may be sent again: 30 s
	SessionIdle   time.Duration // a session ends after this time without a refresh: 7 days
	SessionMax    time.Duration // a session ends after this time in any case: 30 days

	// RefreshAcceptsAuthorization makes the refresh path accept a live authorization token, once. Palette's public
	// clients need it.
	RefreshAcceptsAuthorization bool

	// OmitRefreshRecords makes refreshes write no audit record, except for those that are refused or retried.
	OmitRefreshRecords bool

	LoginWorkers int           // passwords hashed at once: one per CPU
	LoginQueue   int           // logins that may wait for a worker: 64
	LoginWait    time.Duration // maximum wait in the queue: 2 s

	LoginFreeFailures int           // wrong passwords of one source for one account before it has to wait: 5
	LoginMaxWait      time.Duration // the longest wait after wrong passwords: 15 minutes

	ComputeHash func(hashing.Input) ([]byte, error) // hashing.Compute; its errors are temporary

	Log *slog.Logger // also gets alerts; nil discards them

	DefaultOrg string           // organization of a login without one; empty: it is required
	Now        func() time.Time // time.Now; a server has a clock that does not go back
	// WaitNow is the clock of waits after failed logins: Now by default. A server has one that ignores steps of its machine's clock.
	WaitNow func() time.Time

	PollTime time.Duration // maximum time of a query for the changes of other processes: 2 s

	hashCost passwordhash.Cost // passwordhash.DefaultCost; only for tests of this package, to hash fast
}

// withDefaults fills zero values.
func (c Config) withDefaults() Config {
	c.Issuer = cmp.Or(c.Issuer, defaultIssuer)
	c.TokenLifetime = cmp.Or(c.TokenLifetime, maxTokenLifetime)
	c.RefreshGrace = cmp.Or(c.RefreshGrace, defaultRefreshGrace)
	c.SessionIdle = cmp.Or(c.SessionIdle, defaultSessionIdle)
	c.SessionMax = cmp.Or(c.SessionMax, defaultSessionMax)
	c.PollTime = cmp.Or(c.PollTime, pollTimeout)
	c.LoginWorkers = cmp.Or(c.LoginWorkers, runtime.GOMAXPROCS(0))
	c.LoginQueue = cmp.Or(c.LoginQueue, defaultLoginQueue)
	c.LoginWait = cmp.Or(c.LoginWait, defaultLoginWait)
	c.hashCost = cmp.Or(c.hashCost, passwordhash.DefaultCost)
	c.LoginFreeFailures = cmp.Or(c.LoginFreeFailures, defaultFreeFailures)
	c.LoginMaxWait = cmp.Or(c.LoginMaxWait, defaultLoginMaxWait)
	if c.ComputeHash == nil {
		c.ComputeHash = hashing.Compute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.WaitNow == nil {
		c.WaitNow = c.Now
	}
	return c
}

// validate returns all problems of a configuration with defaults.
func (c Config) validate() error {
	var problems []error
	for _, rule := range []struct {
		broken  bool
		problem string
	}{
		{c.TokenLifetime < time.Second || c.TokenLifetime > maxTokenLifetime, "the token lifetime must be 1s to 15m"},
		{c.RefreshGrace < 0 || c.RefreshGrace > maxTokenLifetime, "the refresh grace period must be 0s to 15m"},
		{c.SessionIdle < time.Minute, "the idle time of a session must be at least 1m"},
		{c.SessionMax < c.SessionIdle, "the maximum lifetime of a session must be at least its idle time"},
		{c.LoginWorkers < 1 || c.LoginQueue < 1 || c.LoginWait < 0, "login workers, queue and wait must be positive"},
		{c.LoginFreeFailures < 1 || c.LoginFreeFailures > throttle.AlertAfter, "the free failures of a login must be 1 to 100"},
		{c.LoginMaxWait < time.Second || c.LoginMaxWait > 24*time.Hour, "the longest wait after failed logins must be 1s to 24h"},
	} {
		if rule.broken {
			problems = append(problems, errors.New(rule.problem))
		}
	}
	return errors.Join(problems...)
}

// Service has the parts of this package, which work on one store.
type Service struct {
	Authenticator *Authenticator
	Logins        *Logins
	Sessions      *Sessions
	APIKeys       *APIKeys
	Keys          *Keys
	Passwords     *Passwords // for packages that create users

	changes    *changePoller
	identities *identityCheck
}

// idleOf returns after which time without a refresh a session of an organization ends.
func (c Config) idleOf(org store.Org) time.Duration {
	if org.SessionIdle == 0 {
		return c.SessionIdle
	}
	return min(c.SessionIdle, org.SessionIdle)
}

// identityCheck asks the identity provider of a session about its user.
type identityCheck struct {
	ask func(ctx context.Context, session string) error
}

// recheck ends the session, or moves its RecheckAt to the future.
func (c *identityCheck) recheck(ctx context.Context, session string) error {
	if c.ask == nil {
		return errors.New("this process asks no identity provider")
	}
	return c.ask(ctx, session)
}

// AskProvider sets how the identity provider of a session is asked about its user: ask ends the session of that uid, or moves its
// RecheckAt to the future. It is called before the first request.
func (s *Service) AskProvider(ask func(ctx context.Context, session string) error) {
	s.identities.ask = ask
}

// New returns the service of an open store, and generates its keys at the first start.
func New(ctx context.Context, db *store.DB, config Config) (*Service, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("settings of login and sessions: %w", err)
	}
	now, waitNow, cache, passwords := config.Now, config.WaitNow, newCredentialCache(), newPasswords(config)
	keys := &Keys{db: db, now: now, sessionMax: config.SessionMax}
	changes := newChangePoller(db, cache, keys.reload, config.PollTime)
	identities := &identityCheck{}
	tokens := &tokens{issuer: config.Issuer, lifetime: config.TokenLifetime, now: now, keys: keys, changes: changes}
	s := &Service{
		Authenticator: &Authenticator{db: db, now: now, sessionIdle: config.SessionIdle, recordTime: recordUseTimeout,
			tokens: tokens, changes: changes, cache: cache,
			accepted: &acceptedTokens{Set: fingerprints.New()}, identities: identities},
		Logins: &Logins{db: db, config: config, now: now, waitNow: waitNow, passwords: passwords, keys: keys, tokens: tokens,
			history: cache.History, throttle: throttle.Rules{Free: int64(config.LoginFreeFailures), MaxWait: config.LoginMaxWait}},
		Sessions:  &Sessions{db: db, config: config, now: now, keys: keys, tokens: tokens, history: cache.History, identities: identities},
		APIKeys:   &APIKeys{db: db, now: now, waitNow: waitNow, revocations: perminute.New(revocationsPerMinute)},
		Keys:      keys,
		Passwords: passwords,
		changes:   changes, identities: identities,
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	db.OnChange(cache.Add)
	return s, nil
}

// begin reads where the list of changes begins that concern live tokens, then the keys, so that reading the list finds a rotation in
// between.
func (s *Service) begin(ctx context.Context) error {
	if err := s.changes.begin(ctx); err != nil {
		return fmt.Errorf("read the changes: %w", err)
	}
	if err := s.Keys.reload(ctx); err != nil {
		return err
	}
	return fault.Wrap("read the changes", s.changes.readFirst(ctx))
}

// PollChanges follows the changes of other processes in the store until ctx ends.
func (s *Service) PollChanges(ctx context.Context) { s.changes.run(ctx) }
