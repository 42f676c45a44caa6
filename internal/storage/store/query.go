package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// either returns the text of a query for the database that is used.
func (tx *conn) either(sqlite, postgres string) string {
	if tx.postgres {
		return postgres
	}
	return sqlite
}

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

const (
	maxDue     = 500 // bounds the oldest rows, the newest, and the organizations that a search for due rows reads
	orgsAtOnce = 50  // in a walk along the organizations, which ends when it has found so many with a due row
)

// Parts of the queries for due rows of a table. The first reads the longest overdue ones and the newest, which a backlog of other
// organizations is seldom among. The second walks along at most $2 organizations from $3, in the index, and reports for each
// whether it has a due row at $1. The third claims rows of several organizations, the longest overdue of each first. It leaves rows that another
// transaction claims, so that callers neither wait for each other nor deadlock. Its condition on the time fits only the index of organization
// and time: with statistics from before many rows fell due, PostgreSQL would read all due rows for each organization.
const (
	oldestDue = `SELECT org_uid FROM (SELECT org_uid FROM `
	newestDue = ` ORDER BY next_at LIMIT $2) AS oldest UNION ALL SELECT org_uid FROM (SELECT org_uid FROM `
	endDue    = ` ORDER BY next_at DESC LIMIT $2) AS newest`

	orgsOf   = `WITH RECURSIVE waiting (org_uid, n) AS (SELECT MIN(org_uid), 1 FROM `
	firstOrg = ` WHERE next_at IS NOT NULL AND org_uid > $3
		UNION ALL SELECT (SELECT MIN(org_uid) FROM `
	nextOrg = ` WHERE next_at IS NOT NULL AND org_uid > waiting.org_uid), n + 1 FROM waiting WHERE waiting.org_uid IS NOT NULL AND n < $2)
		SELECT org_uid, CASE WHEN `
	endOrgs = ` THEN 1 ELSE 0 END FROM waiting WHERE org_uid IS NOT NULL`

	eachShare = `= ANY (ARRAY(SELECT due.uid FROM unnest(CAST($4 AS TEXT[]), CAST($5 AS BIGINT[])) AS share (org, count), LATERAL `
	ofShare   = `org_uid = share.org AND (org_uid, next_at) <= (share.org, $1) AND next_at IS NOT NULL`
	endShare  = ` ORDER BY next_at LIMIT share.count FOR NO KEY UPDATE SKIP LOCKED) AS due)) RETURNING `
)

// dueOrgs lists organizations with a due row, by uid: all of them, unless there are too many due rows. Then it lists those of the longest
// overdue rows and of the newest, and organizations from a random one on, so that no backlog hides an organization for long.
func dueOrgs(ctx context.Context, tx *conn, dueQuery, orgsQuery string, now time.Time) ([]string, error) {
	orgs, err := all(ctx, tx, scanText, dueQuery, millis(now), maxDue)
	if err == nil && len(orgs) == 2*maxDue {
		orgs, err = walkOrgs(ctx, tx, orgs, orgsQuery, now)
	}
	slices.Sort(orgs)
	return slices.Compact(orgs), err
}

// walkOrgs adds organizations with a due row to list, beginning at a random one. After the last follows the first.
func walkOrgs(ctx context.Context, tx *conn, list []string, query string, now time.Time) ([]string, error) {
	from, before, ends := uuid.NewString(), len(list), 0
	for read := 0; read < maxDue && len(list)-before < orgsAtOnce && ends < 2; read += orgsAtOnce {
		n := 0
		err := tx.each(ctx, func(row scanner) error {
			var due bool
			err := row.Scan(&from, truth{&due})
			if n++; due {
				list = append(list, from)
			}
			return err
		}, query, millis(now), orgsAtOnce, from)
		if err != nil {
			return nil, err
		}
		if n < orgsAtOnce {
			from, ends = "", ends+1
		}
	}
	return list, nil
}

// Share is how many rows of an organization to claim. It is the same type as that of package queue.
type Share = struct {
	OrgUID string
	Count  int
}

// claim claims rows that are due, which gives them a lease: on PostgreSQL with one statement, on SQLite with one for each share.
func claim[T any](ctx context.Context, tx *conn, scan func(scanner, *T) error, sqlite, postgres, owner string, now, leaseUntil time.Time, shares []Share) ([]T, error) {
	var orgs []string
	var counts []int64
	var claimed []T
	for _, share := range shares {
		orgs, counts = append(orgs, share.OrgUID), append(counts, int64(share.Count))
	}
	if tx.postgres {
		return all(ctx, tx, scan, postgres, millis(now), owner, millis(leaseUntil), orgs, counts)
	}
	for i := range orgs {
		var err error
		if claimed, err = collect(ctx, tx, claimed, scan, sqlite, millis(now), owner, millis(leaseUntil), orgs[i], counts[i]); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

func scanText(row scanner, s *string) error { return row.Scan(s) }

func scanCount(row scanner, n *int64) error { return row.Scan(n) }

func scanMoment(row scanner, at *time.Time) error { return row.Scan(moment{at}) }
