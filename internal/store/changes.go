package store

import (
	"context"
	"time"
)

// ChangedKeys is the subject of a change of the service's own keys; other subjects are uids of sessions,
// users and API keys.
const ChangedKeys = "keys"

// Change says that a record of that uid is not what it was. Seq counts up by one, in the order of commits.
type Change struct {
	Seq     int64
	Subject string
}

const (
	sqlNextChange    = `UPDATE change_counter SET last = last + 1 WHERE id = 1 RETURNING last`
	sqlInsertChange  = `INSERT INTO changes (seq, subject, at) VALUES ($1, $2, $3)`
	sqlLastChange    = `SELECT last FROM change_counter WHERE id = 1`
	sqlChangesSince  = `SELECT seq, subject FROM changes WHERE seq > $1 ORDER BY seq LIMIT $2`
	sqlDeleteChanges = `DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE at < $1 LIMIT $2)`
)

func scanSeq(row scanner, seq *int64) error { return row.Scan(seq) }

// NoteChange tells this process after the commit, and every other one within a second, that what they
// remember of a session, user or API key is out of date.
func (tx *Tx) NoteChange(ctx context.Context, subject string) error {
	seq, err := one(ctx, tx, scanSeq, sqlNextChange)
	if err != nil {
		return err
	}
	tx.changed = append(tx.changed, subject)
	tx.q.wake()
	return tx.changeOne(ctx, sqlInsertChange, seq, subject, millis(time.Now()))
}

// noteIf is NoteChange for a query that may have changed nothing.
func (tx *Tx) noteIf(ctx context.Context, changed bool, err error, subject string) error {
	if err != nil || !changed {
		return err
	}
	return tx.NoteChange(ctx, subject)
}

// LastChange is the number of the newest change.
func (tx *Tx) LastChange(ctx context.Context) (int64, error) {
	return one(ctx, tx, scanSeq, sqlLastChange)
}

// ChangesSince lists at most limit changes after that one, the oldest first. When the first is not the very
// next one, some were deleted meanwhile.
func (tx *Tx) ChangesSince(ctx context.Context, seq int64, limit int) ([]Change, error) {
	return all(ctx, tx, func(row scanner, c *Change) error { return row.Scan(&c.Seq, &c.Subject) }, sqlChangesSince, seq, limit)
}

// DeleteChanges deletes at most limit changes before that moment, and returns how many.
func (tx *Tx) DeleteChanges(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.change(ctx, sqlDeleteChanges, millis(before), limit)
}

// OnChange has told called with the subjects of every change that this process commits, before InTx returns.
func (db *DB) OnChange(told func(subjects []string)) {
	db.toldLock.Lock()
	defer db.toldLock.Unlock()
	db.told = append(db.told, told)
}

func (db *DB) tell(subjects []string) {
	if len(subjects) == 0 {
		return
	}
	db.toldLock.Lock()
	defer db.toldLock.Unlock()
	for _, told := range db.told {
		told(subjects)
	}
}
