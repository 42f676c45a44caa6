package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

const (
	maxDue     = 500 // bounds the oldest rows, the newest, and the organizations that a search for due rows reads
	orgsAtOnce = 50  // in a walk along the organizations, which ends when it has found so many with a due row
)

// Parts of the queries for due rows of a table. The first reads the longest overdue ones and the newest, which a backlog of other
// organizations is seldom among. The second walks along at most $2 organizations from $3, in the index, and reports for each
// whether it has a due row at $1. The third claims rows of several organizations, the longest overdue of each first. It leaves rows that
// another transaction claims, so that callers neither wait for each other nor deadlock. Its condition on the time fits only the index of
// organization and time: with statistics from before many rows fell due, PostgreSQL would read all due rows for each organization.
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
	orgs, err := rows.All(ctx, tx.db, rows.ScanText, dueQuery, rows.Millis(now), maxDue)
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
		err := tx.db.Each(ctx, func(row rows.Scanner) error {
			var due bool
			err := row.Scan(&from, rows.Truth(&due))
			if n++; due {
				list = append(list, from)
			}
			return err
		}, query, rows.Millis(now), orgsAtOnce, from)
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
func claim[T any](ctx context.Context, tx *conn, scan func(rows.Scanner, *T) error, sqlite, postgres, owner string, now,
	leaseUntil time.Time, shares []Share) ([]T, error) {
	var orgs []string
	var counts []int64
	var claimed []T
	for _, share := range shares {
		orgs, counts = append(orgs, share.OrgUID), append(counts, int64(share.Count))
	}
	if tx.db.Postgres {
		return rows.All(ctx, tx.db, scan, postgres, rows.Millis(now), owner, rows.Millis(leaseUntil), orgs, counts)
	}
	for i := range orgs {
		var err error
		if claimed, err = rows.Collect(ctx, tx.db, claimed, scan, sqlite, rows.Millis(now), owner, rows.Millis(leaseUntil), orgs[i],
			counts[i]); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}
