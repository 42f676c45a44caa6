package store

import (
	"context"
	"time"
)

// detachedTimeout bounds a transaction that outlives its caller.
const detachedTimeout = 5 * time.Second

// InTxDetached is InTx for a result that must be recorded although the context of the caller has ended or the service is
// stopping. change gets its own context, which ends after 5 s.
func (db *DB) InTxDetached(ctx context.Context, change func(context.Context, *Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
	defer cancel()
	return db.InTx(ctx, func(tx *Tx) error { return change(ctx, tx) })
}
