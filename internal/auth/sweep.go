package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

const (
	sweepAfter = 24 * time.Hour // past its end; a clock that runs hours ahead must destroy nothing
	sweepStep  = 100            // rows of one transaction: in a large table each is on pages of its own
)

// Sweep deletes sessions and exchanged tokens that ended long ago, in small steps. It is meant to be
// called about once an hour.
func (s *Service) Sweep(ctx context.Context) error {
	before := s.now().Add(-sweepAfter)
	for _, step := range []func(*store.Tx) (int64, error){
		func(tx *store.Tx) (int64, error) { return tx.Sessions.DeleteConsumedJTIs(ctx, before, sweepStep) },
		func(tx *store.Tx) (int64, error) { return tx.Sessions.DeleteBefore(ctx, before, sweepStep) },
		func(tx *store.Tx) (int64, error) { return tx.Changes.DeleteBefore(ctx, before, sweepStep) },
		func(tx *store.Tx) (int64, error) {
			return tx.Throttling.DeleteBefore(ctx, s.now().Add(-time.Hour), sweepStep)
		},
		func(tx *store.Tx) (int64, error) {
			return tx.Allowances.DeleteBefore(ctx, s.now().Add(-time.Hour), sweepStep)
		},
	} {
		if err := s.inSteps(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// SweepAudits deletes the audit records from before a moment, in small steps.
func (s *Service) SweepAudits(ctx context.Context, before time.Time) error {
	return s.inSteps(ctx, func(tx *store.Tx) (int64, error) { return tx.Audits.DeleteBefore(ctx, before, sweepStep) })
}

// inSteps runs a deletion until it finds less than a whole step, each step in a transaction of its own. After each it
// pauses for as long as that took, so that at most half of what the store can do goes into it.
func (s *Service) inSteps(ctx context.Context, step func(*store.Tx) (int64, error)) error {
	for {
		began, more := time.Now(), false
		err := s.db.InTx(ctx, func(tx *store.Tx) error {
			deleted, err := step(tx)
			more = deleted == sweepStep
			return err
		})
		if err != nil {
			return fmt.Errorf("delete what ended long ago: %w", err)
		}
		if !more {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
}
