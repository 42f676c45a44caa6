// Package rows is what all groups of queries of a store share: running queries, reading rows and values.
package rows

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// Conn runs the queries of one transaction. Groups of queries keep it to themselves, so that only they know texts of queries.
type Conn struct {
	Querier  sqldb.Querier
	Postgres bool // for a query that has a text for each database
}

// Either returns the text of a query for the database that is used.
func (c *Conn) Either(sqlite, postgres string) string {
	if c.Postgres {
		return postgres
	}
	return sqlite
}

// Scanner reads one row.
type Scanner = sqldb.Scanner

// Change runs a query that changes rows and returns how many.
func (c *Conn) Change(ctx context.Context, query string, args ...any) (int64, error) {
	return c.Querier.Exec(ctx, query, args)
}

// ChangeOne is Change for a query that must change exactly one row, else sqldb.ErrNotFound.
func (c *Conn) ChangeOne(ctx context.Context, query string, args ...any) error {
	n, err := c.Change(ctx, query, args...)
	if err == nil && n != 1 {
		err = sqldb.ErrNotFound
	}
	return err
}

// Changed is Change for a query that changes one row or none. It reports whether it changed one.
func (c *Conn) Changed(ctx context.Context, query string, args ...any) (bool, error) {
	n, err := c.Change(ctx, query, args...)
	return n == 1, err
}

// ChangeAny is Change for a query that may change any number of rows.
func (c *Conn) ChangeAny(ctx context.Context, query string, args ...any) error {
	_, err := c.Change(ctx, query, args...)
	return err
}

// Insert runs a query that adds one row, which the rest of the transaction need not see. Its error may be returned by the
// commit.
func (c *Conn) Insert(ctx context.Context, query string, args ...any) error {
	return c.Querier.ExecDeferred(ctx, query, args)
}

// Each calls scan for every row of query. scan must not run another query.
func (c *Conn) Each(ctx context.Context, scan func(Scanner) error, query string, args ...any) error {
	return c.Querier.Each(ctx, query, args, scan)
}

// One returns the single record of query, else sqldb.ErrNotFound.
func One[T any](ctx context.Context, c *Conn, scan func(Scanner, *T) error, query string, args ...any) (T, error) {
	list, err := All(ctx, c, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = sqldb.ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// OneOrZero is One with the zero value instead of sqldb.ErrNotFound.
func OneOrZero[T any](ctx context.Context, c *Conn, scan func(Scanner, *T) error, query string, args ...any) (T, error) {
	record, err := One(ctx, c, scan, query, args...)
	if errors.Is(err, sqldb.ErrNotFound) {
		err = nil
	}
	return record, err
}

// All returns every record of query.
func All[T any](ctx context.Context, c *Conn, scan func(Scanner, *T) error, query string, args ...any) ([]T, error) {
	return Collect(ctx, c, nil, scan, query, args...)
}

// Collect appends every record of query to list.
func Collect[T any](ctx context.Context, c *Conn, list []T, scan func(Scanner, *T) error, query string, args ...any) ([]T, error) {
	err := c.Each(ctx, func(row Scanner) error {
		if len(list) == cap(list) { // doubled: append's own growth copies a long list five times
			list = slices.Grow(list, max(len(list), 8))
		}
		var empty T
		list = append(list, empty)
		return scan(row, &list[len(list)-1]) // in place: a separate record would be one more allocation for each row
	}, query, args...)
	return list, err
}

// Page returns at most size of the records of query, and whether there may be more. The last placeholder of query
// is its limit.
func Page[T any](ctx context.Context, c *Conn, size int, scan func(Scanner, *T) error, query string,
	args ...any) (list []T, more bool, err error) {
	return PageIn(ctx, c, nil, size, scan, query, args...)
}

// PageIn is Page with the memory of an earlier page, which is overwritten.
func PageIn[T any](ctx context.Context, c *Conn, reuse []T, size int, scan func(Scanner, *T) error, query string,
	args ...any) (list []T, more bool, err error) {
	list, err = Collect(ctx, c, reuse[:0], scan, query, append(args, size)...)
	return list, len(list) == size, err
}

// ScanText reads a row of one text.
func ScanText(row Scanner, s *string) error { return row.Scan(s) }

// ScanCount reads a row of one number.
func ScanCount(row Scanner, n *int64) error { return row.Scan(n) }

// ScanMoment reads a row of one moment.
func ScanMoment(row Scanner, at *time.Time) error { return row.Scan(Moment(at)) }
