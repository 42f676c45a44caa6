package checks

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// perMinute limits how many validations a user may begin per minute, and how many callers wait for it.
type perMinute struct {
	db    *store.DB
	limit int
	local *perminute.Limiter // where no other server shares the store
	now   func() time.Time

	mu      sync.Mutex
	waiting int
	waits   map[string]int // of waiting, by user
}

func newPerMinute(db *store.DB, limit int, now func() time.Time) *perMinute {
	limit = cmp.Or(limit, 120)
	return &perMinute{db: db, limit: limit, local: perminute.New(limit), now: now, waits: map[string]int{}}
}

// await waits until the user may begin another validation, at most maxWait. Clients that store many registries in a row validate
// each of them first; a 429 would make them wait longer, or give up.
func (l *perMinute) await(ctx context.Context, user string) error {
	if user == "" {
		return nil // an operator
	}
	within, release := l.reserveWait(user)
	defer release()
	wait, reserved, err := l.reserve(ctx, user, within)
	if err != nil {
		return fmt.Errorf("reserve a validation: %w", err)
	}
	if !reserved {
		return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
			Message: "Too many validations in the last minute. Retry after the time in Retry-After."}
	}
	return loop.Sleep(ctx, wait)
}

// reserveWait reserves a slot for a caller that may have to wait, and returns how long it may wait: 0 if the user has as many slots as
// are free, so that it leaves some to others.
func (l *perMinute) reserveWait(user string) (within time.Duration, release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits[user] >= maxWaiting-l.waiting {
		return 0, func() {}
	}
	l.waiting++
	l.waits[user]++
	return maxWait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting--
		if l.waits[user]--; l.waits[user] == 0 {
			delete(l.waits, user)
		}
	}
}

// load returns how many callers wait.
func (l *perMinute) load() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// reserve reserves the user's next validation, in the store where several servers share it, and returns how long to wait for it. If
// that were longer than within, it reserves nothing, and wait is the time until a reservation succeeds.
func (l *perMinute) reserve(ctx context.Context, user string, within time.Duration) (wait time.Duration, reserved bool, err error) {
	if !l.db.Shared() {
		wait, reserved = l.local.Reserve(user, within, l.now())
		return wait, reserved, nil
	}
	err = l.db.InTx(ctx, func(tx *store.Tx) (err error) {
		wait, reserved, err = tx.Allowances.Reserve(ctx, user, l.limit, time.Minute, within, l.now())
		return err
	})
	return wait, reserved, err
}
