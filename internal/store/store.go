// Package store keeps everything that must outlive the process, on one database.
//
// A method of Tx answers one question or makes one change, and returns records: what follows from
// them is decided by auth, directory and registries. Races are settled by conditional updates, never
// by reading first and writing later. Secrets are sealed on the way in and opened on the way out, so
// no caller meets a ciphertext and the database file holds no secret.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/seal"
)

// Errors that callers decide on. Everything else is a *fault.Error of kind Unavailable (the store is
// away, full or busy: a retry may help) or an internal error.
var (
	ErrNotFound = errors.New("no such record")
	ErrExists   = errors.New("there is such a record already")
	ErrLocked   = errors.New("the data folder is in use by another server")
)

// retryAfter is what a client is told when the store can't answer now.
const retryAfter = 2 * time.Second

// Options say where the store is. DataDir is required.
type Options struct {
	DataDir       string         // made with mode 0700 when it is missing
	MasterKeyFile string         // empty: master.key in DataDir; made at the first start
	MasterKey     seal.MasterKey // when given, used instead of the file
	Now           func() time.Time
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

func (o Options) keyFile() string {
	if o.MasterKeyFile == "" {
		return filepath.Join(o.DataDir, "master.key")
	}
	return o.MasterKeyFile
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	writer  *writer
	writes  *sql.DB // the writer's one connection
	readers *sql.DB
	reads   *statements
	ring    *seal.Keyring
	options Options

	toldLock sync.Mutex
	told     []func(subjects []string)
}

// InTx runs fn in one write transaction. When fn returns nil and InTx returns nil, what fn wrote is
// durable. When fn returns an error nothing of it is kept, and that error is returned.
//
// Several calls may share one commit, so fn has to be quick and self-contained: no hashing, no
// network, no other transaction inside. It may be run again when the database asks for a retry.
func (db *DB) InTx(ctx context.Context, fn func(*Tx) error) error {
	var tx *Tx
	err := db.writer.do(ctx, func(q querier) error {
		tx = &Tx{q: q, ring: db.ring}
		return fn(tx)
	})
	if err == nil {
		db.tell(tx.changed)
	}
	return err
}

// View runs fn on a connection that can only read. Each question sees the newest committed state, so
// two questions may see two states.
func (db *DB) View(ctx context.Context, fn func(*Tx) error) error {
	if db.writer.stopped() {
		return unavailable(errClosed) // database/sql has no typed error for it
	}
	return fn(&Tx{q: db.reads, ring: db.ring})
}

// Ping tells whether the store answers.
func (db *DB) Ping(ctx context.Context) error {
	return translate(db.readers.PingContext(ctx))
}

// Close ends the store after the running transaction. Later calls fail with kind Unavailable.
func (db *DB) Close() error {
	return errors.Join(db.writer.close(), db.reads.close(), db.readers.Close(), db.writes.Close())
}

// Tx asks questions and makes changes inside InTx or View. It may not be used after its function ends,
// nor by two goroutines.
type Tx struct {
	q       querier
	ring    *seal.Keyring
	changed []string // subjects of NoteChange
}

// querier runs the store's queries: on the writer's connection or on the pool of readers.
type querier interface {
	exec(ctx context.Context, query string, args []any) (sql.Result, error)
	query(ctx context.Context, query string, args []any) (*sql.Rows, error)
}

// change runs a query that changes rows and returns how many.
func (tx *Tx) change(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := tx.q.exec(ctx, query, args)
	if err != nil {
		return 0, translate(err)
	}
	return result.RowsAffected()
}

// changeOne is change for a query that must change exactly one row, else ErrNotFound.
func (tx *Tx) changeOne(ctx context.Context, query string, args ...any) error {
	n, err := tx.change(ctx, query, args...)
	if err == nil && n != 1 {
		err = ErrNotFound
	}
	return err
}

// scanner is the part of *sql.Rows that reads one row.
type scanner interface{ Scan(dest ...any) error }

// each calls scan for every row that query gives.
func (tx *Tx) each(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	rows, err := tx.q.query(ctx, query, args)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return translate(rows.Err())
}

// one returns the single record that query gives, else ErrNotFound.
func one[T any](ctx context.Context, tx *Tx, scan func(scanner, *T) error, query string, args ...any) (T, error) {
	list, err := all(ctx, tx, scan, query, args...)
	if err != nil || len(list) == 0 {
		var none T
		return none, errors.Join(err, notFoundIf(err == nil))
	}
	return list[0], nil
}

func notFoundIf(missing bool) error {
	if missing {
		return ErrNotFound
	}
	return nil
}

// all returns every record that query gives.
func all[T any](ctx context.Context, tx *Tx, scan func(scanner, *T) error, query string, args ...any) ([]T, error) {
	var list []T
	err := tx.each(ctx, func(row scanner) error {
		var record T
		if err := scan(row, &record); err != nil {
			return err
		}
		list = append(list, record)
		return nil
	}, query, args...)
	return list, err
}

// unavailable is the fault of a store that can't answer now.
func unavailable(cause error) error {
	busy := fault.Busy("The store cannot answer now. Try again.", retryAfter)
	busy.Cause = fmt.Errorf("store: %w", cause)
	return busy
}
