package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

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
}
