package registries

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/queue"
	"github.com/regwarden/regwarden/internal/store"
)

// A clock may be wrong for some minutes (a machine without one of its own, one restored from a snapshot), and what was
// written then would wait until the clock gets there. What waits longer than any wait of ours is therefore recalled.

// longestUnasked bounds the wait for an unasked synchronization where none is set now: it may have been set before.
const longestUnasked = 24 * time.Hour

// watchHorizon is later than the watch plans anything, the spread of its waits and what a lease adds included.
func watchHorizon(now time.Time, interval time.Duration) time.Time {
	return now.Add((maxBackOff+1)*interval + max(watchLease, store.ContactsAhead))
}

func (w *watch) recall(ctx context.Context) (n int64, err error) {
	now := w.now()
	err = w.db.InTx(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.RecallWatch(ctx, now, w.Interval, watchHorizon(now, w.Interval), queue.RecallBatch)
		return err
	})
	return n, asDone("recall checks of kept registries", err)
}

func (r *syncs) recall(ctx context.Context) (n int64, err error) {
	now := r.now()
	beyond := now.Add(max(r.settings.Every, longestUnasked) + max(pauseLimit, store.ContactsAhead) + syncLease)
	err = r.db.InTx(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.RecallSync(ctx, now, beyond, queue.RecallBatch)
		return err
	})
	return n, asDone("recall synchronizations", err)
}
