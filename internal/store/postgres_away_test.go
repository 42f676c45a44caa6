package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
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
		{"a session moves on once, and its caller is told, when the connection is lost", unknownAdvance},
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
		_, err := tx.OrgByName(t.Context(), name)
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
			proxy.next(what)
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

// unknownAdvance cuts the connection of a statement that is a transaction by itself: once so that the server got it, and
// once so that it did not. Either way it is sent again. Where it was kept the first time, the generation is spent, by its
// own caller, and what follows is the retry within the grace.
func unknownAdvance(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	now := time.Now().Truncate(time.Millisecond)
	session := Session{UID: uuid.NewString(), OrgUID: "one", UserUID: "u", Generation: 1, CreatedAt: now, IdleUntil: now.Add(time.Hour), MaxUntil: now.Add(time.Hour)}
	err := db.InTx(t.Context(), func(tx *Tx) error {
		return errors.Join(tx.InsertOrg(t.Context(), Org{UID: "one", Name: "one", Canonical: "one", CreatedAt: now}),
			tx.InsertUser(t.Context(), User{UID: "u", OrgUID: "one", Email: "u@example.com", Canonical: "u@example.com", Role: "member", CreatedAt: now, PasswordChangedAt: now}),
			tx.InsertSession(t.Context(), session))
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, what := range []cut{cutBefore, cutAnswer} {
		proxy.next(what)
		generation := int64(i + 1)
		_, err := db.AdvanceSession(t.Context(), session.UID, generation, now, now.Add(time.Hour), audit.Event{UID: audit.NewUID(), At: now})
		if spent := what == cutAnswer && errors.Is(err, ErrNotFound); err != nil && !spent {
			t.Errorf("generation %d: %v", generation, err)
		}
		err = db.View(t.Context(), func(tx *Tx) (err error) {
			session, err = tx.Session(t.Context(), session.UID)
			return err
		})
		if err != nil || session.Generation != generation+1 {
			t.Errorf("generation %d became %d: %v", generation, session.Generation, err)
		}
	}
}

// silence is a database behind a network that drops everything: no caller waits for longer than a transaction may take,
// and those who find no connection free are told within the time for one.
func silence(t *testing.T, server *postgrestest.Server) {
	db, proxy := mustOpenVia(t, server)
	db.database.(*postgres).limit = time.Second
	ask := func() error {
		return db.View(t.Context(), func(tx *Tx) error {
			_, err := tx.LastChange(t.Context())
			return err
		})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	proxy.next(cutSilence)
	var wait sync.WaitGroup
	var quick atomic.Int64
	began := time.Now()
	for range 3 * maxAcquiring {
		wait.Go(func() {
			if err := ask(); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("told %v", err)
			}
			if time.Since(began) < time.Second {
				quick.Add(1)
			}
		})
	}
	wait.Wait()
	if waited := time.Since(began); waited > time.Second+2*acquireTimeout+2*time.Second {
		t.Errorf("the last was told after %v", waited)
	}
	if quick.Load() < maxAcquiring {
		t.Errorf("%d of %d were told at once", quick.Load(), 3*maxAcquiring)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := db.Ping(ctx); fault.KindOf(err) != fault.Unavailable || ctx.Err() != nil {
		t.Errorf("ready: %v", err)
	}
	proxy.next(pass)
	for deadline := time.Now().Add(10 * time.Second); ask() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("does not recover")
		}
	}
}

// crash ends the server in the middle of writes from many, and starts it again on what is on its disk.
func crash(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t), Options{MasterKey: testKey})
	stop := make(chan struct{})
	var mu sync.Mutex
	var kept []string
	refused, recovered := 0, make(chan struct{}, 1)
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name, began := fmt.Sprintf("org-%d-%d", worker, i), time.Now()
				err := db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, name) })
				if waited := time.Since(began); waited > 8*time.Second {
					t.Errorf("waited %v to be told %v", waited, err)
				}
				mu.Lock()
				if err == nil {
					kept = append(kept, name)
					if refused > 0 {
						select {
						case recovered <- struct{}{}:
						default:
						}
					}
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
	for round := range 3 {
		time.Sleep(200 * time.Millisecond)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		mu.Lock()
		if refused == 0 {
			t.Errorf("round %d: nobody noticed", round)
		}
		mu.Unlock()
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-recovered:
		default:
		}
		select {
		case <-recovered:
		case <-time.After(10 * time.Second):
			t.Fatal("does not recover by itself")
		}
	}
	close(stop)
	wait.Wait()
	there := map[string]bool{}
	if err := db.View(t.Context(), func(tx *Tx) error {
		orgs, err := tx.Orgs(t.Context())
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
