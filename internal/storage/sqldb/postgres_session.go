package sqldb

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// A commit is durable before it is acknowledged, whatever the role or the database has as its default; remote_apply
// promises more, and stays.
const durableSession = `SELECT set_config('synchronous_commit', 'on', false)
	WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')`

// Settings of every connection of the pool. A stuck lock delays no request for long, and the locks of a server that
// stopped in the middle of a transaction are released. Time limits of the role, the database or the URL stay.
const prepareSession = durableSession + `; SET idle_in_transaction_session_timeout = '10s';
	SELECT set_config(name, value, false) FROM (VALUES ('lock_timeout', '2s'), ('statement_timeout', '4s')) AS wanted (name, value)
	WHERE current_setting(name) = '0'`

// sqlDetectLoss makes the database detect within some 15 s a machine that vanished without closing its connections, as we
// detect the loss of the database. Otherwise its connections, and the lock of opening the store, last for the two hours of TCP.
const sqlDetectLoss = `SELECT set_config(name, value, false) FROM (VALUES ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '3'),
	('tcp_keepalives_count', '3'), ('client_connection_check_interval', '2s')) AS wanted (name, value)
	WHERE current_setting(name, true) IS NOT NULL`

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
