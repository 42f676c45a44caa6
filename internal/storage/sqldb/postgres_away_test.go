package sqldb

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

// TestPostgreSQLUnreachable makes the database unreachable in several ways.
func TestPostgreSQLUnreachable(t *testing.T) {
	server := postgrestest.Start(t, postgrestest.Options{})
	for _, part := range []struct {
		name string
		test func(*testing.T, *postgrestest.Server)
	}{
		{"a connection that is lost before the commit is replaced", lostBeforeCommit},
		{"a commit of unknown outcome is not repeated", unknownOutcome},
		{"a single statement of unknown outcome is not repeated", unknownSingle},
		{"a statement that fails on the way with a commit has a known outcome", statementBeforeCommit},
		{"few callers wait for an unresponsive database, and not for long", unresponsive},
		{"a crash under load loses nothing that was acknowledged", crash},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, server) })
	}
}

func mustOpenVia(t *testing.T, server *postgrestest.Server) (*DB, *cutProxy) {
	t.Helper()
	direct := server.NewDatabase(t)
	proxy := startCutProxy(t, server.Address())
	db := mustOpenURL(t, strings.Replace(direct, server.Address(), proxy.address(), 1))
	t.Cleanup(proxy.endAll) // before the database is closed, which would wait for responses
	<-db.Changed()          // it listens: what it sends while connecting must not take the cut of a test
	return db, proxy
}

func lostBeforeCommit(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	for name, what := range map[string]cut{"before": cutBefore, "response": cutResponse} {
		runs := 0
		err := db.InTx(t.Context(), func(q Querier) error {
			if runs++; runs == 1 {
				proxy.next(what)
			}
			return insertName(t.Context(), q, name)
		})
		if err != nil || runs != 2 || !nameExists(t, db, name) {
			t.Errorf("%s: %d runs, %v", name, runs, err)
		}
	}
	proxy.endAll() // as a restart of the database does to idle connections
	if !nameExists(t, db, "before") {
		t.Error("a query finds nothing on another connection")
	}
	proxy.endAll()
	if err := insertAlone(t, db, "idle"); err != nil {
		t.Errorf("idle connections were cut: %v", err)
	}
}

// unknownOutcome cuts the connection after COMMIT was sent: once so that the server got it, and once so that it did not.
func unknownOutcome(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	for name, what := range map[string]cut{"lost": cutBefore, "stored": cutResponse} {
		runs := 0
		err := db.InTx(t.Context(), func(q Querier) error {
			runs++
			err := insertName(t.Context(), q, name)
			proxy.nextWith("COMMIT\x00", what) // other connections send messages too
			return err
		})
		if fault.KindOf(err) != fault.Unavailable || runs != 1 {
			t.Errorf("%s: %d runs, got %v", name, runs, err)
		}
		there := nameExists(t, db, name)
		for deadline := time.Now().Add(5 * time.Second); what == cutResponse && !there && time.Now().Before(deadline); {
			there = nameExists(t, db, name) // the server may still be committing
		}
		if there != (what == cutResponse) {
			t.Errorf("%s is there: %v", name, there)
		}
	}
}

// unknownSingle is unknownOutcome for a statement that commits itself: also when its connection was idle and is lost.
func unknownSingle(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	for name, what := range map[string]cut{"lost": cutBefore, "stored": cutResponse} {
		if err := insertSingle(t, db, name+" before"); err != nil { // its text is prepared now
			t.Fatal(err)
		}
		runs := 0
		err := db.Autocommit(t.Context(), func(q Querier) error {
			runs++
			proxy.nextWith(name+"!", what)
			return insertName(t.Context(), q, name+"!")
		})
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fmt.Sprint(errors.Unwrap(err)), "not known") || runs != 1 {
			t.Errorf("%s: %d runs, got %v, because %v", name, runs, err, errors.Unwrap(err))
		}
		there := nameExists(t, db, name+"!")
		for deadline := time.Now().Add(5 * time.Second); what == cutResponse && !there && time.Now().Before(deadline); {
			there = nameExists(t, db, name+"!")
		}
		if there != (what == cutResponse) {
			t.Errorf("%s is there: %v", name, there)
		}
		if err := insertSingle(t, db, name+" after"); err != nil {
			t.Errorf("on another connection: %v", err)
		}
	}
}

// unresponsive is a database behind a network that drops everything. The time limit of transactions ends the wait of callers with
// a connection, the time limit for a connection that of the others. Too many callers do not wait at all.
func unresponsive(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	p := db.engine.(*postgres)
	p.limit = time.Second
	awaitServed(t, db)
	proxy.next(cutSilence)
	var wait sync.WaitGroup
	for range 3 * maxAcquiring {
		wait.Go(func() {
			if err := tryQuery(t, db); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("got %v", err)
			}
		})
	}
	wait.Wait()
	p.pool.readers.waiting.Add(maxAcquiring)
	if err := tryQuery(t, db); fault.KindOf(err) != fault.Unavailable || !errors.Is(err, errTooMany) {
		t.Errorf("with %d waiting callers: %v", maxAcquiring, err)
	}
	p.pool.readers.waiting.Add(-maxAcquiring)
	if err := db.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("ready: %v", err)
	}
	proxy.next(pass)
	awaitServed(t, db)
}

// crash ends the server in the middle of writes from many, and starts it again on what is on its disk.
func crash(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t))
	stop := make(chan struct{})
	var mu sync.Mutex
	var acknowledged []string
	refused := 0
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("name-%d-%d", worker, i)
				err := insertAlone(t, db, name)
				mu.Lock()
				if err == nil {
					acknowledged = append(acknowledged, name)
				} else if refused++; fault.KindOf(err) != fault.Unavailable {
					t.Errorf("got %v", err)
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	// more waits for so many more outcomes of a kind; that writes recover by themselves shows in this too.
	more := func(count func() int, n int) {
		mu.Lock()
		begin := count()
		mu.Unlock()
		for reached := false; !reached; time.Sleep(time.Millisecond) {
			mu.Lock()
			reached = count() >= begin+n
			mu.Unlock()
		}
	}
	countAcknowledged, countRefused := func() int { return len(acknowledged) }, func() int { return refused }
	for range 3 {
		more(countAcknowledged, 100)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		more(countRefused, 20)
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
	}
	more(countAcknowledged, 100)
	close(stop)
	wait.Wait()
	there := allNames(t, db)
	for _, name := range acknowledged {
		if !there[name] {
			t.Errorf("%s was acknowledged and is missing", name)
		}
	}
	t.Logf("%d acknowledged, %d there, %d refused", len(acknowledged), len(there), refused)
}

// statementBeforeCommit makes a statement fail that is sent with the commit. For a COMMIT, its code would mean that the outcome
// is unknown; here the commit was never run.
func statementBeforeCommit(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t))
	err := db.InTx(t.Context(), func(q Querier) error {
		if _, err := q.Exec(t.Context(), "SET LOCAL statement_timeout = '20ms'", nil); err != nil {
			return err
		}
		return q.ExecDeferred(t.Context(), "SELECT pg_sleep(5)", nil)
	})
	if err == nil || strings.Contains(fmt.Sprint(errors.Unwrap(err), err), "not known") {
		t.Errorf("got %v, because %v", err, errors.Unwrap(err))
	}
}
