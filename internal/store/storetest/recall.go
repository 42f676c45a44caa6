package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

// recalls makes due again what a wrong clock has put off, and nothing else.
func recalls(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	c := mustChannel(t, db, mustProject(t, db, org), 1)
	now, wrong, beyond := start, start.Add(9000*time.Hour), start.Add(5*time.Hour)
	for i := range 7 {
		r := mustWatched(t, db, org, fmt.Sprint("r", i))
		at := []time.Time{wrong, beyond}[i%2] // three are as far ahead as may be
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.ScheduleWatch(ctx, org.UID, r.UID, at), tx.ScheduleSync(ctx, org.UID, r.UID, at))
		})
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { // one of the others, and now nobody waits for it
		taken, err := tx.TakeSyncs(ctx, "o", wrong, wrong, []store.Share{{OrgUID: org.UID, Count: 1}})
		if err != nil || len(taken) != 1 {
			return fmt.Errorf("%d taken: %w", len(taken), err)
		}
		return tx.FinishSync(ctx, taken[0], wrong, wrong.Add(time.Hour), "")
	})
	mustAlert(t, db, org, wrong)
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		ahead, errA := tx.CountWatchAhead(ctx, beyond, 100)
		atMost, errM := tx.CountWatchAhead(ctx, beyond, 3)
		if ahead != 4 || atMost != 3 {
			t.Errorf("%d too far ahead, counted up to 3: %d", ahead, atMost)
		}
		return errors.Join(errA, errM)
	})
	interval := 15 * time.Minute
	for what, recall := range map[string]struct {
		of    func(context.Context, *store.Tx) (int64, error)
		total int64
	}{
		"watch": {func(ctx context.Context, tx *store.Tx) (int64, error) {
			return tx.RecallWatch(ctx, now, interval, beyond, 3)
		}, 4},
		"sync":     {func(ctx context.Context, tx *store.Tx) (int64, error) { return tx.RecallSync(ctx, now, beyond, 3) }, 5},
		"channels": {func(ctx context.Context, tx *store.Tx) (int64, error) { return tx.RecallChannels(ctx, now, beyond, 3) }, 1},
	} {
		for _, want := range []int64{min(3, recall.total), max(0, recall.total-3), 0} {
			mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
				n, err := recall.of(ctx, tx)
				if n != want {
					t.Errorf("%s: %d recalled, want %d", what, n, want)
				}
				return err
			})
		}
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		due, err := tx.CountWatch(ctx, now.Add(interval), 100)
		if due != 4 {
			t.Errorf("%d checks within the interval, want the four that were recalled", due)
		}
		return err
	})
	if taken := take(t, db, org.UID, "p", now, 9); len(taken) != 5 {
		t.Errorf("%d synchronizations are due, want the five that were recalled", len(taken))
	}
	if taken := mustTakeChannel(t, db, org, now); len(taken) != 1 || mustNext(t, db, taken[0], now).ChannelUID != c.UID {
		t.Errorf("the channel and what it owes: %+v", taken)
	}
}
