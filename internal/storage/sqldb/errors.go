package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

// Errors that callers decide on. Everything else is a *fault.Error of kind Unavailable (the database is unreachable, full
// or busy: a retry may help) or an internal error.
var (
	ErrNotFound = errors.New("record not found")
	ErrExists   = errors.New("the record already exists")
	ErrLocked   = errors.New("the data directory is in use by another server")
	errDamaged  = errors.New(FileName + " is damaged or not a regwarden database; restore a backup")
	ErrEmpty    = errors.New("there is no store")

	errClosed = errors.New("the store is closed")
)

// retryAfter is when a client may retry what the database could not do.
const retryAfter = 2 * time.Second

// unavailableError is the cause of a fault of kind Unavailable.
type unavailableError struct {
	cause      error
	reason     string // for people; empty if a repetition may help
	connecting bool
}

func (e *unavailableError) Error() string { return "store: " + e.cause.Error() }
func (e *unavailableError) Unwrap() error { return e.cause }

// unavailable is the fault of a database that cannot run queries now.
func unavailable(cause error) error { return unavailableFor(cause, cause) }

// unavailableFor is unavailable for a cause that stands for err.
func unavailableFor(err, cause error) error {
	busy := fault.Busy("The store is temporarily unavailable. Try again.", retryAfter)
	reason, connecting := reasonOf(err)
	busy.Cause = &unavailableError{cause, reason, connecting}
	return busy
}

// Translate returns the meaning of a database error: ErrExists for a unique violation, ErrNotFound for a missing referenced
// row, a fault of kind Unavailable when the database is unreachable, busy, full or read-only. Errors of a context stay.
func Translate(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, done := errors.AsType[*fault.Error](err); done {
		return err
	}
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, errClosed) {
		return unavailable(err)
	}
	return translatePostgres(translateSQLite(err))
}
