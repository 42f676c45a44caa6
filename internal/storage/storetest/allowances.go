package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// slots are reserved ahead for a bounded time, at the allowed rate.
func slots(t *testing.T, db *store.DB) {
	const within = 20 * time.Second
	reserve := func(holder string, at time.Time) (wait time.Duration, reserved bool) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			wait, reserved, err = tx.Allowances.Reserve(ctx, holder, 12, time.Minute, within, at)
			return err
		})
		return wait, reserved
	}
	for range 12 {
		if wait, reserved := reserve("one", start); wait != 0 || !reserved {
			t.Errorf("of the first twelve: wait %v, reserved %t", wait, reserved)
		}
	}
	for _, step := range []struct {
		holder      string
		after, wait time.Duration
		reserved    bool
	}{
		{"one", 0, 5 * time.Second, true}, {"one", 0, 10 * time.Second, true}, {"one", 2 * time.Second, 13 * time.Second, true},
		{"one", 2 * time.Second, 18 * time.Second, true}, {"one", 2 * time.Second, 3 * time.Second, false},
		{"other", 2 * time.Second, 0, true},
		{"one", 5 * time.Second, 20 * time.Second, true}, {"one", time.Hour, 0, true}, {"one", -time.Hour, 0, true},
	} {
		if wait, reserved := reserve(step.holder, start.Add(step.after)); wait != step.wait || reserved != step.reserved {
			t.Errorf("%s after %v: wait %v, reserved %t, want %v, %t", step.holder, step.after, wait, reserved, step.wait, step.reserved)
		}
	}
}

// contacts of one user are reserved ahead up to a bound. The wait for one that is not reserved is the time until it would be free.
func contacts(t *testing.T, db *store.DB) {
	for minute := range 18 {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			wait, reserved, err := tx.Allowances.ReserveContact(ctx, "user", 1, start)
			if want := time.Duration(min(minute, 16)) * time.Minute; wait != want || reserved != (minute <= 15) {
				t.Errorf("contact %d: wait %v, reserved %t, want %v", minute, wait, reserved, want)
			}
			return err
		})
	}
}

// allowances are used by concurrent callers up to the last one, and become available again one by one.
func allowances(t *testing.T, db *store.DB) {
	use := func(holder string, at time.Time) (wait time.Duration) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			wait, _, err = tx.Allowances.Reserve(ctx, holder, 12, time.Minute, 0, at)
			return err
		})
		return wait
	}
	var used atomic.Int64
	var wait sync.WaitGroup
	for range 40 {
		wait.Go(func() {
			if use("one", start) == 0 {
				used.Add(1)
			}
		})
	}
	wait.Wait()
	if used.Load() != 12 {
		t.Errorf("%d of 12 were used", used.Load())
	}
	for _, step := range []struct {
		after, wait time.Duration
	}{
		{0, 5 * time.Second}, {4 * time.Second, time.Second}, {5 * time.Second, 0}, {5 * time.Second, 5 * time.Second},
		{16 * time.Second, 0}, {16 * time.Second, 0},
		{16 * time.Second, 4 * time.Second}, {time.Hour, 0},
	} {
		if got := use("one", start.Add(step.after)); got != step.wait {
			t.Errorf("after %v: wait %v, want %v", step.after, got, step.wait)
		}
	}
	if got := use("other", start); got != 0 {
		t.Errorf("another holder waits %v", got)
	}
	for _, want := range []int64{1, 0} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			deleted, err := tx.Allowances.DeleteBefore(ctx, start.Add(time.Minute), 10)
			if deleted != want {
				t.Errorf("%d deleted, want %d", deleted, want)
			}
			return err
		})
	}
	for range 12 {
		use("early", start.Add(10000*time.Hour)) // by a clock that was wrong
	}
	if got := use("early", start); got != 0 {
		t.Errorf("after a wrong clock the wait is %v", got)
	}
}
