package sqldb

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

// shared runs PostgreSQL for the tests that do not end it.
var shared = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Deadlocks: true,
	Settings: []string{"deadlock_timeout = 50ms"}}}

func TestMain(m *testing.M) {
	shared.Tests = m
	goleak.VerifyTestMain(shared)
}

var migrations = fstest.MapFS{
	"migrations/sqlite/00001_names.sql":   {Data: []byte(schema)},
	"migrations/postgres/00001_names.sql": {Data: []byte(schema)},
}

const schema = `CREATE TABLE schema_floor (id BIGINT PRIMARY KEY CHECK (id = 1), least BIGINT NOT NULL);
	INSERT INTO schema_floor (id, least) VALUES (1, 0);
	CREATE TABLE names (name TEXT PRIMARY KEY);
	CREATE TABLE aliases (name TEXT REFERENCES names (name) DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE counter (id BIGINT PRIMARY KEY, last BIGINT NOT NULL);
	INSERT INTO counter (id, last) VALUES (1, 0);`

func setup(ctx context.Context, db *Raw) error { return db.Migrate(ctx, migrations, false) }

func mustOpen(t *testing.T, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), o, setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// mustOpenURL has a time limit that a busy machine does not exceed. Tests of the limits set their own.
func mustOpenURL(t *testing.T, url string) *DB {
	t.Helper()
	return mustOpen(t, Options{URL: secret.String(url), Timeout: time.Minute})
}

func mustConnect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// execDirectly runs a statement on its own connection.
func execDirectly(t *testing.T, url, statement string) {
	t.Helper()
	if err := shared.Server(t).Exec(t.Context(), url, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func insertName(ctx context.Context, q Querier, name string) error {
	n, err := q.Exec(ctx, "INSERT INTO names (name) VALUES ($1)", []any{name})
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows were inserted", n)
	}
	return err
}

// insertAlone inserts a name in its own transaction.
func insertAlone(t *testing.T, db *DB, name string) error {
	return db.InTx(t.Context(), func(q Querier) error { return insertName(t.Context(), q, name) })
}

// queryText returns the text that a query returns, empty when it returns none.
func queryText(ctx context.Context, q Querier, query string, args ...any) (text string, err error) {
	err = q.Each(ctx, query, args, func(row Scanner) error { return row.Scan(&text) })
	return text, err
}

func nameExists(t *testing.T, db *DB, name string) bool {
	t.Helper()
	var found string
	err := db.View(func(q Querier) (err error) {
		found, err = queryText(t.Context(), q, "SELECT name FROM names WHERE name = $1", name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found == name
}

// allNames returns the set of all names.
func allNames(t *testing.T, db *DB) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := db.View(func(q Querier) error {
		return q.Each(t.Context(), "SELECT name FROM names", nil, func(row Scanner) error {
			var name string
			err := row.Scan(&name)
			names[name] = true
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// lastCount returns the number in the one row of the table counter.
func lastCount(ctx context.Context, q Querier) (last int64, err error) {
	err = q.Each(ctx, "SELECT last FROM counter WHERE id = 1", nil, func(row Scanner) error { return row.Scan(&last) })
	return last, err
}

var errOnPurpose = errors.New("on purpose")
