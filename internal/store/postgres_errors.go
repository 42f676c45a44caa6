package store

import (
	"errors"
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
)

// codeOf is the SQLSTATE of an error that the database answered with, else empty.
func codeOf(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code
	}
	return ""
}

// away is the fault of a database that could not be reached. The cause's text is kept and not its type: what pgx returns
// holds the configuration with its password, and time limits of ours are no caller's.
func away(err error) error { return unavailable(errors.New(err.Error())) }

// meaningOfPostgres is translate for an error that PostgreSQL answered with, or for none to connect to.
func meaningOfPostgres(err error) error {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return away(err)
	}
	code := codeOf(err)
	switch {
	case code == codeUnique:
		return ErrExists
	case code == codeForeignKey: // what a new row refers to; no row is deleted that others keep
		return ErrNotFound
	case isAway(code), code == codeSerialization, code == codeDeadlock, code == codeUnknownEnd, code == codeLockTimeout:
		return away(err)
	}
	return err
}

// isAway reports whether the database cannot answer now: 08 connection, 53 resources, 57 operator's intervention and time
// limits, 58 system; or that it takes no writes, as a standby does not.
func isAway(code string) bool {
	for _, class := range []string{"08", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return code == codeReadOnly || code == codeIdleTimeout || code == codeSlow
}

// settles reports whether an error that the database answered a COMMIT with means that nothing was kept. A server that is
// being shut down may say so after it committed.
func settles(code string) bool {
	return code != "" && code != codeUnknownEnd && !strings.HasPrefix(code, "08") && !strings.HasPrefix(code, "57")
}
