package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

func lastChange(t *testing.T, db *DB) error {
	return db.View(t.Context(), func(tx *Tx) error {
		_, err := tx.Changes.Last(t.Context())
		return err
	})
}

// awaitServed returns when the database answers. It has no time limit but that of the test binary: a busy machine may be slow.
func awaitServed(t *testing.T, db *DB) {
	t.Helper()
	for lastChange(t, db) != nil {
		time.Sleep(10 * time.Millisecond)
	}
}

// TestAnotherHostTakesOver has two ways to a database, and the one that is in use fall silent.
func TestAnotherHostTakesOver(t *testing.T) {
	server := Shared.Server(t)
	direct := server.NewDatabase(t)
	first, second := startCutProxy(t, server.Address()), startCutProxy(t, server.Address())
	db := mustOpenURL(t, strings.Replace(direct, server.Address(), first.address()+","+second.address(), 1), Options{MasterKey: testKey})
	awaitServed(t, db)
	first.next(cutSilence)
	db.database.(*postgres).limit = time.Second
	if err := lastChange(t, db); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a query on a silent connection: %v", err)
	}
	patient(db)
	awaitServed(t, db)
	// The first connection for writing tries the silent host first, and may be late for its first callers.
	write := func() error {
		return db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, "kept") })
	}
	err := write()
	for errors.Is(err, errNoConn) {
		err = write()
	}
	if err != nil {
		t.Errorf("a first write: %v", err)
	}
}

// TestOneImpatientCallerCostsOneConnection has somebody with little patience wait for a locked row.
func TestOneImpatientCallerCostsOneConnection(t *testing.T) {
	url := Shared.Server(t).NewDatabase(t) + slowConnect
	db := mustOpenURL(t, url, Options{MasterKey: testKey})
	const connections = 6
	var running, together sync.WaitGroup
	together.Add(connections)
	for range connections {
		running.Go(func() {
			err := unavailable(errNoConn)
			for errors.Is(err, errNoConn) { // on a busy machine
				err = db.InTx(t.Context(), func(tx *Tx) error {
					together.Done()
					together.Wait()
					return nil
				})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if err := db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, "o") }); err != nil {
		t.Fatal(err)
	}
	before := processes(t, url)
	rename := "UPDATE orgs SET name = name"
	blocker := mustConnect(t, url)
	for _, statement := range []string{"BEGIN", rename} {
		if _, err := blocker.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := db.InTx(ctx, func(tx *Tx) error {
		_, err := tx.change(ctx, rename)
		return err
	})
	if err == nil {
		t.Error("a locked row was changed")
	}
	if _, err := blocker.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // in which those that are not trusted would be closed
	after := processes(t, url)
	kept := slices.DeleteFunc(slices.Clone(before), func(pid int64) bool { return !slices.Contains(after, pid) })
	if len(before) < connections || len(kept) < len(before)-1 {
		t.Errorf("of %d connections %d were kept", len(before), len(kept))
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
