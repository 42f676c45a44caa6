package registries

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

// How content is deleted that nobody sees any more: of runs that were replaced or given up, and of registries that were
// deleted or are not synchronized any more. One such run may have 50,000 rows, and SQLite has one writer.

const (
	sweepPoll   = 5 * time.Second
	sweepAtOnce = 1000 // rows
	sweepRest   = 3    // times as long as a step took: others have most of the writer
)

// sweepAll deletes what was dropped, of every organization, until ctx ends.
func (r *syncs) sweepAll(ctx context.Context) {
	poll := time.NewTicker(sweepPoll)
	defer poll.Stop()
	failing := false
	for {
		err := r.sweep(ctx, "")
		if err != nil && !failing && ctx.Err() == nil {
			r.settings.Log.Error("dropped content was not deleted; trying again", "error", err) // once, and not each time while the store is away
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}

// sweep deletes what was dropped of an organization, or with an empty uid of all.
func (r *syncs) sweep(ctx context.Context, orgUID string) error {
	for {
		more, err := r.sweepStep(ctx, orgUID)
		if err != nil || !more {
			return err
		}
	}
}

// sweepStep keeps others from sweeping beside it, also while it rests.
func (r *syncs) sweepStep(ctx context.Context, orgUID string) (more bool, err error) {
	r.sweeping.Lock()
	defer r.sweeping.Unlock()
	began := time.Now()
	err = r.db.InTx(ctx, func(tx *store.Tx) (err error) {
		more, err = tx.Contents.Sweep(ctx, orgUID, sweepAtOnce)
		return err
	})
	if err != nil || !more {
		return false, err
	}
	rest := time.NewTimer(sweepRest * time.Since(began))
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-rest.C:
		return true, nil
	}
}
