package sqldb

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const readConns = 6

// A commit is durable before it is acknowledged, whatever the role or the database has as its default; remote_apply
// promises more, and stays.
const durableSession = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');
	`

// Settings of every connection of the pools. A stuck lock delays no request for long, and the locks of a server that
// stopped in the middle of a transaction are released. Time limits of the role, the database or the URL stay.
const prepareSession = durableSession + `SET default_transaction_isolation = 'read committed'; SET idle_in_transaction_session_timeout = '10s';
	SELECT set_config(name, value, false) FROM (VALUES ('lock_timeout', '2s'), ('statement_timeout', '4s')) AS wanted (name, value) WHERE current_setting(name) = '0'`

const readOnlySession = `; SET default_transaction_read_only = on`

// postgres is a PostgreSQL database. Transactions run concurrently on a pool of connections, other queries on a second
// pool, which can only read.
type postgres struct {
	writers  *pool
	readers  *pool
	begin    string
	limit    time.Duration // of a transaction or a query with its connection and retries: an unresponsive server must not delay callers for longer
	notifies bool          // the database has NOTIFY
	*listener
}

func openPostgres(ctx context.Context, o Options, setup func(context.Context, *Raw) error) (engine, error) {
	config, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	raw, err := openRawPostgres(ctx, config, o.MustHave)
	if err != nil {
		return nil, err
	}
	p := &postgres{begin: "BEGIN ISOLATION LEVEL READ COMMITTED", limit: cmp.Or(o.Timeout, txTimeout)}
	if err = setup(ctx, raw); err == nil {
		p.notifies, err = supportsNotify(ctx, raw.DB)
	}
	if err = errors.Join(err, raw.Close()); err != nil {
		return nil, err
	}
	acquire := cmp.Or(o.Timeout, acquireTimeout)
	if p.writers, err = newPool(ctx, config, config.MaxConns, acquire, prepareSession); err != nil {
		return nil, err
	}
	if p.readers, err = newPool(ctx, config, max(2, min(readConns, config.MaxConns/2)), acquire, prepareSession+readOnlySession); err != nil {
		p.writers.close()
		return nil, err
	}
	p.listener = listen(config.ConnConfig, p.notifies)
	return p, nil
}

// sqlDetectLoss makes the database detect within some 15 s a machine that vanished without closing its connections, as we
// detect the loss of the database. Otherwise its connections, and the lock of opening the store, last for the two hours of TCP.
const sqlDetectLoss = `SELECT set_config(name, value, false) FROM (VALUES ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '3'),
	('tcp_keepalives_count', '3'), ('client_connection_check_interval', '2s')) AS wanted (name, value) WHERE current_setting(name, true) IS NOT NULL`

// prepareConn applies the settings of a new connection.
func prepareConn(ctx context.Context, conn *pgx.Conn, settings string) error {
	if err := runScript(ctx, conn, settings); err != nil {
		return err
	}
	return detectLoss(ctx, conn)
}

// detectLoss ignores that a database lacks these settings.
func detectLoss(ctx context.Context, conn *pgx.Conn) error {
	if err := runScript(ctx, conn, sqlDetectLoss); err != nil && (codeOf(err) == "" || conn.IsClosed()) {
		return err
	}
	return nil
}

// runScript runs several statements at once, which a prepared statement cannot.
func runScript(ctx context.Context, conn *pgx.Conn, statements string) error {
	return conn.PgConn().Exec(ctx, statements).Close()
}

// resetPools closes all pooled connections: when one was lost, the others are likely lost too.
func (p *postgres) resetPools() {
	p.writers.conns.Reset()
	p.readers.conns.Reset()
}

// checkDisk checks nothing: the disk is PostgreSQL's own.
func (p *postgres) checkDisk() error { return nil }

// Ping runs a query.
func (p *postgres) Ping(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	err := pgReader{p}.Each(bound, "SELECT 1", nil, func(Scanner) error { return nil })
	if bound.Err() != nil && ctx.Err() == nil {
		return unavailable(errNoConn)
	}
	return err
}

// Close waits for running transactions, but not for a database that no longer responds.
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
		return unavailable(errors.New("the database does not confirm the end of its connections"))
	}
}

// Shared is true: any number of servers may use the database.
func (p *postgres) Shared() bool { return true }

func (p *postgres) reader() (Querier, error) { return pgReader{p}, nil }
