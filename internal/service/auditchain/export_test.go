package auditchain

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// VerifyDuring is Verify, with a change of the store after the batches were read for the first time.
func VerifyDuring(ctx context.Context, db *store.DB, change func()) (Result, error) {
	v := newVerifier(db, nil)
	err := errors.Join(v.readChain(ctx), v.readBatches(ctx, nil))
	change()
	return v.Result, errors.Join(err, v.readRecords(ctx), v.settle(ctx))
}
