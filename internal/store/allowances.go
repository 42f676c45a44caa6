package store

import (
	"context"
	"errors"
	"time"
)

// An allowance is one row with one moment: when all of it is there again. Each use moves the moment on by the time in
// which one use grows back, and a use is refused that would move it further away than the whole allowance takes to grow
// (the generic cell rate algorithm, ITU-T I.371). A moment that no use can have led to is a wrong clock's, and counts as
// one that is past.

const (
	sqlUseAllowance = `INSERT INTO allowances (holder, full_at) VALUES ($1, CAST($2 AS BIGINT) + CAST($3 AS BIGINT))
		ON CONFLICT (holder) DO UPDATE SET
			full_at = CASE WHEN allowances.full_at > $2 AND allowances.full_at <= CAST($5 AS BIGINT) THEN allowances.full_at ELSE $2 END + CAST($3 AS BIGINT)
			WHERE allowances.full_at <= CAST($4 AS BIGINT) OR allowances.full_at > CAST($5 AS BIGINT)
		RETURNING full_at`
	sqlAllowance        = `SELECT full_at FROM allowances WHERE holder = $1`
	sqlDeleteAllowances = `DELETE FROM allowances WHERE holder IN (SELECT holder FROM allowances WHERE full_at < $1 LIMIT $2)`
)

// UseAllowance takes one use out of a holder's allowance of so many in a period, which grow back evenly. It returns zero,
// or how long it is until there is one.
func (tx *Tx) UseAllowance(ctx context.Context, holder string, uses int, period time.Duration, now time.Time) (time.Duration, error) {
	each := max(1, period.Microseconds()/int64(uses))
	latest := now.UnixMicro() + each*int64(uses-1)
	_, err := one(ctx, tx, scanSeq, sqlUseAllowance, holder, now.UnixMicro(), each, latest, latest+2*period.Microseconds())
	if !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	full, err := one(ctx, tx, scanSeq, sqlAllowance, holder)
	return time.Duration(full-latest) * time.Microsecond, err
}

// TakeTurn gives a place in a holder's line, which moves on by so many in a period, and returns how long it is until the
// turn comes. The line is full, and nothing is taken, when that were longer than within.
func (tx *Tx) TakeTurn(ctx context.Context, holder string, uses int, period, within time.Duration, now time.Time) (wait time.Duration, full bool, err error) {
	each := max(1, period.Microseconds()/int64(uses))
	latest := now.Add(within).UnixMicro() - each
	end, err := one(ctx, tx, scanSeq, sqlUseAllowance, holder, now.UnixMicro(), each, latest, latest+2*within.Microseconds())
	if errors.Is(err, ErrNotFound) {
		return 0, true, nil
	}
	return time.Duration(end-now.UnixMicro()) * time.Microsecond, false, err
}

// DeleteAllowances deletes at most limit allowances that were whole before that moment, and returns how many.
func (tx *Tx) DeleteAllowances(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.change(ctx, sqlDeleteAllowances, before.UnixMicro(), limit)
}
