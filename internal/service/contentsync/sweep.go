package contentsync

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Dropped content is deleted in small steps: that of runs that were replaced or ended early, and of registries that were deleted or are
// no longer synchronized. One run may have 50,000 rows, and SQLite has one writer.

const (
	sweepInterval = 5 * time.Second
	sweepRows     = 1000 // of one step
	sweepPause    = 3    // times the duration of a step, to leave most of the writer's time to other writes
)

// sweepAll deletes dropped content of every organization until ctx ends.
func (r *runner) sweepAll(ctx context.Context) {
	failing := false
	loop.Repeat(ctx, sweepInterval, func(ctx context.Context) {
		err := r.sweep(ctx, "")
		if err != nil && !failing && ctx.Err() == nil {
			// Once, not each time while the store is unavailable.
			r.Log.Error("dropped content not deleted", "retry_in", sweepInterval, "error", err)
		}
		failing = err != nil
	})
}

// sweep deletes the dropped content of an organization, or of all if orgUID is empty.
func (r *runner) sweep(ctx context.Context, orgUID string) error {
	for {
		more, err := r.sweepStep(ctx, orgUID)
		if err != nil || !more {
			return err
		}
	}
}

// sweepStep deletes some rows and pauses. Only one goroutine at a time sweeps.
func (r *runner) sweepStep(ctx context.Context, orgUID string) (more bool, err error) {
	r.sweeping.Lock()
	defer r.sweeping.Unlock()
	began := time.Now()
	more, err = store.Write(ctx, r.db, func(tx *store.Tx) (bool, error) { return tx.Contents.Sweep(ctx, orgUID, sweepRows) })
	if err != nil || !more {
		return false, err
	}
	err = loop.Sleep(ctx, sweepPause*time.Since(began))
	return err == nil, err
}
