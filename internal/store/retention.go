package store

import (
	"context"
	"time"
)

const sqlDeleteAudits = `DELETE FROM audits WHERE uid IN (SELECT uid FROM audits WHERE at < $1 LIMIT $2)`

// DeleteBefore deletes at most limit audit records from before a moment, and returns how many.
func (tx Audits) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.change(ctx, sqlDeleteAudits, millis(before), limit)
}
