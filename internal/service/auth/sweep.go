package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/storage/partitions"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	sweepAfter     = 24 * time.Hour // past its end, so that a clock that is hours ahead destroys nothing
	validationTime = 6 * time.Hour  // to read all audit records once

	// Rows per transaction: in a large table each is on different pages. Their number follows the time that a step takes, which others
	// wait.
	sweepStep, minSweepStep, maxSweepStep = 100, 20, 1000
	sweepTime                             = 20 * time.Millisecond
)

// Sweeper deletes old rows. It is safe for concurrent use.
type Sweeper struct {
	db           *store.DB
	now, waitNow func() time.Time
}

// Sweep deletes sessions and exchanged tokens that ended long ago, in small steps. It should be called about once an
// hour.
func (s *Sweeper) Sweep(ctx context.Context) error {
	before := s.now().Add(-sweepAfter)
	for _, step := range []func(*store.Tx, int) (int64, error){
		func(tx *store.Tx, limit int) (int64, error) {
			return tx.Sessions.DeleteConsumedJTIs(ctx, before, limit)
		},
		func(tx *store.Tx, limit int) (int64, error) { return tx.Sessions.DeleteBefore(ctx, before, limit) },
		func(tx *store.Tx, limit int) (int64, error) { return tx.Trusts.DeleteUsed(ctx, before, limit) },
		func(tx *store.Tx, limit int) (int64, error) { return tx.Identities.DeleteDevices(ctx, before, limit) },
		func(tx *store.Tx, limit int) (int64, error) { return tx.Factors.DeletePendings(ctx, before, limit) },
		func(tx *store.Tx, limit int) (int64, error) { return tx.Changes.DeleteBefore(ctx, before, limit) },
		func(tx *store.Tx, limit int) (int64, error) {
			return tx.Throttling.DeleteBefore(ctx, s.waitNow().Add(-time.Hour), limit)
		},
		func(tx *store.Tx, limit int) (int64, error) {
			return tx.Allowances.DeleteBefore(ctx, s.now().Add(-time.Hour), limit)
		},
	} {
		if err := s.inSteps(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// DivideAudits prepares what SweepAudits can drop as a whole on PostgreSQL. It should be called about once an hour.
func (s *Sweeper) DivideAudits(ctx context.Context) error {
	if !s.db.Shared() {
		return nil
	}
	err := partitions.Divide(ctx, s.db.DB, s.now(), func() (*sqldb.DB, error) { return s.db.OpenLonger(ctx, validationTime) })
	return errors.Join(err, partitions.Extend(ctx, s.db.DB, s.now()))
}

// SweepAudits deletes audit records older than before: months of them as a whole where it can (partitions.Drop), the others in small steps.
// What is deleted is noted in their chain first.
func (s *Sweeper) SweepAudits(ctx context.Context, before time.Time) error {
	for more := true; more; {
		var err error
		more, err = store.Write(ctx, s.db, func(tx *store.Tx) (bool, error) { return tx.Audits.Sweep(ctx, before, sweepStep) })
		if err != nil {
			return fmt.Errorf("shorten the audit chain: %w", err)
		}
	}
	var err error
	if s.db.Shared() {
		before, err = partitions.Drop(ctx, s.db.DB, s.now(), before)
	}
	return errors.Join(err, s.inSteps(ctx, func(tx *store.Tx, limit int) (int64, error) {
		return tx.Audits.DeleteBefore(ctx, before, limit)
	}))
}

// inSteps repeats a deletion until it deletes less than a full step, each step in its own transaction. After each step
// it pauses as long as the step took, so that it uses at most half of the store's capacity.
func (s *Sweeper) inSteps(ctx context.Context, step func(*store.Tx, int) (int64, error)) error {
	for limit := sweepStep; ; {
		began, more, took := time.Now(), false, time.Duration(0)
		err := s.db.InTx(ctx, func(tx *store.Tx) error {
			began := time.Now() // without the wait for others
			deleted, err := step(tx, limit)
			more, took = deleted == int64(limit), time.Since(began)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete expired rows: %w", err)
		}
		if !more {
			return nil
		}
		limit = nextStep(limit, took)
		if err := loop.Sleep(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// nextStep returns the rows of the next step after one of so many rows that took so long.
func nextStep(rows int, took time.Duration) int {
	switch {
	case took > sweepTime:
		rows /= 2
	case took < sweepTime/4:
		rows *= 2
	}
	return min(max(rows, minSweepStep), maxSweepStep)
}
