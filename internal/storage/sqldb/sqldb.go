// Package sqldb runs queries on SQLite in a file, or on PostgreSQL: connections, transactions, migrations, locks, backups.
// It depends on no table except schema_floor and opening_lock, which record how a database may be opened.
package sqldb

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/secret"
)

// Options select a database.
type Options struct {
	URL      secret.String // postgres://…; empty: SQLite in a file of Dir
	Dir      string        // created with mode 0700 when it is missing
	MustHave string        // a table: ErrEmpty when the database does not have it, and nothing is created
	// Timeout bounds a transaction or query on PostgreSQL, with its connection and retries. Zero: 4.5 s, of which at most
	// 2 s for the connection.
	Timeout time.Duration
	// Cancel ends a statement on PostgreSQL with the context of its caller, by closing its connection: for statements that take long.
	Cancel bool
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine
	writes writeHealth
}

// engine is what differs between SQLite in a file (sqlite.go) and PostgreSQL (postgres.go).
type engine interface {
	// write runs work in one transaction and returns when that is durable or rolled back. It may run work again. single promises
	// that work runs one statement.
	write(ctx context.Context, single bool, work func(Querier) error) error
	// reader runs queries, each on the newest committed state.
	reader() (Querier, error)
	// checkDisk returns an error when the disk of the database is known to be full or read-only.
	checkDisk() error

	// Ping returns nil while the database runs queries.
	Ping(ctx context.Context) error
	// Close ends the database after the running transactions. Later calls fail with kind Unavailable.
	Close() error
	// Changed receives a value soon after another process committed a transaction with Notify. Values may be missed, so
	// callers must poll too. It is nil for a database without notifications.
	Changed() <-chan struct{}
	// Listening reports whether values of Changed can be expected now.
	Listening() bool
	// Shared reports whether other servers may use the database.
	Shared() bool
}

// Open opens a database. setup runs before anything else, in one process at a time; it migrates the database.
func Open(ctx context.Context, o Options, setup func(context.Context, *Raw) error) (*DB, error) {
	open := openSQLite
	if o.URL != "" {
		open = openPostgres
	}
	e, err := open(ctx, o, setup)
	if err != nil {
		return nil, err
	}
	return &DB{engine: e}, nil
}

// InTx runs work in one write transaction and returns when that is durable or rolled back. It may run work again.
func (db *DB) InTx(ctx context.Context, work func(Querier) error) error {
	return db.note(db.write(ctx, false, work))
}

// Autocommit is InTx for work that runs one statement, with Exec or Each and without Notify. On PostgreSQL it shares a transaction with
// those of other callers, so it must not wait for a lock.
func (db *DB) Autocommit(ctx context.Context, work func(Querier) error) error {
	return db.note(db.write(ctx, true, work))
}

func (db *DB) note(err error) error {
	db.writes.note(err)
	return err
}

// View runs work on a Querier that can only read, each query on the newest committed state.
func (db *DB) View(work func(Querier) error) error {
	q, err := db.reader()
	if err != nil {
		return err
	}
	return work(q)
}

// Querier runs queries. Its errors are those of Translate. It may be used by one goroutine, until its function returns.
type Querier interface {
	// Exec runs a query that changes rows and returns how many.
	Exec(ctx context.Context, query string, args []any) (int64, error)
	// ExecDeferred is Exec for a query of which only the error matters. It may run as late as with the commit, which then
	// returns the error.
	ExecDeferred(ctx context.Context, query string, args []any) error
	// Each calls scan for every row of a query. scan must not run another query.
	Each(ctx context.Context, query string, args []any, scan func(Scanner) error) error
	// Notify makes the commit send a value to Changed of other processes, if the database can.
	Notify()
}

// Scanner reads one row.
type Scanner interface{ Scan(dest ...any) error }
