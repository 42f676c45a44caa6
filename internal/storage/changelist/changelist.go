// Package changelist is the numbered list of changes in the database, which every server follows.
//
// Its numbers count up by one, in an order in which no change appears before one with a smaller number. On SQLite, a transaction
// takes the next number of a counter. On PostgreSQL that would let one transaction at a time commit, so a transaction adds its
// changes to a queue, and a Numberer moves those that were committed to the list. A reader reads the queue, then the list: what it
// misses in both was not committed before.
package changelist

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// Change reports that a record of that uid was changed. In the queue, Seq is its number there, which is not that in the list. Numbers can
// go back only with the whole database: to a standby that did not have the newest commits, or to a backup.
type Change struct {
	Seq     int64
	Subject string
	At      time.Time // by the clock of the server that changed the record
}

const (
	sqlNextChange   = `UPDATE change_counter SET last = last + 1 WHERE id = 1 RETURNING last`
	sqlInsertChange = `INSERT INTO changes (seq, subject, at) VALUES ($1, $2, $3)`
	sqlLastChange   = `SELECT c.last, COALESCE(n.subject, ''), COALESCE(n.at, 0) FROM change_counter c
		LEFT JOIN changes n ON n.seq = c.last WHERE c.id = 1`
	sqlFirstSince = `SELECT seq, subject, at FROM changes WHERE seq = (SELECT MIN(seq) FROM changes WHERE at >= $1
		AND seq > (SELECT last FROM change_counter WHERE id = 1) - $2)`
	sqlChangesFrom   = `SELECT seq, subject, at FROM changes WHERE seq >= $1 ORDER BY seq LIMIT $2`
	sqlCountRestore  = `UPDATE change_counter SET last = last + 1 WHERE id = 1`
	sqlNoteRestore   = `INSERT INTO changes (seq, subject, at) SELECT last, $1, $2 FROM change_counter WHERE id = 1`
	sqlDeleteChanges = `DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE at < $1
		AND seq < (SELECT last FROM change_counter WHERE id = 1) LIMIT $2)`

	// These are for PostgreSQL only.
	sqlQueueChange   = `INSERT INTO change_queue (subject, at) VALUES ($1, $2)`
	sqlQueued        = `SELECT id, subject, at FROM change_queue ORDER BY id LIMIT $1`
	sqlLockCounter   = `SELECT last FROM change_counter WHERE id = 1 FOR UPDATE SKIP LOCKED`
	sqlNumberChanges = `WITH taken AS (DELETE FROM change_queue WHERE id IN (SELECT id FROM change_queue ORDER BY id LIMIT $2)
		RETURNING id, subject, at), added AS (INSERT INTO changes (seq, subject, at)
			SELECT CAST($1 AS BIGINT) + ROW_NUMBER() OVER (ORDER BY id), subject, at FROM taken RETURNING seq),
		counted AS (UPDATE change_counter SET last = (SELECT MAX(seq) FROM added) WHERE id = 1
		AND EXISTS (SELECT 1 FROM added) RETURNING last) SELECT COUNT(*) FROM added`
)

// List is the list in one transaction, or for reading.
type List struct {
	q      sqldb.Querier
	shared bool
}

// Of returns the list that q reads and changes. shared reports whether other servers may use the database.
func Of(q sqldb.Querier, shared bool) List { return List{q, shared} }

// Add adds a change to the list, or to the queue. It does not report the change in this process.
func Add(ctx context.Context, l List, subject string) error {
	at := time.Now().UnixMilli()
	if l.shared {
		return l.q.ExecDeferred(ctx, sqlQueueChange, []any{subject, at})
	}
	seq, err := count(ctx, l.q, sqlNextChange)
	if err != nil {
		return err
	}
	_, err = l.q.Exec(ctx, sqlInsertChange, []any{seq, subject, at})
	return err
}

// AddRestore adds a change to a database that no process has open.
func AddRestore(ctx context.Context, db *sqldb.Raw, subject string, at time.Time) error {
	if _, err := db.ExecContext(ctx, sqlCountRestore); err != nil {
		return sqldb.Translate(err)
	}
	_, err := db.ExecContext(ctx, sqlNoteRestore, subject, at.UnixMilli())
	return sqldb.Translate(err)
}

// Last is the newest change in the list; only its number is known, 0, while there was none.
func (l List) Last(ctx context.Context) (Change, error) { return one(ctx, l.q, sqlLastChange) }

// FirstSince is the first change from that time or later among the last ones of the list, the last one when there is none.
func (l List) FirstSince(ctx context.Context, at time.Time, limit int) (Change, error) {
	first, err := one(ctx, l.q, sqlFirstSince, at.UnixMilli(), limit)
	if errors.Is(err, sqldb.ErrNotFound) {
		return l.Last(ctx)
	}
	return first, err
}

// From lists at most limit changes from that number on, the oldest first. A process that polls from the last one it has
// gets that one first; otherwise some were deleted since, or the database was reset to an older state.
func (l List) From(ctx context.Context, seq int64, limit int) ([]Change, error) {
	return all(ctx, l.q, sqlChangesFrom, seq, limit)
}

// Queued lists at most limit changes of the queue. It must be read before the list is.
func (l List) Queued(ctx context.Context, limit int) ([]Change, error) {
	if !l.shared {
		return nil, nil
	}
	return all(ctx, l.q, sqlQueued, limit)
}

// DeleteBefore deletes at most limit changes before that moment, and returns how many. The newest one stays.
func (l List) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return l.q.Exec(ctx, sqlDeleteChanges, []any{before.UnixMilli(), limit})
}

func all(ctx context.Context, q sqldb.Querier, query string, args ...any) (changes []Change, err error) {
	err = q.Each(ctx, query, args, func(row sqldb.Scanner) error {
		var c Change
		var at int64
		err := row.Scan(&c.Seq, &c.Subject, &at)
		c.At = time.UnixMilli(at).UTC()
		changes = append(changes, c)
		return err
	})
	return changes, err
}

func one(ctx context.Context, q sqldb.Querier, query string, args ...any) (Change, error) {
	found, err := all(ctx, q, query, args...)
	if err != nil || len(found) == 0 {
		return Change{}, cmp.Or(err, sqldb.ErrNotFound)
	}
	return found[0], nil
}

// count returns the number in the one row of a query, ErrNotFound if there is none.
func count(ctx context.Context, q sqldb.Querier, query string, args ...any) (n int64, err error) {
	found := false
	err = q.Each(ctx, query, args, func(row sqldb.Scanner) error {
		found = true
		return row.Scan(&n)
	})
	if err == nil && !found {
		err = sqldb.ErrNotFound
	}
	return n, err
}
