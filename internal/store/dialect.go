package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/regwarden/regwarden/internal/fault"
)

// translate gives a database error its meaning: ErrExists for a unique violation, a fault of kind
// Unavailable when the database is away, busy, full or read-only. A context's end stays what it is.
func translate(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, done := errors.AsType[*fault.Error](err); done {
		return err
	}
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, errClosed) {
		return unavailable(err)
	}
	return meaningOfPostgres(meaningOfSQLite(err))
}
