package sqldb

import (
	"context"
	"strings"
	"testing"
	"time"

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
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
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
		"current_setting('tcp_keepalives_interval') || ' ' || current_setting('tcp_keepalives_count') || ' ' || current_setting('client_connection_check_interval')"
	config, err := parseURL(secret.String(url))
	if err != nil {
		t.Fatal(err)
	}
	setupPool := openSetupPool(config)
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
	for name, of := range map[string]*pool{"writers": p.writers, "readers": p.readers} {
		if idle := of.conns.Stat().IdleConns(); idle != 1 {
			t.Errorf("%d connections for %s", idle, name)
		}
	}
	if err := tryQuery(t, db); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a query: %v", err)
	}
}
