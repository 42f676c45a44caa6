package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
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

// LongTransaction is what a transaction that may take long runs first, such as a migration: it has no time limits, and is durable.
// It is of the transaction and not of the connection, since through a pooler other clients get the connection after it.
const LongTransaction = `SELECT set_config('synchronous_commit', 'on', true)
	WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');
	SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
	`

var postgresDialect = dialect{
	goose:      goose.DialectPostgres,
	migrations: "migrations/postgres",
	script:     LongTransaction,
	limitLocks: "SET LOCAL lock_timeout = '500ms';\n",
	scriptArgs: []any{pgx.QueryExecModeSimpleProtocol},
	hasTable:   "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1",
}

func openRawPostgres(ctx context.Context, config *pgxpool.Config, mustHave string) (*Raw, error) {
	db, pooling, err := openSetupPool(ctx, config)
	if err != nil {
		return nil, err
	}
	raw := &Raw{DB: db, dialect: postgresDialect, pooling: pooling}
	if mustHave != "" { // before the lock, which creates a table
		there, err := raw.HasTable(ctx, mustHave)
		if err != nil || !there {
			return nil, errors.Join(cmp.Or(err, ErrEmpty), raw.DB.Close())
		}
	}
	if raw.unlock, err = lockDatabase(ctx, raw.DB, pooling); err != nil {
		return nil, errors.Join(err, raw.DB.Close())
	}
	return raw, nil
}

// openSetupPool opens connections to set up the database. They have settings of their own only if no other client gets them.
func openSetupPool(ctx context.Context, config *pgxpool.Config) (*sql.DB, *pooling, error) {
	var own atomic.Bool
	one := config.ConnConfig.Copy()
	one.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // which every pooler allows
	db := stdlib.OpenDB(*one, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		if !own.Load() {
			return nil
		}
		return prepareConn(ctx, conn, durableSession)
	}))
	db.SetMaxOpenConns(3) // the lock's, goose's, one more
	pooling, err := detectPooling(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	own.Store(!pooling.transactions)
	return db, pooling, nil
}

// prepareSetup is for a connection from before it was known that no other client gets it.
func prepareSetup(ctx context.Context, on *sql.Conn) error {
	return on.Raw(func(driver any) error { return prepareConn(ctx, driver.(*stdlib.Conn).Conn(), durableSession) })
}

const (
	sqlLock       = `SELECT id FROM opening_lock WHERE id = 1 FOR UPDATE`
	sqlCreateLock = `CREATE TABLE IF NOT EXISTS opening_lock (id BIGINT PRIMARY KEY)`
	sqlFillLock   = `INSERT INTO opening_lock (id) VALUES (1) ON CONFLICT DO NOTHING`
)

// lockDatabase waits for the lock of opening a database. It is a locked row: unlike an advisory lock, every database that
// speaks the protocol has it, and it works through a pooler of transactions. Behind one it is polled, since waiting transactions could
// use all the connections that its holder needs. It is released when the process ends, however it ends.
func lockDatabase(ctx context.Context, db *sql.DB, p *pooling) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, setupWait, errors.New("another process is opening the store and does not finish"))
	defer cancel()
	query := sqlLock
	if p.transactions {
		query += " NOWAIT"
	}
	for try := 1; ; try++ {
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return nil, fmt.Errorf("open the database: %w", Translate(err))
		}
		var id int64
		if _, err = tx.ExecContext(ctx, LongTransaction); err == nil {
			err = tx.QueryRowContext(ctx, query).Scan(&id)
		}
		if err == nil {
			return tx.Rollback, nil
		}
		_ = tx.Rollback()
		if context.Cause(ctx) != nil {
			return nil, fmt.Errorf("wait for another process to open the store: %w", context.Cause(ctx))
		}
		switch {
		case codeOf(err) == codeLockTimeout:
		case !errors.Is(err, sql.ErrNoRows) && codeOf(err) != codeNoTable:
			return nil, fmt.Errorf("lock the store to open it: %w", Translate(err))
		default:
			if err := createLock(ctx, db); err != nil {
				return nil, err
			}
		}
		if try > 1 { // other processes create it too, or have it
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
			return errors.Join(errors.New("the database user cannot create tables; grant it CREATE on the schema, or start regwarden "+
				"first as a user who can"), Translate(err))
		case codeNoSchema:
			return errors.Join(errors.New("the database has no schema for tables; create the one that search_path names, or remove "+
				"search_path"), Translate(err))
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
