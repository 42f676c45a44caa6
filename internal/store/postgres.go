package store

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

	"github.com/regwarden/regwarden/internal/seal"
)

const (
	readConns   = 6
	openingWait = 5 * time.Minute // for another process that opens the store
)

// A commit is durable before it is acknowledged, whatever the role or the database has as its default; remote_apply
// promises more, and stays.
const durableSession = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');
	`

// Settings of every connection of the pools. A stuck lock holds no request for long, and the locks of a server that
// stopped in the middle of a transaction are given up.
const prepareSession = durableSession + `SET default_transaction_isolation = 'read committed'; SET lock_timeout = '2s'; SET statement_timeout = '4s'; SET idle_in_transaction_session_timeout = '10s'`

const readOnlySession = `; SET default_transaction_read_only = on`

func postgresDialect() dialect {
	const table = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = "
	return dialect{
		goose:        goose.DialectPostgres,
		migrations:   "migrations/postgres",
		execSimply:   []any{pgx.QueryExecModeSimpleProtocol},
		keysetExists: table + "'data_keyset'",
		floorExists:  table + "'schema_floor'",
	}
}

// postgres is a PostgreSQL database. Transactions run side by side on a pool of connections, questions outside of
// them on another, which can only read.
type postgres struct {
	config  *pgxpool.Config
	writers *pool
	readers *pool
	begin   string
	limit   time.Duration // of a transaction or a query with its connection and repeats: a silent server must not hold callers
	notify  bool          // the database knows NOTIFY
	*listener
}

// openPostgres opens the store in a PostgreSQL database.
func openPostgres(ctx context.Context, o Options) (*DB, error) {
	config, err := parseDatabaseURL(o.DatabaseURL)
	if err != nil {
		return nil, err
	}
	p := &postgres{config: config, begin: "BEGIN ISOLATION LEVEL READ COMMITTED", limit: txTimeout}
	ring, err := p.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if p.writers, err = newPool(ctx, config, config.MaxConns, prepareSession); err != nil {
		return nil, err
	}
	if p.readers, err = newPool(ctx, config, max(2, min(readConns, config.MaxConns/2)), prepareSession+readOnlySession); err != nil {
		p.writers.close()
		return nil, err
	}
	p.listener = listen(config.ConnConfig, p.notify)
	return &DB{database: p, ring: ring, options: o}, nil
}

// prepare does what happens once per process: the tables and the key.
func (p *postgres) prepare(ctx context.Context, o Options) (ring *seal.Keyring, err error) {
	db := p.openingPool()
	defer func() { err = errors.Join(err, db.Close()) }()
	if o.Existing { // before the lock, which creates a table
		there, err := exists(ctx, db, postgresDialect().keysetExists)
		if err != nil || !there {
			return nil, cmp.Or(err, ErrEmpty)
		}
	}
	release, err := lockStore(ctx, db)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if ring, err = bringUp(ctx, o, db, postgresDialect()); err != nil {
		return nil, err
	}
	p.notify, err = knowsNotify(ctx, db)
	return ring, err
}

// Settings of connections for migrations, which may take their time.
const openingSession = durableSession + `SET lock_timeout = 0; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0`

// openingPool is for migrations.
func (p *postgres) openingPool() *sql.DB {
	db := stdlib.OpenDB(*p.config.ConnConfig.Copy(), stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		return prepareConn(ctx, conn, openingSession)
	}))
	db.SetMaxOpenConns(3) // the lock's, goose's, one more
	return db
}

// sqlNoticeLoss has the database notice a machine that vanished without a word within some 15 s, as we notice the
// database. Otherwise its connections, and the lock of opening the store, stay for the two hours of TCP.
const sqlNoticeLoss = `SELECT set_config(name, value, false) FROM (VALUES ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '3'),
	('tcp_keepalives_count', '3'), ('client_connection_check_interval', '2s')) AS wanted (name, value) WHERE current_setting(name, true) IS NOT NULL`

// prepareConn makes the settings of a new connection.
func prepareConn(ctx context.Context, conn *pgx.Conn, settings string) error {
	if err := runAll(ctx, conn, settings); err != nil {
		return err
	}
	return noticeLoss(ctx, conn)
}

// noticeLoss goes without where the database cannot do it.
func noticeLoss(ctx context.Context, conn *pgx.Conn) error {
	if err := runAll(ctx, conn, sqlNoticeLoss); err != nil && (codeOf(err) == "" || conn.IsClosed()) {
		return err
	}
	return nil
}

// runAll runs several statements at once, which prepared ones can't.
func runAll(ctx context.Context, conn *pgx.Conn, statements string) error {
	return conn.PgConn().Exec(ctx, statements).Close()
}

const (
	sqlLockOpening = `SELECT id FROM opening_lock WHERE id = 1 FOR UPDATE`
	sqlMakeLock    = `CREATE TABLE IF NOT EXISTS opening_lock (id BIGINT PRIMARY KEY)`
	sqlFillLock    = `INSERT INTO opening_lock (id) VALUES (1) ON CONFLICT DO NOTHING`
)

// lockStore waits for the lock under which a store is opened. It is a locked row: unlike an advisory lock, every
// database that speaks the protocol has it, and it works through a pooler of transactions. It is gone when the process
// is, however it ends.
func lockStore(ctx context.Context, db *sql.DB) (release func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openingWait, errors.New("another process opens the store, and does not end"))
	defer cancel()
	for again := 0; ; {
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return nil, fmt.Errorf("open the database: %w", translate(err))
		}
		var id int64
		err = tx.QueryRowContext(ctx, sqlLockOpening).Scan(&id)
		if err == nil {
			return tx.Rollback, nil
		}
		_ = tx.Rollback()
		if context.Cause(ctx) != nil {
			return nil, fmt.Errorf("wait for another process to open the store: %w", context.Cause(ctx))
		}
		if !errors.Is(err, sql.ErrNoRows) && codeOf(err) != codeNoTable {
			return nil, fmt.Errorf("lock the store to open it: %w", translate(err))
		}
		if err := makeLock(ctx, db); err != nil {
			return nil, err
		}
		if again++; again > 1 { // others make it, too
			time.Sleep(pause(min(again, maxTries)))
		}
	}
}

// makeLock makes the row to lock. Of several who do so at once the database may refuse all but one; they look again.
func makeLock(ctx context.Context, db *sql.DB) error {
	for _, query := range []string{sqlMakeLock, sqlFillLock} {
		_, err := db.ExecContext(ctx, query)
		if err == nil {
			continue
		}
		switch codeOf(err) {
		case codeUnique, codeTableExists, codeObjectExists, codeNoTable, codeSerialization, codeDeadlock:
		case codeNotAllowed:
			return errors.Join(errors.New("the database user may not make tables; grant it CREATE on the schema, or have a user who may start regwarden first"), translate(err))
		case codeNoSchema:
			return errors.Join(errors.New("the database has no schema to make tables in; create the one that search_path names, or leave search_path away"), translate(err))
		default:
			return fmt.Errorf("make the lock of the store: %w", translate(err))
		}
	}
	return nil
}

// knowsNotify asks the database for what some that speak the protocol do not have.
func knowsNotify(ctx context.Context, db *sql.DB) (bool, error) {
	_, err := db.ExecContext(ctx, sqlNotify)
	if err == nil {
		return true, nil
	}
	if codeOf(err) == "" {
		return false, translate(err)
	}
	return false, nil
}

func (p *postgres) lockOpening(ctx context.Context) (func() error, error) {
	db := p.openingPool()
	release, err := lockStore(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func() error { return errors.Join(release(), db.Close()) }, nil
}

// distrust closes all pooled connections: where one was lost the others are likely to be.
func (p *postgres) distrust() {
	p.writers.conns.Reset()
	p.readers.conns.Reset()
}

// Ping asks the database itself.
func (p *postgres) Ping(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	err := pgReader{p}.each(bound, "SELECT 1", nil, func(scanner) error { return nil })
	if bound.Err() != nil && ctx.Err() == nil {
		return unavailable(errNoConn)
	}
	return err
}

// Close waits for what is under way, but not for a database that says nothing any more.
func (p *postgres) Close() error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.listener.close()
		p.readers.close()
		p.writers.close()
	}()
	select {
	case <-closed:
		return nil
	case <-time.After(txTimeout + time.Second):
		return unavailable(errors.New("the database does not answer to the end of its connections"))
	}
}

// Shared is true: that is what it is for.
func (p *postgres) Shared() bool { return true }
