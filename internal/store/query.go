package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/store/sqldb"
)

// scanner reads one row.
type scanner = sqldb.Scanner

// change runs a query that changes rows and returns how many.
func (tx *conn) change(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.q.Exec(ctx, query, args)
}

// changeOne is change for a query that must change exactly one row, else ErrNotFound.
func (tx *conn) changeOne(ctx context.Context, query string, args ...any) error {
	n, err := tx.change(ctx, query, args...)
	if err == nil && n != 1 {
		err = ErrNotFound
	}
	return err
}

// changed is change for a query that changes one row or none. It reports whether it changed one.
func (tx *conn) changed(ctx context.Context, query string, args ...any) (bool, error) {
	n, err := tx.change(ctx, query, args...)
	return n == 1, err
}

// changeAny is change for a query that may change any number of rows.
func (tx *conn) changeAny(ctx context.Context, query string, args ...any) error {
	_, err := tx.change(ctx, query, args...)
	return err
}

// insert runs a query that adds one row, which the rest of the transaction need not see. Its error may be returned by the
// commit.
func (tx *conn) insert(ctx context.Context, query string, args ...any) error {
	return tx.q.ExecDeferred(ctx, query, args)
}

// each calls scan for every row of query. scan must not run another query.
func (tx *conn) each(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	return tx.q.Each(ctx, query, args, scan)
}

// one returns the single record of query, else ErrNotFound.
func one[T any](ctx context.Context, tx *conn, scan func(scanner, *T) error, query string, args ...any) (T, error) {
	list, err := all(ctx, tx, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// oneOrZero is one with the zero value instead of ErrNotFound.
func oneOrZero[T any](ctx context.Context, tx *conn, scan func(scanner, *T) error, query string, args ...any) (T, error) {
	record, err := one(ctx, tx, scan, query, args...)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return record, err
}

// all returns every record of query.
func all[T any](ctx context.Context, tx *conn, scan func(scanner, *T) error, query string, args ...any) ([]T, error) {
	return collect(ctx, tx, nil, scan, query, args...)
}

// collect appends every record of query to list.
func collect[T any](ctx context.Context, tx *conn, list []T, scan func(scanner, *T) error, query string, args ...any) ([]T, error) {
	err := tx.each(ctx, func(row scanner) error {
		if len(list) == cap(list) { // doubled: append's own growth copies a long list five times
			list = slices.Grow(list, max(len(list), 8))
		}
		var empty T
		list = append(list, empty)
		return scan(row, &list[len(list)-1]) // in place: a separate record would be one more allocation for each row
	}, query, args...)
	return list, err
}

// pageSize is the number of records in a page of a list, where these have no long fields. A list that is sent page by page
// holds one of them while its client is slow.
const pageSize = 100

// page returns at most size of the records of query, and whether there may be more. The last placeholder of query
// is its limit.
func page[T any](ctx context.Context, tx *conn, size int, scan func(scanner, *T) error, query string, args ...any) (list []T, more bool, err error) {
	return pageIn(ctx, tx, nil, size, scan, query, args...)
}

// pageIn is page with the memory of an earlier page, which is overwritten.
func pageIn[T any](ctx context.Context, tx *conn, reuse []T, size int, scan func(scanner, *T) error, query string, args ...any) (list []T, more bool, err error) {
	list, err = collect(ctx, tx, reuse[:0], scan, query, append(args, size)...)
	return list, len(list) == size, err
}

// dueOrgs lists the organizations of orgsQuery, which have something due at that moment, by uid. dueQuery is cheaper, and
// returns no row when nothing is due.
func dueOrgs(ctx context.Context, tx *conn, dueQuery, orgsQuery string, now time.Time) ([]string, error) {
	due, err := all(ctx, tx, scanCount, dueQuery, millis(now))
	if err != nil || len(due) == 0 {
		return nil, err
	}
	return all(ctx, tx, scanText, orgsQuery, millis(now))
}

// Share is how many rows of an organization to claim.
type Share struct {
	OrgUID string
	Count  int
}

// SharesOf converts the shares of another package.
func SharesOf[S ~struct {
	OrgUID string
	Count  int
}](shares []S) []Share {
	list := make([]Share, len(shares))
	for i, share := range shares {
		list[i] = Share(share)
	}
	return list
}

// claim claims rows that are due with a query for each organization, which gives them a lease.
func claim[T any](ctx context.Context, tx *conn, scan func(scanner, *T) error, query, owner string, now, leaseUntil time.Time, shares []Share) ([]T, error) {
	var claimed []T
	for _, share := range shares {
		var err error
		if claimed, err = collect(ctx, tx, claimed, scan, query, share.OrgUID, millis(now), share.Count, owner, millis(leaseUntil)); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

func scanText(row scanner, s *string) error { return row.Scan(s) }

func scanCount(row scanner, n *int64) error { return row.Scan(n) }

func scanMoment(row scanner, at *time.Time) error { return row.Scan(moment{at}) }
