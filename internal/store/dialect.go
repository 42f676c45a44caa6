package store

import (
	"context"
	"database/sql"
	"errors"
	"net/url"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/regwarden/regwarden/internal/fault"
)

// What differs between databases is in this file: how a connection is opened, how a write
// transaction begins, and what the database's own errors mean.

const (
	busyMillis = "10000" // how long a writer waits for another process's transaction
	readerPool = 4

	beginWrite   = "BEGIN IMMEDIATE" // takes the write lock at once: a later upgrade could deadlock
	commitWrite  = "COMMIT"
	revertWrite  = "ROLLBACK"
	savePart     = "SAVEPOINT part"
	keepPart     = "RELEASE part"
	revertPart   = "ROLLBACK TO part"
	keysetExists = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'data_keyset'"
)

// openSQLite returns a pool of at most connections to the database file, for reading only or for both.
func openSQLite(path string, connections int, readOnly bool) (*sql.DB, error) {
	settings := url.Values{
		"_busy_timeout": {busyMillis},
		"_foreign_keys": {"on"},
		"_synchronous":  {"FULL"}, // a commit is on disk before it is acknowledged
		"_defensive":    {"1"},
		"_dqs":          {"0"}, // "text" in double quotes is a name, never a string
		// A container's root may have no folder for temporary files, which a statement can need at any time.
		"_pragma": {"temp_store(memory)"},
	}
	if readOnly {
		settings.Set("_query_only", "1")
	} else {
		settings.Set("_journal_mode", "WAL")
	}
	address := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// translate gives a database error its meaning: ErrExists for a unique violation, a fault of kind
// Unavailable when the database is away, busy, full or read-only. A context's end stays what it is.
func translate(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, done := errors.AsType[*fault.Error](err); done {
		return err
	}
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, errClosed) {
		return unavailable(err)
	}
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch failure.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return ErrExists
	}
	switch failure.Code() & 0xff { // the primary code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM:
		return unavailable(err)
	}
	return err
}
