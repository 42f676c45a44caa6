package sqldb

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

// TestOpenReportsThatTheLockCannotBeCreated has databases in which the lock of opening cannot be created: Open returns the cause
// at once, and does not retry for as long as another process could take.
func TestOpenReportsThatTheLockCannotBeCreated(t *testing.T) {
	server := shared.Server(t)
	for name, row := range map[string]struct {
		prepare, parameter, want string
	}{
		"no schema":     {"SELECT 1", "&search_path=missing", "search_path"},
		"another table": {"CREATE TABLE opening_lock (id BIGINT PRIMARY KEY CHECK (id > 1))", "", "23514"},
	} {
		url := server.NewDatabase(t)
		execDirectly(t, url, row.prepare)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // retries take five
		_, err := Open(ctx, Options{URL: secret.String(url + row.parameter)}, setup)
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// TestEveryConnectionIsDurableAndDetectsLoss reads the settings of connections to a database whose defaults are bad: what
// setup writes is durable like everything else, and a lost machine is detected soon.
func TestEveryConnectionIsDurableAndDetectsLoss(t *testing.T) {
	url := shared.Server(t).NewDatabase(t)
	execDirectly(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$")
	db := mustOpenURL(t, url)
	const query = "SELECT current_setting('synchronous_commit') || ' ' || current_setting('tcp_keepalives_idle') || ' ' || " +
		"current_setting('tcp_keepalives_interval') || ' ' || current_setting('tcp_keepalives_count') || ' ' || " +
		"current_setting('client_connection_check_interval')"
	config, err := parseURL(secret.String(url))
	if err != nil {
		t.Fatal(err)
	}
	setupPool, _, err := openSetupPool(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer setupPool.Close()
	for name, of := range map[string]func() (string, error){
		"setup": func() (got string, err error) {
			err = setupPool.QueryRowContext(t.Context(), query).Scan(&got)
			return got, err
		},
		"writer": func() (got string, err error) {
			err = db.InTx(t.Context(), func(q Querier) (err error) {
				got, err = queryText(t.Context(), q, query)
				return err
			})
			return got, err
		},
		"reader": func() (got string, err error) {
			err = db.View(func(q Querier) (err error) {
				got, err = queryText(t.Context(), q, query)
				return err
			})
			return got, err
		},
	} {
		if got, err := of(); err != nil || got != "on 5 3 3 2s" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestOpeningWaitsForASlowDatabase opens a store whose callers wait for no connection: opening does.
func TestOpeningWaitsForASlowDatabase(t *testing.T) {
	db := mustOpen(t, Options{URL: secret.String(shared.Server(t).NewDatabase(t)), Timeout: time.Nanosecond})
	p := db.engine.(*postgres)
	if idle := p.pool.conns.Stat().IdleConns(); idle != 1 {
		t.Errorf("%d connections", idle)
	}
	if err := tryQuery(t, db); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a query: %v", err)
	}
}

// TestMigrationDuringALongReadBlocksNoQueries changes a table that a transaction reads, as pg_dump does: the migration waits for its end,
// and queries of the table do not wait for the migration.
func TestMigrationDuringALongReadBlocksNoQueries(t *testing.T) {
	const reads = 4 * time.Second
	url := shared.Server(t).NewDatabase(t)
	execDirectly(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = ''20s''', current_database());
		EXECUTE format('ALTER DATABASE %I SET statement_timeout = ''40s''', current_database()); END $$`) // a busy machine is slow
	db := mustOpenURL(t, url)
	dump, err := mustConnect(t, url).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dump.Exec(t.Context(), "LOCK TABLE names IN ACCESS SHARE MODE"); err != nil { // pg_dump begins with it
		t.Fatal(err)
	}
	files := maps.Clone(migrations)
	files["migrations/postgres/00002_column.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE names ADD COLUMN more TEXT")}
	migrated := make(chan error, 1)
	go func() {
		newer, err := Open(t.Context(), Options{URL: secret.String(url)},
			func(ctx context.Context, db *Raw) error { return db.Migrate(ctx, files, false) })
		if err == nil {
			err = newer.Close()
		}
		migrated <- err
	}()
	for began := time.Now(); time.Since(began) < reads; time.Sleep(50 * time.Millisecond) {
		if err := insertAlone(t, db, time.Now().String()); err != nil {
			t.Errorf("an insert next to the migration: %v", err)
		}
	}
	if len(migrated) > 0 {
		t.Fatalf("the migration did not wait: %v", <-migrated)
	}
	if err := errors.Join(dump.Rollback(t.Context()), <-migrated); err != nil {
		t.Error(err)
	}
}
