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
	maxWaiting = 64               // validations that wait for a slot, in all; and as many that wait for their user's allowance
	maxWait    = 10 * time.Second // for a slot; and as long for the user's allowance
)

// Limits says how much validation may go on at once. Zero values are the defaults.
type Limits struct {
	Concurrency int // validations at once, in all; default 64
	PerOrg      int // validations at once for one organization; default 8
	PerMinute   int // validations that one user may begin per minute, and checks and new webhooks that its changes may cause; default 120

	OrgRegistries int64 // stored by one organization; 0: no limit
	OrgBytes      int64 // of all registries that one organization stores; 0: no limit
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

// gate limits validations: concurrently in all and per organization, and per minute for a user. An organization may have as
// many waiting as running, so that none can fill the queue.
type gate struct {
	limits Limits
	total  *semaphore.Weighted
	now    func() time.Time

	mu      sync.Mutex
	inside  int // waiting and running
	running int
	delayed int // waiting for their user's allowance
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

// enter waits for a slot and returns the function that releases it. Its error is a *fault.Error, Limited when the
// organization has too many and Unavailable when all together have, or ctx's own.
func (g *gate) enter(ctx context.Context, org string) (leave func(), err error) {
	of, err := g.admit(org)
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

// load returns how many validations run and how many wait.
func (g *gate) load() (running, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running, g.inside - g.running + g.delayed
}

func tooLong(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fault.Busy("Too many validations are under way; none ended in time.", maxWait)
}

// admit counts the caller in, or refuses it at once when the queue is full.
func (g *gate) admit(org string) (*orgGate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
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

// delay counts a caller in that may have to wait for its user's allowance, and returns how long it may wait: not at all when
// too many wait already. leave counts it out.
func (g *gate) delay() (within time.Duration, leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.delayed >= maxWaiting {
		return 0, func() {}
	}
	g.delayed++
	return maxWait, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.delayed--
	}
}

// reserve reserves the user's next validation and returns how long to wait for it. If that were longer than within, it
// reserves nothing, and wait is the time until a reservation succeeds.
func (g *gate) reserve(user string, within time.Duration) (wait time.Duration, reserved bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	slot := g.limiter(user, now).ReserveN(now, 1)
	if wait = slot.DelayFrom(now); wait > within {
		slot.CancelAt(now)
		return wait - within, false
	}
	return wait, true
}

func (g *gate) limiter(user string, now time.Time) *rate.Limiter {
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
	return limiter
}
