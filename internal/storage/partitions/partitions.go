// Package partitions keeps the audit records of a PostgreSQL database in a table for each month, which the retention time drops as a whole.
//
// The table is divided by at and not by uid: uids of checks are random, so that a month's records are not a range of them. The database
// knows then that a uid is unique in a partition only, which suffices: records that share a uid are of the same hour.
//
// No step makes others wait for longer than lockTimeout. What cannot be done now, as during a long pg_dump, is tried again an hour later,
// by any replica.
package partitions

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

const (
	monthsAhead = 2                   // so many next months have a partition; records of later ones are in the default partition
	bySingleRow = 62 * 24 * time.Hour // a shorter retention time deletes single records: a month would be too long

	sqlLockTimeout = `SET LOCAL lock_timeout = '200ms'`
	// One replica at a time. The number is any that no other lock has.
	sqlAlone = `SELECT pg_try_advisory_xact_lock(7165330421)`

	sqlPartitions = `SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = to_regclass('audits')`
	// What other roles may do with the records, such as one that dumps them, they may do in each table of records.
	sqlGrants = `SELECT format('GRANT %s ON %I TO %s', a.privilege_type, CAST($1 AS TEXT),
		CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
		|| CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
		FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = to_regclass('audits') AND a.grantee <> c.relowner`
)

// partition has the records from lower on and before upper.
type partition struct {
	name         string
	lower, upper int64 // milliseconds; lower is the least number in the first one
}

var boundText = lazyregexp.New(`^FOR VALUES FROM \((MINVALUE|'-?\d+')\) TO \('(-?\d+)'\)$`)

// partitionsOf lists the partitions but the default one, none if the table is not divided.
func partitionsOf(ctx context.Context, q sqldb.Querier) (list []partition, err error) {
	err = q.Each(ctx, sqlPartitions, nil, func(row sqldb.Scanner) error {
		var name, bound string
		err := row.Scan(&name, &bound)
		if found := boundText.Get().FindStringSubmatch(bound); found != nil {
			list = append(list, partition{name, numberOr(found[1], math.MinInt64), numberOr(found[2], math.MaxInt64)})
		}
		return err
	})
	return list, err
}

// grants returns the statements that grant the privileges on audits for a table that replaces it, or is a part of it.
func grants(ctx context.Context, q sqldb.Querier, table string) (statements []string, err error) {
	err = q.Each(ctx, sqlGrants, []any{table}, func(row sqldb.Scanner) error {
		statements = append(statements, "")
		return row.Scan(&statements[len(statements)-1])
	})
	return statements, err
}

func numberOr(text string, other int64) int64 {
	if n, err := strconv.ParseInt(strings.Trim(text, "'"), 10, 64); err == nil {
		return n
	}
	return other
}

// list lists them outside of a transaction.
func list(ctx context.Context, db *sqldb.DB) (found []partition, err error) {
	err = db.View(func(q sqldb.Querier) (err error) {
		found, err = partitionsOf(ctx, q)
		return err
	})
	return found, err
}

func monthOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// Extend creates the partitions of this month and the next ones that are missing, if the table is divided. There may be later ones, of a
// clock that was ahead.
func Extend(ctx context.Context, db *sqldb.DB, now time.Time) error {
	found, err := list(ctx, db)
	if err != nil || len(found) == 0 {
		return err
	}
	for month := range monthsAhead + 1 {
		next := monthOf(now).AddDate(0, month, 0)
		if slices.ContainsFunc(found, in(next)) {
			continue
		}
		if failed := create(ctx, db, next); failed != nil {
			err = errors.Join(err, fmt.Errorf("create the partition of audit records of %s: %w", next.Format("2006-01"), failed))
		}
	}
	return err
}

// in returns whether a partition has records of a month.
func in(month time.Time) func(partition) bool {
	return func(p partition) bool {
		return p.lower < month.AddDate(0, 1, 0).UnixMilli() && p.upper > month.UnixMilli()
	}
}

// create creates the partition of a month. Records of it that a server with a fast clock wrote are in the default partition until then.
func create(ctx context.Context, db *sqldb.DB, month time.Time) error {
	name, from, to := month.Format("audits_2006_01"), month.UnixMilli(), month.AddDate(0, 1, 0).UnixMilli()
	return alone(ctx, db, func(q sqldb.Querier) ([]string, error) {
		found, err := partitionsOf(ctx, q)
		if err != nil || slices.ContainsFunc(found, in(month)) {
			return nil, err
		}
		granting, err := grants(ctx, q, name)
		return append([]string{
			// no record of the month gets into the default partition after those were moved
			`LOCK TABLE audits IN SHARE ROW EXCLUSIVE MODE`,
			fmt.Sprintf(`CREATE TABLE %s (LIKE audits INCLUDING DEFAULTS, PRIMARY KEY (uid))`, name),
			fmt.Sprintf(`WITH moved AS (DELETE FROM audits_default WHERE at >= %d AND at < %d RETURNING *)
				INSERT INTO %s SELECT * FROM moved`, from, to, name),
			fmt.Sprintf(`ALTER TABLE audits ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)`, name, from, to),
		}, granting...), err
	})
}

// Drop drops the partitions whose records are all from before a moment. It returns before when single records are to be deleted: a record
// of a month waits until the whole month can be dropped, unless the retention time is short, or there is an error.
func Drop(ctx context.Context, db *sqldb.DB, now, before time.Time) (single time.Time, err error) {
	found, err := list(ctx, db)
	for _, p := range found {
		if p.upper <= before.UnixMilli() {
			err = errors.Join(err, drop(ctx, db, p))
		}
	}
	if err != nil || now.Sub(before) < bySingleRow {
		return before, err
	}
	found, err = list(ctx, db)
	single = before
	for _, p := range found {
		if lower := time.UnixMilli(p.lower); p.lower != math.MinInt64 && lower.Before(single) {
			single = lower
		}
	}
	return single, err
}

func drop(ctx context.Context, db *sqldb.DB, p partition) error {
	err := alone(ctx, db, func(q sqldb.Querier) ([]string, error) {
		if found, err := partitionsOf(ctx, q); !slices.Contains(found, p) {
			return nil, err
		}
		return []string{`DROP TABLE "` + strings.ReplaceAll(p.name, `"`, `""`) + `"`}, nil
	})
	if err != nil {
		err = fmt.Errorf("drop the partition %s of audit records: %w", p.name, err)
	}
	return err
}

// alone runs statements in a transaction, unless another replica runs some, or a table is locked for long.
func alone(ctx context.Context, db *sqldb.DB, statements func(sqldb.Querier) ([]string, error)) error {
	err := db.InTx(ctx, func(q sqldb.Querier) error {
		var alone bool
		if err := q.Each(ctx, sqlAlone, nil, func(row sqldb.Scanner) error { return row.Scan(&alone) }); err != nil || !alone {
			return err
		}
		wanted, err := statements(q)
		if len(wanted) > 0 {
			wanted = append([]string{sqlLockTimeout}, wanted...)
		}
		for i := 0; i < len(wanted) && err == nil; i++ {
			_, err = q.Exec(ctx, wanted[i], nil)
		}
		return err
	})
	if errors.Is(err, sqldb.ErrLockTimeout) {
		return nil
	}
	return err
}
