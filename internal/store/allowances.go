package store

import (
	"context"
	"errors"
	"time"
)

// An allowance is one row with one moment: when all of it is there again. Each use moves the moment on by the time in
// which one use grows back, and a use is refused that would move it further away than the whole allowance takes to grow
// (the generic cell rate algorithm, ITU-T I.371).

const (
	sqlUseAllowance = `INSERT INTO allowances (holder, full_at) VALUES ($1, CAST($2 AS BIGINT) + CAST($3 AS BIGINT))
		ON CONFLICT (holder) DO UPDATE SET
			full_at = CASE WHEN allowances.full_at > $2 THEN allowances.full_at ELSE $2 END + CAST($3 AS BIGINT)
			WHERE allowances.full_at <= CAST($4 AS BIGINT)
		RETURNING full_at`
	sqlAllowance        = `SELECT full_at FROM allowances WHERE holder = $1`
	sqlDeleteAllowances = `DELETE FROM allowances WHERE holder IN (SELECT holder FROM allowances WHERE full_at < $1 LIMIT $2)`
)

// UseAllowance takes one use out of a holder's allowance of so many in a period, which grow back evenly. It returns zero,
// or how long it is until there is one.
func (tx *Tx) UseAllowance(ctx context.Context, holder string, uses int, period time.Duration, now time.Time) (time.Duration, error) {
	each := max(1, period.Microseconds()/int64(uses))
	latest := now.UnixMicro() + each*int64(uses-1)
	_, err := one(ctx, tx, scanSeq, sqlUseAllowance, holder, now.UnixMicro(), each, latest)
	if !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	full, err := one(ctx, tx, scanSeq, sqlAllowance, holder)
	return time.Duration(full-latest) * time.Microsecond, err
}

// DeleteAllowances deletes at most limit allowances that were whole before that moment, and returns how many.
func (tx *Tx) DeleteAllowances(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.change(ctx, sqlDeleteAllowances, before.UnixMicro(), limit)
}
