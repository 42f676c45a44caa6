package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

const (
	setupWait      = 5 * time.Minute // for another process that opens the store, or a transaction that reads it
	migrationPause = 3 * time.Second // until a migration that did not get a lock is tried again
)

// Settings of connections for migrations, which may take long.
const setupSession = durableSession + `SET lock_timeout = 0; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0`

var postgresDialect = dialect{
	goose:      goose.DialectPostgres,
	migrations: "migrations/postgres",
	limitLocks: "SET LOCAL lock_timeout = '500ms';\n",
	scriptArgs: []any{pgx.QueryExecModeSimpleProtocol},
	hasTable:   "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1",
}

func openRawPostgres(ctx context.Context, config *pgxpool.Config, mustHave string) (*Raw, error) {
	raw := &Raw{DB: openSetupPool(config), dialect: postgresDialect}
	if mustHave != "" { // before the lock, which creates a table
		there, err := raw.HasTable(ctx, mustHave)
		if err != nil || !there {
			return nil, errors.Join(cmp.Or(err, ErrEmpty), raw.DB.Close())
		}
	}
	var err error
	if raw.unlock, err = lockDatabase(ctx, raw.DB); err != nil {
		return nil, errors.Join(err, raw.DB.Close())
	}
	return raw, nil
}

func openSetupPool(config *pgxpool.Config) *sql.DB {
	db := stdlib.OpenDB(*config.ConnConfig.Copy(), stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		return prepareConn(ctx, conn, setupSession)
	}))
	db.SetMaxOpenConns(3) // the lock's, goose's, one more
	return db
}

const (
	sqlLock       = `SELECT id FROM opening_lock WHERE id = 1 FOR UPDATE`
	sqlCreateLock = `CREATE TABLE IF NOT EXISTS opening_lock (id BIGINT PRIMARY KEY)`
	sqlFillLock   = `INSERT INTO opening_lock (id) VALUES (1) ON CONFLICT DO NOTHING`
)

// lockDatabase waits for the lock of opening a database. It is a locked row: unlike an advisory lock, every database that
// speaks the protocol has it, and it works through a pooler of transactions. It is released when the process ends, however
// it ends.
func lockDatabase(ctx context.Context, db *sql.DB) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, setupWait, errors.New("another process is opening the store and does not finish"))
	defer cancel()
	for try := 1; ; try++ {
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return nil, fmt.Errorf("open the database: %w", Translate(err))
		}
		var id int64
		err = tx.QueryRowContext(ctx, sqlLock).Scan(&id)
		if err == nil {
			return tx.Rollback, nil
		}
		_ = tx.Rollback()
		if context.Cause(ctx) != nil {
			return nil, fmt.Errorf("wait for another process to open the store: %w", context.Cause(ctx))
		}
		if !errors.Is(err, sql.ErrNoRows) && codeOf(err) != codeNoTable {
			return nil, fmt.Errorf("lock the store to open it: %w", Translate(err))
		}
		if err := createLock(ctx, db); err != nil {
			return nil, err
		}
		if try > 1 { // other processes create it too
			time.Sleep(backoff(min(try, maxTries)))
		}
	}
}

// createLock creates the row to lock. The database may refuse all but one of several processes that do so at once; the
// others then find the row.
func createLock(ctx context.Context, db *sql.DB) error {
	for _, query := range []string{sqlCreateLock, sqlFillLock} {
		_, err := db.ExecContext(ctx, query)
		if err == nil {
			continue
		}
		switch codeOf(err) {
		case codeUnique, codeTableExists, codeObjectExists, codeNoTable, codeSerialization, codeDeadlock:
		case codeNotAllowed:
			return errors.Join(errors.New("the database user cannot create tables; grant it CREATE on the schema, or start regwarden first as a user who can"), Translate(err))
		case codeNoSchema:
			return errors.Join(errors.New("the database has no schema for tables; create the one that search_path names, or remove search_path"), Translate(err))
		default:
			return fmt.Errorf("create the lock of the store: %w", Translate(err))
		}
	}
	return nil
}

// supportsNotify asks the database, since some that speak the protocol have no NOTIFY.
func supportsNotify(ctx context.Context, db *sql.DB) (bool, error) {
	_, err := db.ExecContext(ctx, sqlNotify)
	if err == nil {
		return true, nil
	}
	if codeOf(err) == "" {
		return false, Translate(err)
	}
	return false, nil
}
