// Package auth knows who is calling: it signs users in, renews their tokens, checks tokens and API
// keys, and says what a principal may do.
//
// It keeps no secret in clear outside its memory, answers every refused sign-in in one way, and decides
// about sessions and waits in pure functions over row, clock and token (session.go, throttle.go). It does
// not manage organizations, nor what users belong to: that is internal/directory.
package auth

import (
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
	RefreshGrace  time.Duration // 30 s: how long a spent refresh token may be sent again
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
	fill(&c.Issuer, defaultIssuer)
	fill(&c.TokenLifetime, maxTokenLifetime)
	fill(&c.RefreshGrace, defaultRefreshGrace)
	fill(&c.SessionIdle, defaultSessionIdle)
	fill(&c.SessionMax, defaultSessionMax)
	fill(&c.LoginWorkers, runtime.GOMAXPROCS(0))
	fill(&c.LoginQueue, defaultLoginQueue)
	fill(&c.LoginWait, defaultLoginWait)
	fill(&c.Hash, defaultHashCost)
	fill(&c.LoginFreeFailures, defaultFreeFailures)
	fill(&c.LoginMaxWait, defaultLoginMaxWait)
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

func fill[T comparable](setting *T, standard T) {
	var zero T
	if *setting == zero {
		*setting = standard
	}
}

// Service is safe for concurrent use.
type Service struct {
	db        *store.DB
	config    Config
	passwords *Passwords
	keys      atomic.Pointer[keySet]
	view      *view
	hearing   hearing
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
	s := &Service{db: db, config: config, passwords: passwords, view: newView(), hearing: hearing{born: time.Now()},
		throttle: throttleRules{free: int64(config.LoginFreeFailures), maxWait: config.LoginMaxWait}}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	db.OnChange(s.view.tell)
	return s, nil
}

// begin reads where the list of changes stands, and then the keys: a rotation in between is heard of later.
func (s *Service) begin(ctx context.Context) error {
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		s.hearing.last, err = tx.Changes.Last(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("read where the list of changes stands: %w", err)
	}
	keys, err := loadKeys(ctx, s.db, s.now())
	if err != nil {
		return fmt.Errorf("load the keys of the service: %w", err)
	}
	s.keys.Store(keys)
	return nil
}

// Passwords returns what hashes and judges passwords, for those who make users.
func (s *Service) Passwords() *Passwords { return s.passwords }

// JWKS is the document of the public signing keys (RFC 7517).
func (s *Service) JWKS() []byte { return s.keySet().jwks }

const (
	sweepAfter = 24 * time.Hour // past its end; a clock that runs hours ahead must destroy nothing
	sweepStep  = 100            // rows of one transaction: in a large table each is on pages of its own
)

// Sweep deletes sessions and exchanged tokens that ended long ago, in small steps. It is meant to be
// called about once an hour.
func (s *Service) Sweep(ctx context.Context) error {
	before := s.now().Add(-sweepAfter)
	for _, step := range []func(*store.Tx) (int64, error){
		func(tx *store.Tx) (int64, error) { return tx.Sessions.DeleteSpentJTIs(ctx, before, sweepStep) },
		func(tx *store.Tx) (int64, error) { return tx.Sessions.DeleteBefore(ctx, before, sweepStep) },
		func(tx *store.Tx) (int64, error) { return tx.Changes.DeleteBefore(ctx, before, sweepStep) },
		func(tx *store.Tx) (int64, error) {
			return tx.Throttling.DeleteBefore(ctx, s.now().Add(-time.Hour), sweepStep)
		},
		func(tx *store.Tx) (int64, error) {
			return tx.Allowances.DeleteBefore(ctx, s.now().Add(-time.Hour), sweepStep)
		},
	} {
		if err := s.inSteps(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// inSteps runs a deletion until it finds less than a whole step, each step in a transaction of its own. After each it
// pauses for as long as that took, so that at most half of what the store can do goes into it.
func (s *Service) inSteps(ctx context.Context, step func(*store.Tx) (int64, error)) error {
	for {
		began, more := time.Now(), false
		err := s.db.InTx(ctx, func(tx *store.Tx) error {
			deleted, err := step(tx)
			more = deleted == sweepStep
			return err
		})
		if err != nil {
			return fmt.Errorf("delete what ended long ago: %w", err)
		}
		if !more {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
}

// now is the service's clock.
func (s *Service) now() time.Time { return s.config.Now() }
