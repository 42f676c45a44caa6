package store

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

// pgReader answers questions outside of transactions, each on some connection of the readers.
type pgReader struct{ db *postgres }

func (p *postgres) reader() (querier, error) { return pgReader{p}, nil }

var errOnlyReads = errors.New("a view only reads")

func (pgReader) exec(context.Context, string, []any) (int64, error) { return 0, errOnlyReads }

func (pgReader) later(context.Context, string, []any) error { return errOnlyReads }

func (pgReader) wake() {}

// each runs the query again on another connection when the first was lost before it gave a row.
func (r pgReader) each(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	until := time.Now().Add(r.db.limit)
	for try := 1; ; try++ {
		rows, lost, err := r.ask(ctx, until, query, args, scan)
		if !lost || rows > 0 || try == lostTries {
			return err
		}
	}
}

func (r pgReader) ask(ctx context.Context, until time.Time, query string, args []any, scan func(scanner) error) (rows int, lost bool, err error) {
	if err := ready(ctx, args); err != nil {
		return 0, false, noneIfUnstorable(query, err)
	}
	conn, err := r.db.readers.acquire(ctx, until)
	if err != nil {
		return 0, false, err
	}
	defer conn.Release()
	bound, cancel := detach(ctx, until)
	defer cancel()
	answer, err := conn.Conn().Query(bound, query, args...)
	rows, err, wrong := scanAll(answer, err, scan)
	if err == nil {
		return rows, false, wrong
	}
	if lost = isLost(conn.Conn(), err); lost && !impatient(bound) {
		r.db.distrust()
	}
	return rows, lost, meaning(conn.Conn(), err)
}

// scanAll reads an answer to its end. failure is the database's, wrong is what scan returned.
func scanAll(answer pgx.Rows, failure error, scan func(scanner) error) (rows int, err, wrong error) {
	if failure != nil {
		return 0, failure, nil
	}
	for wrong == nil && answer.Next() {
		rows++
		wrong = scan(answer)
	}
	answer.Close()
	if wrong != nil && answer.Err() == wrong { //nolint:errorlint // pgx keeps what Scan returned, as it was
		return rows, nil, wrong
	}
	return rows, answer.Err(), wrong
}

// ready refuses to go on for a caller that has gone, or with what the database would refuse to hear.
func ready(ctx context.Context, args []any) error {
	return cmp.Or(ctx.Err(), storable(args))
}

var errUnstorable = errors.New("a text has a character that PostgreSQL cannot hold")

// storable refuses texts that PostgreSQL cannot hold: it has no NUL, and takes UTF-8 only. No record has such a text.
func storable(args []any) error {
	for _, arg := range args {
		if text, ok := arg.(string); ok && (strings.ContainsRune(text, 0) || !utf8.ValidString(text)) {
			return &fault.Error{Kind: fault.Invalid, Code: fault.CodeInvalidRequest, Cause: errUnstorable,
				Message: "The request has a text with a NUL character, or one that is not UTF-8. Neither can be kept."}
		}
	}
	return nil
}

// noneIfUnstorable lets a question about such a text find nothing.
func noneIfUnstorable(query string, err error) error {
	if errors.Is(err, errUnstorable) && strings.HasPrefix(query, "SELECT") {
		return nil
	}
	return err
}
