// Package store keeps everything that must outlive the process, on one database.
//
// A method of a group of Tx (Tx.Sessions, Tx.Users, …) answers one question or makes one change, and returns records: what
// follows from them is decided by auth, directory and registries. Races are settled by conditional updates, never by reading
// first and writing later. Secrets are sealed on the way in and opened on the way out, so no caller meets a ciphertext and
// the database file holds no secret.
package store

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/secret"
)

// Errors that callers decide on. Everything else is a *fault.Error of kind Unavailable (the store is
// away, full or busy: a retry may help) or an internal error.
var (
	ErrNotFound = errors.New("no such record")
	ErrExists   = errors.New("there is such a record already")
	ErrLocked   = errors.New("the data folder is in use by another server")
	ErrEmpty    = errors.New("there is no store")
)

// retryAfter is what a client is told when the store can't answer now.
const retryAfter = 2 * time.Second

// Options say where the store is: in a file of DataDir, or in a PostgreSQL database.
type Options struct {
	DatabaseURL   secret.String  // postgres://…; empty: SQLite in DataDir
	Existing      bool           // ErrEmpty where there is no store yet; nothing is created
	DataDir       string         // required but for PostgreSQL with a key that is given; made with mode 0700 when it is missing
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
	database
	ring    *seal.Keyring
	options Options
	writes  writeHealth

	toldLock sync.Mutex
	told     []func(subjects []string)
}

// database is what differs between the two: SQLite in a file of ours (sqlite.go), and PostgreSQL (postgres.go).
type database interface {
	// write runs work in one transaction and returns when it is durable, or else undone. It may run work again.
	write(ctx context.Context, work func(querier) error) error
	// reader answers questions, each from the newest committed state.
	reader() (querier, error)
	// lockOpening waits for the lock under which a store is opened, so that two processes neither migrate nor make
	// keys at the same time.
	lockOpening(ctx context.Context) (release func() error, err error)

	// Ping returns nil while the store answers questions.
	Ping(ctx context.Context) error
	// room returns an error when the store's disk is known to be full or read-only.
	room() error
	// Close ends the store after the running transactions. Later calls fail with kind Unavailable.
	Close() error
	// Changed gives a value soon after another process committed a change (Changes.Note); it may be missed, so that
	// Changes.From has to be asked all the same. It is nil where the database does not tell.
	Changed() <-chan struct{}
	// Listening reports whether Changed is to be expected to give values now.
	Listening() bool
	// Shared reports whether other servers may use the store.
	Shared() bool
}

// InTx runs fn in one write transaction. When fn returns nil and InTx returns nil, what fn wrote is
// durable. When fn returns an error nothing of it is kept, and that error is returned.
//
// Several calls may share one commit, and on PostgreSQL they run side by side; so fn has to be quick and
// self-contained: no hashing, no network, no other transaction inside. It may be run again when the database asks
// for a retry. When a statement fails, fn has to return an error: PostgreSQL runs no other after it.
func (db *DB) InTx(ctx context.Context, fn func(*Tx) error) error {
	var tx *Tx
	err := db.write(ctx, func(q querier) error {
		tx = newTx(q, db.ring)
		return fn(tx)
	})
	db.writes.note(err)
	if err == nil {
		db.tell(tx.changed)
	}
	return err
}

// View runs fn on what can only read. Each question sees the newest committed state, so two questions may see two
// states.
func (db *DB) View(ctx context.Context, fn func(*Tx) error) error {
	q, err := db.reader()
	if err != nil {
		return err
	}
	return fn(newTx(q, db.ring))
}

// Tx asks questions and makes changes inside InTx or View, in one group for each kind of record. It may not be used
// after its function ends, nor by two goroutines.
type Tx struct {
	*conn
	APIKeys    APIKeys
	Addresses  Addresses
	Allowances Allowances
	Audits     Audits
	Changes    Changes
	Channels   Channels
	Contents   Contents
	Keys       Keys
	Orgs       Orgs
	Outbox     Outbox
	Projects   Projects
	Registries Registries
	Sessions   Sessions
	Syncs      Syncs
	Throttling Throttling
	Users      Users
	Watch      Watch
}

// conn is what the groups of a Tx share.
type conn struct {
	q       querier
	ring    *seal.Keyring
	changed []string // subjects of Changes.Note
}

