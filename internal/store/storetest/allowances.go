package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

// turns come in a line of a bounded length, at the pace that is allowed.
func turns(t *testing.T, db *store.DB) {
	turn := func(holder string, at time.Time) (wait time.Duration, full bool) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			wait, full, err = tx.TakeTurn(ctx, holder, 12, time.Minute, 20*time.Second, at)
			return err
		})
		return wait, full
	}
	for _, step := range []struct {
		holder      string
		after, wait time.Duration
		full        bool
	}{
		{"one", 0, 5 * time.Second, false}, {"one", 0, 10 * time.Second, false}, {"one", 2 * time.Second, 13 * time.Second, false},
		{"one", 2 * time.Second, 18 * time.Second, false}, {"one", 2 * time.Second, 0, true}, {"other", 2 * time.Second, 5 * time.Second, false},
		{"one", 5 * time.Second, 20 * time.Second, false}, {"one", time.Hour, 5 * time.Second, false}, {"one", -time.Hour, 5 * time.Second, false},
	} {
		if wait, full := turn(step.holder, start.Add(step.after)); wait != step.wait || full != step.full {
			t.Errorf("%s after %v: wait %v, full %t, want %v, %t", step.holder, step.after, wait, full, step.wait, step.full)
		}
	}
}

// allowances are used up by many at once, to the last and no further, and grow back one by one.
func allowances(t *testing.T, db *store.DB) {
	use := func(holder string, at time.Time) (wait time.Duration) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			wait, err = tx.UseAllowance(ctx, holder, 12, time.Minute, at)
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
		{0, 5 * time.Second}, {4 * time.Second, time.Second}, {5 * time.Second, 0}, {5 * time.Second, 5 * time.Second}, {16 * time.Second, 0}, {16 * time.Second, 0},
		{16 * time.Second, 4 * time.Second}, {time.Hour, 0},
	} {
		if got := use("one", start.Add(step.after)); got != step.wait {
			t.Errorf("after %v: wait %v, want %v", step.after, got, step.wait)
		}
	}
	if got := use("other", start); got != 0 {
		t.Errorf("another one has to wait %v", got)
	}
	for _, want := range []int64{1, 0} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			deleted, err := tx.DeleteAllowances(ctx, start.Add(time.Minute), 10)
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
		t.Errorf("a wrong clock holds up for %v", got)
	}
}
