package registries

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/regwarden/regwarden/internal/fault"
)

// Bounds of the queue in front of the engine (threat model: egress bounds).
const (
	maxWaiting = 64               // validations that wait for a place, in all
	maxWait    = 10 * time.Second // for a place
)

// Limits says how much validation may go on at once. Zero values are the defaults.
type Limits struct {
	Concurrency int // validations at once, in all; default 64
	PerOrg      int // validations at once for one organization; default 8
	PerMinute   int // validations that one user may begin per minute; default 120
}

func (l Limits) withDefaults() Limits {
	if l.Concurrency == 0 {
		l.Concurrency = 64
	}
	if l.PerOrg == 0 {
		l.PerOrg = 8
	}
	if l.PerMinute == 0 {
		l.PerMinute = 120
	}
	return l
}

// gate lets validations through: so many in all, so many of one organization, so often for one
// user. An organization may have as many waiting as running, so that none can fill the queue.
type gate struct {
	limits Limits
	total  *semaphore.Weighted
	now    func() time.Time

	mu      sync.Mutex
	inside  int // waiting and running
	running int
	orgs    map[string]*orgGate
	users   map[string]*rate.Limiter
	swept   time.Time
}

type orgGate struct {
	places *semaphore.Weighted
	inside int
}

func newGate(limits Limits, now func() time.Time) *gate {
	limits = limits.withDefaults()
	return &gate{
		limits: limits,
		total:  semaphore.NewWeighted(int64(limits.Concurrency)),
		now:    now,
		orgs:   map[string]*orgGate{},
		users:  map[string]*rate.Limiter{},
	}
}

// enter waits for a place and returns what gives it back. Its error is a *fault.Error, Limited when
// the caller asks too much and Unavailable when everybody does, or ctx's own.
func (g *gate) enter(ctx context.Context, org, user string) (leave func(), err error) {
	of, err := g.admit(org, user)
	if err != nil {
		return nil, err
	}
	waitCtx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if err := of.places.Acquire(waitCtx, 1); err != nil {
		g.depart(org)
		return nil, tooLong(ctx)
	}
	if err := g.total.Acquire(waitCtx, 1); err != nil {
		of.places.Release(1)
		g.depart(org)
		return nil, tooLong(ctx)
	}
	g.count(1)
	return func() {
		g.count(-1)
		g.total.Release(1)
		of.places.Release(1)
		g.depart(org)
	}, nil
}

func (g *gate) count(more int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running += more
}

// load tells how many validations are under way and how many wait.
func (g *gate) load() (running, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running, g.inside - g.running
}

func tooLong(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fault.Busy("Too many validations are under way; none ended in time.", maxWait)
}

// admit counts the caller in, or says at once that there is no room even to wait.
func (g *gate) admit(org, user string) (*orgGate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if after := g.spend(user); after > 0 {
		return nil, tooOften(after)
	}
	of := g.orgs[org]
	if of == nil {
		of = &orgGate{places: semaphore.NewWeighted(int64(g.limits.PerOrg))}
		g.orgs[org] = of
	}
	switch {
	case of.inside >= 2*g.limits.PerOrg:
		return nil, &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: time.Second,
			Message: "Your organization has too many validations under way."}
	case g.inside >= g.limits.Concurrency+maxWaiting:
		return nil, fault.Busy("Too many validations are under way.", time.Second)
	}
	of.inside++
	g.inside++
	return of, nil
}

func (g *gate) depart(org string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if of := g.orgs[org]; of.inside > 1 {
		of.inside--
	} else {
		delete(g.orgs, org)
	}
}

// spend takes one validation of the user's allowance, or says how long until there is one.
func (g *gate) spend(user string) time.Duration {
	now := g.now()
	if now.Sub(g.swept) > time.Minute {
		for uid, limiter := range g.users {
			if limiter.TokensAt(now) >= float64(g.limits.PerMinute) {
				delete(g.users, uid) // a full allowance is what a new limiter starts with
			}
		}
		g.swept = now
	}
	limiter := g.users[user]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Limit(float64(g.limits.PerMinute)/60), g.limits.PerMinute)
		g.users[user] = limiter
	}
	if limiter.AllowN(now, 1) {
		return 0
	}
	missing := 1 - limiter.TokensAt(now)
	return time.Duration(missing / float64(limiter.Limit()) * float64(time.Second))
}
