package sqldb

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes (PostgreSQL manual, appendix A).
const (
	codeUnique        = "23505"
	codeForeignKey    = "23503"
	codeSerialization = "40001"
	codeUnknownEnd    = "40003" // statement_completion_unknown
	codeDeadlock      = "40P01"
	codeLockTimeout   = "55P03"
	codeReadOnly      = "25006"
	codeNoSchema      = "3F000"
	codeNoTable       = "42P01"
	codeTableExists   = "42P07"
	codeObjectExists  = "42710" // the table's row type, while another makes the table
	codeNotAllowed    = "42501"
	codeIdleTimeout   = "25P03"
	codeSlow          = "25P04" // transaction_timeout
	codeNameExists    = "42P05" // of a prepared statement
	codeNoName        = "26000"
)

// codeOf returns the SQLSTATE of an error of the database, empty for any other error.
func codeOf(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code
	}
	return ""
}

// ErrLockTimeout is the cause of a fault of kind Unavailable: somebody else had a lock for longer than a statement waits.
var ErrLockTimeout = errors.New("a lock was not available in time")

// unreachable is the fault of a database that could not be reached. The cause has the text of the error and not its type:
// what pgx returns contains the configuration with its password, and our time limits are not the caller's.
func unreachable(err error) error { return unavailableFor(err, errors.New(err.Error())) }

// translatePostgres is Translate for an error of PostgreSQL or of connecting to it.
func translatePostgres(err error) error {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unreachable(err)
	}
	code := codeOf(err)
	switch {
	case code == codeUnique:
		return ErrExists
	case code == codeForeignKey: // what a new row refers to; what refers to a row is deleted before it
		return ErrNotFound
	case code == codeLockTimeout:
		return unavailableFor(err, fmt.Errorf("%w: %s", ErrLockTimeout, err.Error()))
	case isUnavailable(code), code == codeSerialization, code == codeDeadlock, code == codeUnknownEnd:
		return unreachable(err)
	}
	return err
}

// isUnavailable reports whether the database cannot run queries now: 08 connection, 53 resources, 57 operator's intervention and time
// limits, 58 system; or that it takes no writes, as a standby does not; or that a pooler lost a prepared statement.
func isUnavailable(code string) bool {
	for _, class := range []string{"08", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return slices.Contains([]string{codeReadOnly, codeIdleTimeout, codeSlow, codeNameExists, codeNoName}, code)
}

// provesRollback reports whether that code, returned for a COMMIT, means that nothing was committed. A server that is being
// shut down may return its code after it committed.
func provesRollback(code string) bool {
	return code != "" && code != codeUnknownEnd && !strings.HasPrefix(code, "08") && !strings.HasPrefix(code, "57")
}
