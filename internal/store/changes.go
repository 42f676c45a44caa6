package store

import (
	"context"
	"time"
)

// ChangedKeys is the subject of a change of the service's own keys; other subjects are uids of sessions, users, API keys and
// deleted organizations.
const ChangedKeys = "keys"

// Change reports that a record of that uid was changed. Seq counts up by one, in the order of commits. It can go
// back only with the whole database: to a standby that did not have the newest commits, or to a backup.
type Change struct {
	Seq     int64
	Subject string
	At      time.Time // by the clock of the server that changed the record
}

const (
	sqlNextChange    = `UPDATE change_counter SET last = last + 1 WHERE id = 1 RETURNING last`
	sqlInsertChange  = `INSERT INTO changes (seq, subject, at) VALUES ($1, $2, $3)`
	sqlLastChange    = `SELECT c.last, COALESCE(n.subject, ''), n.at FROM change_counter c LEFT JOIN changes n ON n.seq = c.last WHERE c.id = 1`
	sqlChangesFrom   = `SELECT seq, subject, at FROM changes WHERE seq >= $1 ORDER BY seq LIMIT $2`
	sqlDeleteChanges = `DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE at < $1 AND seq < (SELECT last FROM change_counter WHERE id = 1) LIMIT $2)`
)

func scanChange(row scanner, c *Change) error { return row.Scan(&c.Seq, &c.Subject, moment{&c.At}) }

// Changes reads and changes the numbered list of changes, which every replica follows.
type Changes struct{ *conn }

// Note notifies this process after the commit, and every other one within a second, that what they cached of a session,
// user, API key or organization is out of date.
func (tx Changes) Note(ctx context.Context, subject string) error { return tx.note(ctx, subject) }

func (tx *conn) note(ctx context.Context, subject string) error {
	seq, err := one(ctx, tx, scanCount, sqlNextChange)
	if err != nil {
		return err
	}
	tx.subjects = append(tx.subjects, subject)
	tx.q.Notify()
	return tx.changeOne(ctx, sqlInsertChange, seq, subject, millis(time.Now()))
}

// noteIf is note for a query that may have changed nothing.
func (tx *conn) noteIf(ctx context.Context, changed bool, err error, subject string) error {
	if err != nil || !changed {
		return err
	}
	return tx.note(ctx, subject)
}

// Last is the newest change; only its number is known, 0, while there was none.
func (tx Changes) Last(ctx context.Context) (Change, error) {
	return one(ctx, tx.conn, scanChange, sqlLastChange)
}

// From lists at most limit changes from that number on, the oldest first. A process that polls from the last one it has
// gets that one first; otherwise some were deleted since, or the database was reset to an older state.
func (tx Changes) From(ctx context.Context, seq int64, limit int) ([]Change, error) {
	return all(ctx, tx.conn, scanChange, sqlChangesFrom, seq, limit)
}

// DeleteBefore deletes at most limit changes before that moment, and returns how many. The newest one stays.
func (tx Changes) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.change(ctx, sqlDeleteChanges, millis(before), limit)
}

// OnChange registers a function that is called with the subjects of every change that this process commits, before InTx
// returns.
func (db *DB) OnChange(callback func(subjects []string)) {
	db.changeLock.Lock()
	defer db.changeLock.Unlock()
	db.onChange = append(db.onChange, callback)
}

func (db *DB) reportChanges(subjects []string) {
	if len(subjects) == 0 {
		return
	}
	db.changeLock.Lock()
	defer db.changeLock.Unlock()
	for _, callback := range db.onChange {
		callback(subjects)
	}
}
