package partitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

const (
	firstMonths = 3 // so many months from now have their records in the first partition
	leastSchema = 28

	// Servers of the version before may run for a day after the migration. They need a key of the uid alone. A role that does not own the
	// table, or cannot create tables, leaves it as it is: after the first step alone, the table would refuse records in some months.
	sqlUndivided = `SELECT CASE WHEN c.relkind <> 'r' THEN 0
		WHEN NOT pg_has_role(c.relowner, 'USAGE') OR NOT has_schema_privilege(c.relnamespace, 'CREATE') THEN 0
		WHEN NOT EXISTS (SELECT 1 FROM audits) THEN 1
		ELSE (SELECT COUNT(*) FROM goose_db_version WHERE version_id = 28 AND is_applied AND tstamp < localtimestamp - interval '1 day') END
		FROM pg_class c WHERE c.oid = to_regclass('audits')`
	sqlNewest = `SELECT COALESCE(MAX(at), 0) FROM audits`
	// The constraint of the first partition, while it is being prepared.
	sqlConstraint = `SELECT (regexp_match(pg_get_constraintdef(oid), '< ''?(\d+)'))[1]::bigint FROM pg_constraint
		WHERE conrelid = to_regclass('audits') AND conname = 'audits_first'`
	sqlValidate = `ALTER TABLE audits VALIDATE CONSTRAINT audits_first`
	sqlIndexes  = `SELECT indexname, indexdef FROM pg_indexes
		WHERE schemaname = current_schema() AND tablename = 'audits' AND indexname NOT IN (SELECT conname FROM pg_constraint)`
)

// Divide makes the table that the migrations created the first partition of a divided one, with the records of the next months too. Its
// rows stay where they are. They are read once, while others write, to prove that they are in the bounds; everything else takes no time.
// longer opens the database for that, without a time limit.
func Divide(ctx context.Context, db *sqldb.DB, now time.Time, longer func() (*sqldb.DB, error)) error {
	due, err := read(ctx, db, sqlUndivided)
	if err != nil || due == 0 {
		return err
	}
	upper, err := bound(ctx, db, now)
	if err != nil || upper == 0 {
		return err
	}
	if err = validate(ctx, longer); err == nil {
		err = alone(ctx, db, func(q sqldb.Querier) ([]string, error) { return division(ctx, q, upper) })
	}
	if err == nil || errors.Is(err, sqldb.ErrLockTimeout) { // another replica validates it
		return nil
	}
	if due, again := read(ctx, db, sqlUndivided); again == nil && due == 0 { // another replica was first
		return nil
	}
	return fmt.Errorf("divide the table of audit records: %w", err)
}

func number(ctx context.Context, q sqldb.Querier, query string) (n int64, err error) {
	err = q.Each(ctx, query, nil, func(row sqldb.Scanner) error { return row.Scan(&n) })
	return n, err
}

// read is number outside of a transaction.
func read(ctx context.Context, db *sqldb.DB, query string) (n int64, err error) {
	err = db.View(func(q sqldb.Querier) (err error) {
		n, err = number(ctx, q, query)
		return err
	})
	return n, err
}

// bound adds the constraint of the first partition, and returns its upper bound. One that an interrupted attempt left behind long ago would
// soon refuse records: it is dropped, and the next attempt adds another. 0: not now.
func bound(ctx context.Context, db *sqldb.DB, now time.Time) (upper int64, err error) {
	if upper, err = read(ctx, db, sqlConstraint); err != nil {
		return 0, err
	}
	if upper > 0 && upper < monthOf(now).AddDate(0, firstMonths-1, 0).UnixMilli() {
		return 0, alone(ctx, db, func(sqldb.Querier) ([]string, error) {
			return []string{`ALTER TABLE audits DROP CONSTRAINT IF EXISTS audits_first`}, nil
		})
	}
	if upper > 0 {
		return upper, nil
	}
	newest, err := read(ctx, db, sqlNewest)
	if err != nil {
		return 0, err
	}
	upper = monthOf(now).AddDate(0, firstMonths, 0).UnixMilli()
	if newest >= upper { // of a clock that was ahead
		upper = monthOf(time.UnixMilli(newest)).AddDate(0, 1, 0).UnixMilli()
	}
	err = alone(ctx, db, func(q sqldb.Querier) ([]string, error) {
		due, err := number(ctx, q, sqlUndivided)
		added, errA := number(ctx, q, sqlConstraint)
		if err = errors.Join(err, errA); err != nil || due == 0 || added > 0 { // another replica was first
			return nil, err
		}
		return []string{fmt.Sprintf(`ALTER TABLE audits ADD CONSTRAINT audits_first CHECK (at < %d) NOT VALID`, upper)}, nil
	})
	if err != nil {
		return 0, err
	}
	return read(ctx, db, sqlConstraint) // 0 if it is locked
}

// validate reads all rows, concurrently with writes.
func validate(ctx context.Context, longer func() (*sqldb.DB, error)) error {
	db, err := longer()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.InTx(ctx, func(q sqldb.Querier) (err error) {
		for _, statement := range []string{sqlLockTimeout, `SET LOCAL statement_timeout = 0`, sqlValidate} {
			if err == nil {
				_, err = q.Exec(ctx, statement, nil)
			}
		}
		return err
	})
}

// division returns the statements that make the table a partition. Its indexes become those of the partition.
func division(ctx context.Context, q sqldb.Querier, upper int64) ([]string, error) {
	if due, err := number(ctx, q, sqlUndivided); err != nil || due == 0 { // another replica was first
		return nil, err
	}
	statements := []string{`LOCK TABLE audits IN ACCESS EXCLUSIVE MODE`}
	var creating []string
	err := q.Each(ctx, sqlIndexes, nil, func(row sqldb.Scanner) error {
		var name, definition string
		err := row.Scan(&name, &definition)
		statements = append(statements, fmt.Sprintf(`ALTER INDEX %s RENAME TO %s_first`, name, name))
		creating = append(creating, definition)
		return err
	})
	ofParent, failedOfParent := grants(ctx, q, "audits")
	ofDefault, failedOfDefault := grants(ctx, q, "audits_default")
	err = errors.Join(err, failedOfParent, failedOfDefault)
	statements = append(append(statements,
		`ALTER TABLE audits RENAME TO audits_first`,
		`CREATE TABLE audits (LIKE audits_first INCLUDING DEFAULTS) PARTITION BY RANGE (at)`), creating...)
	statements = append(statements,
		fmt.Sprintf(`ALTER TABLE audits ATTACH PARTITION audits_first FOR VALUES FROM (MINVALUE) TO (%d)`, upper),
		`CREATE TABLE audits_default PARTITION OF audits (PRIMARY KEY (uid)) DEFAULT`,
		fmt.Sprintf(`UPDATE schema_floor SET least = %d WHERE id = 1 AND least < %d`, leastSchema, leastSchema))
	return slices.Concat(statements, ofParent, ofDefault), err
}
