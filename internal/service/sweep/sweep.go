// Package sweep deletes rows that are of no use any more.
package sweep

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
	after          = 24 * time.Hour // past its end, so that a clock that is hours ahead destroys nothing
	validationTime = 6 * time.Hour  // to read all audit records once

	// Rows per transaction: in a large table each is on different pages. Their number follows the time that a step takes, which others
	// wait.
	firstStep, minStep, maxStep = 100, 20, 1000
	stepTime                    = 20 * time.Millisecond
)

// Sweeper deletes old rows. It is safe for concurrent use.
type Sweeper struct {
	DB      *store.DB
	Now     func() time.Time
	WaitNow func() time.Time // clock of waits after failed logins and of audit records
}

// deletion deletes at most limit rows that are older than before, and returns how many it deleted.
type deletion = func(ctx context.Context, before time.Time, limit int) (int64, error)

// Sweep deletes sessions, tokens and other rows that ended long ago, in small steps. It should be called about once an hour.
func (s Sweeper) Sweep(ctx context.Context) error {
	before := s.Now().Add(-after)
	for _, rows := range []struct {
		before time.Time
		of     func(*store.Tx) deletion
	}{
		{before, func(tx *store.Tx) deletion { return tx.Sessions.DeleteConsumedJTIs }},
		{before, func(tx *store.Tx) deletion { return tx.Sessions.DeleteBefore }},
		{before, func(tx *store.Tx) deletion { return tx.Trusts.DeleteUsed }},
		{before, func(tx *store.Tx) deletion { return tx.Identities.DeleteDevices }},
		{before, func(tx *store.Tx) deletion { return tx.Factors.DeletePendings }},
		{before, func(tx *store.Tx) deletion { return tx.Changes.DeleteBefore }},
		{s.WaitNow().Add(-time.Hour), func(tx *store.Tx) deletion { return tx.Throttling.DeleteBefore }},
		{s.Now().Add(-time.Hour), func(tx *store.Tx) deletion { return tx.Allowances.DeleteBefore }},
	} {
		if err := s.inSteps(ctx, rows.before, rows.of); err != nil {
			return err
		}
	}
	return nil
}

// DivideAudits prepares what SweepAudits can drop as a whole on PostgreSQL. It should be called about once an hour.
func (s Sweeper) DivideAudits(ctx context.Context) error {
	if !s.DB.Shared() {
		return nil
	}
	err := partitions.Divide(ctx, s.DB.DB, s.Now(), func() (*sqldb.DB, error) { return s.DB.OpenLonger(ctx, validationTime) })
	return errors.Join(err, partitions.Extend(ctx, s.DB.DB, s.Now()))
}

// SweepAudits deletes audit records older than the retention time: months of them as a whole where it can (partitions.Drop), the others in
// small steps. What is deleted is noted in their chain first.
func (s Sweeper) SweepAudits(ctx context.Context, now time.Time, retention time.Duration) error {
	before := now.Add(-retention)
	for more := true; more; {
		var err error
		more, err = store.Write(ctx, s.DB, func(tx *store.Tx) (bool, error) { return tx.Audits.Sweep(ctx, before, firstStep) })
		if err != nil {
			return fmt.Errorf("shorten the audit chain: %w", err)
		}
	}
	var err error
	if s.DB.Shared() {
		before, err = partitions.Drop(ctx, s.DB.DB, now, before)
	}
	return errors.Join(err, s.inSteps(ctx, before, func(tx *store.Tx) deletion { return tx.Audits.DeleteBefore }))
}

// inSteps repeats a deletion until it deletes less than a full step, each step in its own transaction. After each step
// it pauses as long as the step took, so that it uses at most half of the store's capacity.
func (s Sweeper) inSteps(ctx context.Context, before time.Time, of func(*store.Tx) deletion) error {
	for limit := firstStep; ; {
		began, more, took := time.Now(), false, time.Duration(0)
		err := s.DB.InTx(ctx, func(tx *store.Tx) error {
			began := time.Now() // without the wait for others
			deleted, err := of(tx)(ctx, before, limit)
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
	case took > stepTime:
		rows /= 2
	case took < stepTime/4:
		rows *= 2
	}
	return min(max(rows, minStep), maxStep)
}