func newTx(q querier, ring *seal.Keyring) *Tx {
	c := &conn{q: q, ring: ring}
	return &Tx{
		conn:       c,
		APIKeys:    APIKeys{c},
		Addresses:  Addresses{c},
		Allowances: Allowances{c},
		Audits:     Audits{c},
		Changes:    Changes{c},
		Channels:   Channels{c},
		Contents:   Contents{c},
		Keys:       Keys{c},
		Orgs:       Orgs{c},
		Outbox:     Outbox{c},
		Projects:   Projects{c},
		Registries: Registries{c},
		Sessions:   Sessions{c},
		Syncs:      Syncs{c},
		Throttling: Throttling{c},
		Users:      Users{c},
		Watch:      Watch{c},
	}
}

// querier runs the store's queries. Its errors are translated.
type querier interface {
	// exec runs a query that changes rows and returns how many.
	exec(ctx context.Context, query string, args []any) (int64, error)
	// later is exec for a query that cannot but change one row, or fail. It may be run as late as with the commit,
	// which fails then.
	later(ctx context.Context, query string, args []any) error
	// each calls scan for every row that a query gives.
	each(ctx context.Context, query string, args []any, scan func(scanner) error) error
	// wake makes other processes look at the list of changes once the transaction is committed.
	wake()
}

// scanner reads one row.
type scanner interface{ Scan(dest ...any) error }

// change runs a query that changes rows and returns how many.
func (tx *conn) change(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.q.exec(ctx, query, args)
}

// changeOne is change for a query that must change exactly one row, else ErrNotFound.
func (tx *conn) changeOne(ctx context.Context, query string, args ...any) error {
	n, err := tx.change(ctx, query, args...)
	if err == nil && n != 1 {
		err = ErrNotFound
	}
	return err
}

// insert runs a query that adds one row, and need not be seen by the rest of the transaction. That it fails may come out
// at the commit.
func (tx *conn) insert(ctx context.Context, query string, args ...any) error {
	return tx.q.later(ctx, query, args)
}

// each calls scan for every row that query gives. scan must not ask another question.
func (tx *conn) each(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	return tx.q.each(ctx, query, args, scan)
}

// one returns the single record that query gives, else ErrNotFound.
func one[T any](ctx context.Context, tx *conn, scan func(scanner, *T) error, query string, args ...any) (T, error) {
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
func all[T any](ctx context.Context, tx *conn, scan func(scanner, *T) error, query string, args ...any) ([]T, error) {
	return collect(ctx, tx, nil, scan, query, args...)
}

// collect appends every record that query gives to list.
func collect[T any](ctx context.Context, tx *conn, list []T, scan func(scanner, *T) error, query string, args ...any) ([]T, error) {
	err := tx.each(ctx, func(row scanner) error {
		if len(list) == cap(list) { // twofold: append's own growth copies a long list five times over
			list = slices.Grow(list, max(len(list), 8))
		}
		var empty T
		list = append(list, empty)
		return scan(row, &list[len(list)-1]) // in place: a record of its own would be one allocation more for each row
	}, query, args...)
	return list, err
}

// pageSize is the number of records in a page of a list, where these have no long fields. A list that is sent page by page
// holds one of them while its client is slow.
const pageSize = 100

// page returns at most size of the records that query gives, and whether there may be more. The last placeholder of query
// is its limit.
func page[T any](ctx context.Context, tx *conn, size int, scan func(scanner, *T) error, query string, args ...any) (list []T, more bool, err error) {
	return pageIn(ctx, tx, nil, size, scan, query, args...)
}

// pageIn is page with the memory of an earlier page, which is overwritten.
func pageIn[T any](ctx context.Context, tx *conn, room []T, size int, scan func(scanner, *T) error, query string, args ...any) (list []T, more bool, err error) {
	list, err = collect(ctx, tx, room[:0], scan, query, append(args, size)...)
	return list, len(list) == size, err
}

// awayError is what keeps the store from answering, as the cause of a fault.
type awayError struct{ cause error }

func (e *awayError) Error() string { return "store: " + e.cause.Error() }
func (e *awayError) Unwrap() error { return e.cause }

// unavailable is the fault of a store that can't answer now.
func unavailable(cause error) error {
	busy := fault.Busy("The store cannot answer now. Try again.", retryAfter)
	busy.Cause = &awayError{cause}
	return busy
}
