// Package auth authenticates callers: it logs users in, renews their tokens, checks tokens and API
// keys, and decides what a principal may do.
//
// It stores no secret in clear, returns the same response for every refused login, and decides about sessions
// and waits in pure functions of row, clock and token (refreshdecision.go, throttle.go). Organizations and what
// users belong to are managed in internal/directory.
package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/hashing"
	"github.com/regwarden/regwarden/internal/store"
)

// Bounds and defaults of the settings.
const (
	maxTokenLifetime = 15 * time.Minute // the interface promises 15 minutes

	defaultIssuer       = "regwarden"
	defaultRefreshGrace = 30 * time.Second
	defaultSessionIdle  = 7 * 24 * time.Hour
	defaultSessionMax   = 30 * 24 * time.Hour
	defaultLoginQueue   = 64
	defaultLoginWait    = 2 * time.Second
	defaultFreeFailures = 5
	defaultLoginMaxWait = 15 * time.Minute
)

// Config is what can be set. Zero values stand for the defaults.
type Config struct {
	Issuer        string        // "regwarden"
	TokenLifetime time.Duration // 15 minutes, which is also the most
	RefreshGrace  time.Duration // 30 s: how long a consumed refresh token may be sent again
	SessionIdle   time.Duration // 7 days without a refresh end a session
	SessionMax    time.Duration // 30 days end it in any case

	// RefreshAcceptsAuthorization lets the refresh path take a live authorization token, once. Palette's
	// public clients need it; the zero value refuses.
	RefreshAcceptsAuthorization bool

	LoginWorkers int           // passwords hashed at once: one per CPU
	LoginQueue   int           // sign-ins that may wait for a worker: 64
	LoginWait    time.Duration // how long: 2 s
	Hash         HashCost      // may only raise the default

	LoginFreeFailures int           // wrong passwords of one source for one account before it has to wait: 5
	LoginMaxWait      time.Duration // the longest wait that wrong passwords lead to: 15 minutes

	ComputeHash func(hashing.Input) ([]byte, error) // hashing.Compute; its errors are temporary

	Log *slog.Logger // alerts go here too; nil: nowhere

	DefaultOrg string           // organization of a sign-in that names none; empty: naming one is required
	Now        func() time.Time // time.Now

	testHash HashCost // set by this package's tests alone, to hash cheaply
}

// withDefaults fills zero values and lists all that is wrong with the rest.
func (c Config) withDefaults() (Config, error) {
	c.Issuer = cmp.Or(c.Issuer, defaultIssuer)
	c.TokenLifetime = cmp.Or(c.TokenLifetime, maxTokenLifetime)
	c.RefreshGrace = cmp.Or(c.RefreshGrace, defaultRefreshGrace)
	c.SessionIdle = cmp.Or(c.SessionIdle, defaultSessionIdle)
	c.SessionMax = cmp.Or(c.SessionMax, defaultSessionMax)
	c.LoginWorkers = cmp.Or(c.LoginWorkers, runtime.GOMAXPROCS(0))
	c.LoginQueue = cmp.Or(c.LoginQueue, defaultLoginQueue)
	c.LoginWait = cmp.Or(c.LoginWait, defaultLoginWait)
	c.Hash = cmp.Or(c.Hash, defaultHashCost)
	c.LoginFreeFailures = cmp.Or(c.LoginFreeFailures, defaultFreeFailures)
	c.LoginMaxWait = cmp.Or(c.LoginMaxWait, defaultLoginMaxWait)
	if c.ComputeHash == nil {
		c.ComputeHash = hashing.Compute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	var problems []error
	for _, rule := range []struct {
		broken bool
		says   string
	}{
		{c.TokenLifetime < time.Second || c.TokenLifetime > maxTokenLifetime, "the token lifetime must be 1s to 15m"},
		{c.RefreshGrace < 0 || c.RefreshGrace > maxTokenLifetime, "the refresh grace must be 0s to 15m"},
		{c.SessionIdle < time.Minute, "the idle end of a session must be at least 1m away"},
		{c.SessionMax < c.SessionIdle, "the absolute end of a session must not be before its idle end"},
		{c.LoginWorkers < 1 || c.LoginQueue < 1 || c.LoginWait < 0, "login workers, queue and wait must be positive"},
		{c.LoginFreeFailures < 1 || c.LoginFreeFailures > alertAfter, "the free failures of a sign-in must be 1 to 100"},
		{c.LoginMaxWait < time.Second || c.LoginMaxWait > 24*time.Hour, "the longest wait after failed sign-ins must be 1s to 24h"},
		{!c.Hash.atLeast(defaultHashCost), fmt.Sprintf("the password hash may only be made stronger than %v", defaultHashCost)},
	} {
		if rule.broken {
			problems = append(problems, errors.New(rule.says))
		}
	}
	if c.testHash != (HashCost{}) {
		c.Hash = c.testHash
	}
	return c, errors.Join(problems...)
}

// Service is safe for concurrent use.
type Service struct {
	db        *store.DB
	config    Config
	passwords *Passwords
	keys      atomic.Pointer[keySet]
	cache     *credentialCache
	changes   *changePoller
	throttle  throttleRules
}

// New makes the service on an opened store, and makes its keys at the first start.
func New(ctx context.Context, db *store.DB, config Config) (*Service, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("settings of sign-in and sessions: %w", err)
	}
	passwords, err := newPasswords(config)
	if err != nil {
		return nil, err
	}
	s := &Service{db: db, config: config, passwords: passwords, cache: newCredentialCache(),
		throttle: throttleRules{free: int64(config.LoginFreeFailures), maxWait: config.LoginMaxWait}}
	s.changes = newChangePoller(db, s.cache, s.reloadKeys)
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	db.OnChange(s.cache.invalidate)
	return s, nil
}

// begin reads the last change, and then the keys: the next poll finds a rotation in between.
func (s *Service) begin(ctx context.Context) (err error) {
	if s.changes.last, err = s.changes.readLast(ctx); err != nil {
		return fmt.Errorf("read the last change: %w", err)
	}
	keys, err := loadKeys(ctx, s.db, s.now())
	if err != nil {
		return fmt.Errorf("load the keys of the service: %w", err)
	}
	s.keys.Store(keys)
	return nil
}

// Passwords returns what hashes and checks passwords, for those who create users.
func (s *Service) Passwords() *Passwords { return s.passwords }

// PollChanges follows what other processes change in the store, until ctx ends.
func (s *Service) PollChanges(ctx context.Context) { s.changes.run(ctx) }

// JWKS is the document of the public signing keys (RFC 7517).
func (s *Service) JWKS() []byte { return s.keySet().jwks }

// now is the service's clock.
func (s *Service) now() time.Time { return s.config.Now() }
