package sqldb

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/fault"
)

// pgReader runs queries, each in its own read-only transaction of one round trip, on any connection.
type pgReader struct{ db *postgres }

var errReadOnly = errors.New("a view only reads")

func (pgReader) Exec(context.Context, string, []any) (int64, error) { return 0, errReadOnly }

func (pgReader) ExecDeferred(context.Context, string, []any) error { return errReadOnly }

func (pgReader) Notify() {}

// Each runs the query again on another connection when the first was lost before it returned a row.
func (r pgReader) Each(ctx context.Context, query string, args []any, scan func(Scanner) error) error {
	until := time.Now().Add(r.db.limit)
	for try := 1; ; try++ {
		rows, lost, err := r.try(ctx, until, query, args, scan)
		if !lost || rows > 0 || try == lostTries {
			return err
		}
	}
}

func (r pgReader) try(ctx context.Context, until time.Time, query string, args []any,
	scan func(Scanner) error) (rows int, lost bool, err error) {
	if err := checkArgs(ctx, args); err != nil {
		return 0, false, noRowsIfUnstorable(query, err)
	}
	conn, err := r.db.pool.acquire(ctx, until, &r.db.pool.readers)
	if err != nil {
		return 0, false, err
	}
	defer conn.Release()
	t := &pgTx{db: r.db, conn: conn.Conn.Conn(), begin: r.db.pooling.Load().beginRead()}
	var cancel context.CancelFunc
	t.bound, cancel = r.db.detach(ctx, until)
	defer cancel()
	results := t.send(statement{query, args}, statement{query: sqlCommit})
	found, err := results.Query()
	rows, err, scanErr := scanAll(found, err, scan)
	err = t.note(cmp.Or(err, results.Close()))
	t.end()
	return rows, t.lost, cmp.Or(err, scanErr)
}

// scanAll calls scan for all rows of a query that ended with queryErr. err is the database's, scanErr is what scan returned.
func scanAll(found pgx.Rows, queryErr error, scan func(Scanner) error) (rows int, err, scanErr error) {
	if queryErr != nil {
		return 0, queryErr, nil
	}
	for scanErr == nil && found.Next() {
		rows++
		scanErr = scan(found)
	}
	found.Close()
	if scanErr != nil && found.Err() == scanErr { //nolint:errorlint // pgx returns what Scan returned, unchanged
		return rows, nil, scanErr
	}
	return rows, found.Err(), scanErr
}

// checkArgs returns an error when the context of the caller has ended, or when the database would reject an argument.
func checkArgs(ctx context.Context, args []any) error {
	return cmp.Or(ctx.Err(), storable(args))
}

var errUnstorable = errors.New("a text has a character that PostgreSQL cannot store")

// storable returns an error for a text that PostgreSQL cannot store: it rejects NUL and accepts UTF-8 only. No row has such a text.
func storable(args []any) error {
	for _, arg := range args {
		if text, ok := arg.(string); ok && (strings.ContainsRune(text, 0) || !utf8.ValidString(text)) {
			return &fault.Error{Kind: fault.Invalid, Code: fault.CodeInvalidRequest, Cause: errUnstorable,
				Message: "The request has a text with a NUL character, or one that is not UTF-8. Neither can be stored."}
		}
	}
	return nil
}

// noRowsIfUnstorable returns nil for a SELECT with such a text, which finds no row.
func noRowsIfUnstorable(query string, err error) error {
	if errors.Is(err, errUnstorable) && strings.HasPrefix(query, "SELECT") {
		return nil
	}
	return err
}
