package sqldb

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

// poorDefaults sets defaults of a database that every transaction replaces, and one that stays.
const poorDefaults = `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
	EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
	EXECUTE format('ALTER DATABASE %I SET lock_timeout = ''3s''', current_database()); END $$`

// TestPooler opens a store through pgbouncer, whose first connections of the database serve all clients in turn.
func TestPooler(t *testing.T) {
	server := shared.Server(t)
	for name, settings := range map[string][]string{
		"session":                        {"default_pool_size = 20"},
		"transaction":                    {"default_pool_size = 2"},
		"transaction, one connection":    {"default_pool_size = 2", "max_db_connections = 2"},
		"transaction, in turn":           {"default_pool_size = 3", "server_round_robin = 1"},
		"transaction, no reset of names": {"default_pool_size = 2", "server_reset_query ="},
	} {
		t.Run(name, func(t *testing.T) {
			mode, _, _ := strings.Cut(name, ",")
			pooler, direct := postgrestest.StartPooler(t, server, mode, settings...), server.NewDatabase(t)
			execDirectly(t, direct, poorDefaults)
			one, two := mustOpenURL(t, pooler.URL(direct)), mustOpenURL(t, pooler.URL(direct))
			for _, db := range []*DB{one, two} {
				if found := db.engine.(*postgres).pooling.Load(); found.transactions != (mode == "transaction") {
					t.Fatalf("found %+v", found)
				}
			}
			usePooled(t, one, two)
			_, _ = one.Close(), two.Close() // in mode session they have the connections
			ownSettings(t, mustOpenURL(t, pooler.URL(direct)))
			othersSettings(t, pooler.URL(direct), mode)
		})
	}
}

// usePooled reads and writes concurrently.
func usePooled(t *testing.T, stores ...*DB) {
	t.Helper()
	var running sync.WaitGroup
	for worker := range 16 {
		db := stores[worker%len(stores)]
		running.Go(func() {
			for i := range 20 {
				name := fmt.Sprintf("%d-%d", worker, i)
				if err := insertAlone(t, db, name); err != nil {
					t.Errorf("insert: %v", err)
				} else if !nameExists(t, db, name) {
					t.Errorf("%s is missing", name)
				}
			}
		})
	}
	running.Wait()
}

// ownSettings are those of a transaction that writes, and of one that reads.
func ownSettings(t *testing.T, db *DB) {
	t.Helper()
	const query = `SELECT concat_ws(' ', current_setting('transaction_read_only'), current_setting('transaction_isolation'),
		current_setting('lock_timeout'),
		current_setting('statement_timeout'), current_setting('synchronous_commit'),
			current_setting('idle_in_transaction_session_timeout'))`
	var read, written string
	show := func(into *string) func(Querier) error {
		return func(q Querier) (err error) {
			*into, err = queryText(t.Context(), q, query)
			return err
		}
	}
	if err := errors.Join(db.View(show(&read)), db.InTx(t.Context(), show(&written))); err != nil {
		t.Fatal(err)
	}
	if want := "off read committed 3s 4s on 10s"; written != want {
		t.Errorf("a transaction has the settings %q, want %q", written, want)
	}
	if want := "on read committed 3s 4s"; !strings.HasPrefix(read, want) {
		t.Errorf("a query has the settings %q, want %q", read, want)
	}
}

// othersSettings are those that another client of the pooler finds on the connections of the database: their defaults.
func othersSettings(t *testing.T, url, mode string) {
	t.Helper()
	if mode == "session" {
		return // another client gets no connection that is in use
	}
	conn := mustConnect(t, url)
	for range 6 {
		const query = `SELECT concat_ws(' ', current_setting('default_transaction_read_only'),
			current_setting('default_transaction_isolation'),
			current_setting('lock_timeout'), current_setting('statement_timeout'), current_setting('synchronous_commit'),
			current_setting('idle_in_transaction_session_timeout'), (SELECT count(*) FROM pg_listening_channels()))`
		result := conn.PgConn().ExecParams(t.Context(), query, nil, nil, nil, nil).Read() // without a named statement
		if result.Err != nil || string(result.Rows[0][0]) != "off serializable 3s 0 off 0 0" {
			t.Fatalf("another client has the settings %q, %v", result.Rows, result.Err)
		}
	}
}

