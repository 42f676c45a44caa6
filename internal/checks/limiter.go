package checks

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/regwarden/regwarden/internal/fault"
)

// limiter limits concurrent validations, in total and per organization. Only perOrg of an organization wait for a slot in the
// common queue, so that no organization can fill it.
type limiter struct {
	concurrency, perOrg, perOrgAll int // perOrgAll includes those that wait
	slots                          *semaphore.Weighted

	mu      sync.Mutex
	callers int // waiting and running
	running int
	orgs    map[string]*orgSlots
}

type orgSlots struct {
	slots   *semaphore.Weighted
	callers int
}

func newLimiter(limits Limits) *limiter {
	concurrency, perOrg := cmp.Or(limits.Concurrency, 64), cmp.Or(limits.PerOrg, 8)
	return &limiter{concurrency: concurrency, perOrg: perOrg, perOrgAll: 2 * perOrg, slots: semaphore.NewWeighted(int64(concurrency)), orgs: map[string]*orgSlots{}}
}

// acquire waits for a slot and returns the function that releases it. Its error is a *fault.Error, Limited if the organization has too
// many callers and Unavailable if all together have, or the error of ctx.
func (l *limiter) acquire(ctx context.Context, org string) (release func(), err error) {
	of, err := l.enqueue(org)
	if err != nil {
		return nil, err
	}
	waitCtx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if err := of.slots.Acquire(waitCtx, 1); err != nil {
		l.dequeue(org)
		return nil, l.tooLong(ctx)
	}
	if err := l.slots.Acquire(waitCtx, 1); err != nil {
		of.slots.Release(1)
		l.dequeue(org)
		return nil, l.tooLong(ctx)
	}
	l.count(1)
	return func() {
		l.count(-1)
		l.slots.Release(1)
		of.slots.Release(1)
		l.dequeue(org)
	}, nil
}

func (l *limiter) tooLong(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fault.Busy("Too many validations are running; none ended in time. Try again later.", maxWait)
}

// enqueue counts the caller, or refuses it at once if the queue is full.
func (l *limiter) enqueue(org string) (*orgSlots, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.orgs[org]
	switch {
	case of != nil && of.callers >= l.perOrgAll:
		return nil, &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: time.Second,
			Message: "Too many validations of your organization are running. Retry after the time in Retry-After."}
	case l.callers >= l.concurrency+maxWaiting:
		return nil, fault.Busy("Too many validations are running. Try again later.", time.Second)
	}
	if of == nil {
		of = &orgSlots{slots: semaphore.NewWeighted(int64(l.perOrg))}
		l.orgs[org] = of
	}
	of.callers++
	l.callers++
	return of, nil
}

func (l *limiter) dequeue(org string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers--
	if of := l.orgs[org]; of.callers > 1 {
		of.callers--
	} else {
		delete(l.orgs, org)
	}
}

func (l *limiter) count(more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running += more
}

// load returns how many run and how many wait.
func (l *limiter) load() (running, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, l.callers - l.running
}
