package sqldb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

func tryQuery(t *testing.T, db *DB) error {
	return db.View(func(q Querier) error {
		_, err := lastCount(t.Context(), q)
		return err
	})
}

// awaitServed returns when the database runs queries. Its only time limit is that of the test binary: a busy machine may be slow.
func awaitServed(t *testing.T, db *DB) {
	t.Helper()
	for tryQuery(t, db) != nil {
		time.Sleep(10 * time.Millisecond)
	}
}

// TestAnotherHostTakesOver has two ways to a database, and the one that is in use becomes unresponsive.
func TestAnotherHostTakesOver(t *testing.T) {
	server := shared.Server(t)
	direct := strings.TrimSuffix(server.NewDatabase(t), postgrestest.SlowConnect) + "&connect_timeout=5"
	first, second := startCutProxy(t, server.Address()), startCutProxy(t, server.Address())
	db := mustOpenURL(t, strings.Replace(direct, server.Address(), first.address()+","+second.address(), 1))
	awaitServed(t, db)
	first.next(cutSilence)
	db.engine.(*postgres).limit = time.Second
	if err := tryQuery(t, db); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a query on an unresponsive connection: %v", err)
	}
	db.engine.(*postgres).limit = time.Hour
	awaitServed(t, db)
	// The first connection for writing tries the unresponsive host first, and may be late for its first callers.
	err := insertAlone(t, db, "stored")
	for errors.Is(err, errNoConn) {
		err = insertAlone(t, db, "stored")
	}
	if err != nil {
		t.Errorf("a first write: %v", err)
	}
}

// TestUnresponsiveAfterTheHandshake has a database that accepts connections and does not respond to their first statements: it keeps
// neither a place of the pool nor the listener.
func TestUnresponsiveAfterTheHandshake(t *testing.T) {
	server := shared.Server(t)
	direct := strings.TrimSuffix(server.NewDatabase(t), postgrestest.SlowConnect) + "&connect_timeout=5"
	proxy := startCutProxy(t, server.Address())
	db := mustOpenURL(t, strings.Replace(direct, server.Address(), proxy.address(), 1))
	t.Cleanup(proxy.endAll)
	<-db.Changed()
	proxy.nextWith("client_connection_check_interval", cutSilence) // of sqlDetectLoss
	proxy.endAll()
	if err := tryQuery(t, db); fault.KindOf(err) != fault.Unavailable || errors.Is(err, errNoConn) {
		t.Errorf("a query: %v, want the error of a connection that was given up", err)
	}
	proxy.awaitCuts(t, 2) // that of the pool, and the listener's
	proxy.next(pass)
	awaitServed(t, db)
	select {
	case <-db.Changed():
	case <-time.After(time.Minute):
		t.Error("the listener waits for a response that was lost")
	}
}

// TestNoConnectionSaysWhy asks for a connection while the only one is in use, and in no time to open another.
func TestNoConnectionSaysWhy(t *testing.T) {
	for conns, want := range map[string]string{"3": "all 1 are in use; pool_max_conns in the URL allows more",
		"4": "it is slow to open one more, 1 are in use"} {
		db := mustOpenURL(t, shared.Server(t).NewDatabase(t)+"&pool_max_conns="+conns)
		awaitServed(t, db)
		err := db.InTx(t.Context(), func(Querier) error {
			db.engine.(*postgres).pool.timeout = time.Nanosecond
			return insertAlone(t, db, "second")
		})
		if fault.KindOf(err) != fault.Unavailable || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v; not %q", err, want)
		}
	}
}

// TestWorkThatOutlastsItsTransaction has a transaction whose time is over before its next statement.
func TestWorkThatOutlastsItsTransaction(t *testing.T) {
	db := mustOpenURL(t, shared.Server(t).NewDatabase(t))
	awaitServed(t, db)
	db.engine.(*postgres).limit = time.Second
	err := db.InTx(t.Context(), func(q Querier) error {
		<-q.(*pgTx).bound.Done()
		return insertName(t.Context(), q, "late")
	})
	if fault.KindOf(err) != fault.Unavailable || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestOneCallersDeadlineCostsOneConnection has a caller with a short deadline wait for a locked row.
func TestOneCallersDeadlineCostsOneConnection(t *testing.T) {
	url := shared.Server(t).NewDatabase(t)
	db := mustOpenURL(t, url)
	const connections = 6
	var running, together sync.WaitGroup
	together.Add(connections)
	for range connections {
		running.Go(func() {
			arrive := sync.OnceFunc(together.Done)
			defer arrive() // also without a connection
			if err := db.InTx(t.Context(), func(Querier) error {
				arrive()
				together.Wait()
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if err := insertAlone(t, db, "o"); err != nil {
		t.Fatal(err)
	}
	before := processes(t, url)
	rename := "UPDATE names SET name = name"
	blocker := mustConnect(t, url)
	for _, statement := range []string{"BEGIN", rename} {
		if _, err := blocker.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := db.InTx(ctx, func(q Querier) error {
		_, err := q.Exec(ctx, rename, nil)
		return err
	})
	if err == nil {
		t.Error("a locked row was changed")
	}
	if _, err := blocker.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // in which a reset would close the others
	after := processes(t, url)
	remaining := slices.DeleteFunc(slices.Clone(before), func(pid int64) bool { return !slices.Contains(after, pid) })
	if len(before) < connections || len(remaining) < len(before)-2 { // a busy machine may cost another one, a reset costs all
		t.Errorf("of %d connections %d remain", len(before), len(remaining))
	}
}

// processes are the database's for connections of a store.
func processes(t *testing.T, url string) (pids []int64) {
	t.Helper()
	const query = "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = 'regwarden' AND datname = current_database()"
	if err := mustConnect(t, url).QueryRow(t.Context(), query).Scan(&pids); err != nil {
		t.Fatal(err)
	}
	return pids
}