// TestPoolerOfStatements is refused with what to change.
func TestPoolerOfStatements(t *testing.T) {
	server := shared.Server(t)
	pooler := postgrestest.StartPooler(t, server, "statement")
	_, err := Open(t.Context(), Options{URL: secret.String(pooler.URL(server.NewDatabase(t)))}, setup)
	if !errors.Is(err, errStatementPooling) || fault.KindOf(err) == fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestPoolerIsPutInBetween changes the way to the database from a direct one to a pooler of transactions while the store is open, and has
// statements in use whose names the pooler's connections do not know, or know from another client.
func TestPoolerIsPutInBetween(t *testing.T) {
	server := shared.Server(t)
	direct := server.NewDatabase(t)
	pooler := postgrestest.StartPooler(t, server, "transaction", "default_pool_size = 2")
	proxy := startCutProxy(t, server.Address())
	var stores []*DB
	for range 2 {
		stores = append(stores, mustOpenURL(t, strings.Replace(direct, server.Address(), proxy.address(), 1)))
	}
	usePooled(t, stores[0])
	proxy.target.Store(pooler.URL(server.Address()))
	proxy.endAll()
	t.Cleanup(proxy.endAll)
	var running sync.WaitGroup
	for worker := range 16 {
		running.Go(func() {
			db := stores[worker%2]
			for i := range 20 {
				err := insertAlone(t, db, fmt.Sprintf("later-%d-%d", worker, i))
				if err != nil && fault.KindOf(err) != fault.Unavailable {
					t.Errorf("insert: %v", err)
				}
			}
		})
	}
	running.Wait()
	for _, db := range stores {
		if found := db.engine.(*postgres).pooling.Load(); !found.transactions || !found.unnamed {
			t.Errorf("found %+v", found)
		}
	}
}

// TestMigrationThroughPooler runs a migration that takes longer than the database allows a statement, through a pooler of transactions.
func TestMigrationThroughPooler(t *testing.T) {
	server := shared.Server(t)
	pooler, direct := postgrestest.StartPooler(t, server, "transaction", "default_pool_size = 2", "query_wait_timeout = 20"),
		server.NewDatabase(t)
	execDirectly(t, direct, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = ''5s''', current_database()); END $$`)
	slow := fstest.MapFS{"migrations/postgres/00001_names.sql": {Data: []byte(schema + "SELECT pg_sleep(6);")}}
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			db, err := OpenRaw(t.Context(), Options{URL: secret.String(pooler.URL(direct))})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := errors.Join(db.Migrate(t.Context(), slow, false), db.Close()); err != nil {
				t.Errorf("migrate: %v", err)
			}
		})
	}
	running.Wait()
}

// TestConnectionsOfOneStore counts the connections of a store under load.
func TestConnectionsOfOneStore(t *testing.T) {
	for parameter, want := range map[string]int{"": 8, "&pool_max_conns=5": 5, "&pool_max_conns=1": 3} {
		url := shared.Server(t).NewDatabase(t)
		db := mustOpenURL(t, url+parameter)
		<-db.Changed() // it listens
		var together, running sync.WaitGroup
		p := db.engine.(*postgres).pool
		writers := cap(p.writers.slots)
		together.Add(writers)
		for range writers {
			running.Go(func() {
				arrive := sync.OnceFunc(together.Done)
				defer arrive() // also without a connection
				err := db.InTx(t.Context(), func(q Querier) error {
					_, err := lastCount(t.Context(), q)
					arrive()
					together.Wait()
					return errors.Join(err, tryQuery(t, db)) // writers leave a connection to readers
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		pids := processes(t, url)
		for began := time.Now(); len(pids) > want && time.Since(began) < 10*time.Second; pids = processes(t, url) {
			time.Sleep(100 * time.Millisecond) // PostgreSQL has not noticed yet that one was closed
		}
		if len(pids) != want {
			t.Errorf("%d connections with %q, want %d", len(pids), parameter, want)
		}
	}
}
