package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
)

// TestPostgreSQLAway takes the database away in every way there is a test for.
func TestPostgreSQLAway(t *testing.T) {
	server := postgrestest.Start(t, postgrestest.Options{})
	for _, part := range []struct {
		name string
		test func(*testing.T, *postgrestest.Server)
	}{
		{"a connection that is lost before the commit is replaced", lostBeforeCommit},
		{"a commit of unknown outcome is not repeated", unknownOutcome},
		{"a statement that fails on the way with a commit is no doubt about it", statementBeforeCommit},
		{"silence is waited for by few, and not for long", silence},
		{"a crash under load loses nothing that was acknowledged", crash},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, server) })
	}
}

func mustOpenVia(t *testing.T, server *postgrestest.Server) (*DB, *cutProxy) {
	t.Helper()
	direct := server.NewDatabase(t)
	proxy := startCutProxy(t, server.Address())
	db := mustOpenURL(t, strings.Replace(direct, server.Address(), proxy.address(), 1), Options{MasterKey: testKey})
	t.Cleanup(proxy.endAll) // before the store ends, which would wait for answers
	return db, proxy
}

func orgExists(t *testing.T, db *DB, name string) bool {
	t.Helper()
	err := db.View(t.Context(), func(tx *Tx) error {
		_, err := tx.Orgs.ByName(t.Context(), name)
		return err
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func lostBeforeCommit(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	for name, what := range map[string]cut{"before": cutBefore, "answer": cutAnswer} {
		runs := 0
		err := db.InTx(t.Context(), func(tx *Tx) error {
			if runs++; runs == 1 {
				proxy.next(what)
			}
			return insertOrg(t.Context(), tx, name)
		})
		if err != nil || runs != 2 || !orgExists(t, db, name) {
			t.Errorf("%s: %d runs, %v", name, runs, err)
		}
	}
	proxy.endAll() // as a restart of the database does to idle connections
	if !orgExists(t, db, "before") {
		t.Error("a question finds nothing on another connection")
	}
	proxy.endAll()
	if err := db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, "idle") }); err != nil {
		t.Errorf("idle connections were cut: %v", err)
	}
}

// unknownOutcome cuts the connection after COMMIT was sent: once so that the server got it, and once so that it did not.
func unknownOutcome(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	for name, what := range map[string]cut{"lost": cutBefore, "kept": cutAnswer} {
		runs := 0
		err := db.InTx(t.Context(), func(tx *Tx) error {
			runs++
			err := insertOrg(t.Context(), tx, name)
			proxy.nextWith("COMMIT\x00", what) // other connections send messages, too
			return err
		})
		if fault.KindOf(err) != fault.Unavailable || runs != 1 {
			t.Errorf("%s: %d runs, told %v", name, runs, err)
		}
		there := orgExists(t, db, name)
		for deadline := time.Now().Add(5 * time.Second); what == cutAnswer && !there && time.Now().Before(deadline); {
			there = orgExists(t, db, name) // the server may still be at it
		}
		if there != (what == cutAnswer) {
			t.Errorf("%s is there: %v", name, there)
		}
	}
}

// silence is a database behind a network that drops everything. The time limit of transactions ends the wait of callers with
// a connection, the time limit for a connection that of the others. Too many callers do not wait at all.
func silence(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	p := db.database.(*postgres)
	p.limit = time.Second
	awaitServed(t, db)
	proxy.next(cutSilence)
	var wait sync.WaitGroup
	for range 3 * maxAcquiring {
		wait.Go(func() {
			if err := lastChange(t, db); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("told %v", err)
			}
		})
	}
	wait.Wait()
	p.readers.waiting.Add(maxAcquiring)
	if err := lastChange(t, db); fault.KindOf(err) != fault.Unavailable || !errors.Is(err, errTooMany) {
		t.Errorf("with %d who wait: %v", maxAcquiring, err)
	}
	p.readers.waiting.Add(-maxAcquiring)
	if err := db.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("ready: %v", err)
	}
	proxy.next(pass)
	awaitServed(t, db)
}

// crash ends the server in the middle of writes from many, and starts it again on what is on its disk.
func crash(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t), Options{MasterKey: testKey})
	stop := make(chan struct{})
	var mu sync.Mutex
	var kept []string
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
				name := fmt.Sprintf("org-%d-%d", worker, i)
				err := db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, name) })
				mu.Lock()
				if err == nil {
					kept = append(kept, name)
				} else if refused++; fault.KindOf(err) != fault.Unavailable {
					t.Errorf("told %v", err)
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
	countKept, countRefused := func() int { return len(kept) }, func() int { return refused }
	for range 3 {
		more(countKept, 100)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		more(countRefused, 20)
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
	}
	more(countKept, 100)
	close(stop)
	wait.Wait()
	there := map[string]bool{}
	if err := db.View(t.Context(), func(tx *Tx) error {
		orgs, err := tx.Orgs.List(t.Context())
		for _, org := range orgs {
			there[org.Name] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range kept {
		if !there[name] {
			t.Errorf("%s was acknowledged and is gone", name)
		}
	}
	t.Logf("%d acknowledged, %d there, %d refused", len(kept), len(there), refused)
}

// statementBeforeCommit lets a statement fail that travels with the commit. Its code may mean, behind a COMMIT, that
// nobody knows; here the commit was never run.
func statementBeforeCommit(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t), Options{})
	err := db.InTx(t.Context(), func(tx *Tx) error {
		if _, err := tx.change(t.Context(), "SET LOCAL statement_timeout = '20ms'"); err != nil {
			return err
		}
		return tx.insert(t.Context(), "SELECT pg_sleep(5)")
	})
	if err == nil || strings.Contains(fmt.Sprint(errors.Unwrap(err), err), "not known") {
		t.Errorf("told %v, because %v", err, errors.Unwrap(err))
	}
}
