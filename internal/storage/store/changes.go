package store

import (
	"context"

	"github.com/regwarden/regwarden/internal/storage/changelist"
)

// Subjects of changes that concern more than one record; others are uids of sessions, users, API keys and organizations.
const (
	ChangedKeys = "keys" // the service's own keys
	ChangedAll  = "all"  // anything: the database was restored from a backup
)

// Change is described at changelist.Change.
type Change = changelist.Change

// Changes reads and changes the numbered list of changes, which every replica follows.
type Changes struct {
	changelist.List
	conn *conn
}

// Note notifies this process after the commit, and every other one within a second, that what they cached of a session,
// user, API key or organization is out of date.
func (tx Changes) Note(ctx context.Context, subject string) error { return tx.conn.note(ctx, subject) }

func (tx *conn) note(ctx context.Context, subject string) error {
	tx.subjects = append(tx.subjects, subject)
	return changelist.Add(ctx, tx.changes, subject)
}

// noteIf is note for a query that may have changed nothing.
func (tx *conn) noteIf(ctx context.Context, changed bool, err error, subject string) error {
	if err != nil || !changed {
		return err
	}
	return tx.note(ctx, subject)
}

// NumberChanges moves queued changes to the list, in the background.
func (db *DB) NumberChanges() { db.numberer.Wake() }

// OnChange registers a function that is called with the subjects of every change that this process commits, before InTx returns.
func (db *DB) OnChange(callback func(subjects []string)) {
	db.changeLock.Lock()
	defer db.changeLock.Unlock()
	db.onChange = append(db.onChange, callback)
}

func (db *DB) reportChanges(subjects []string) {
	if len(subjects) == 0 {
		return
	}
	db.NumberChanges()
	db.changeLock.Lock()
	defer db.changeLock.Unlock()
	for _, callback := range db.onChange {
		callback(subjects)
	}
}
