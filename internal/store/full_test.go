package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestAFullDiskIsUnavailableAndLosesNothing bounds the database's pages, which SQLite reports like a full
// disk, and writes from many goroutines: who was told yes is there, everyone else was told to come again.
func TestAFullDiskIsUnavailableAndLosesNothing(t *testing.T) {
	db, err := Open(t.Context(), Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	limitPages(t, db, 200)
	var mu sync.Mutex
	var kept []string
	refused := 0
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 40 {
				name := uuid.NewString() + strings.Repeat("x", 2000)
				err := db.InTx(t.Context(), func(tx *Tx) error {
					return tx.Orgs.Insert(t.Context(), Org{UID: uuid.NewString(), Name: name, Canonical: name, CreatedAt: noon})
				})
				mu.Lock()
				if err == nil {
					kept = append(kept, name)
				} else if refused++; fault.KindOf(err) != fault.Unavailable {
					t.Errorf("told %v", err)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(kept) == 0 || refused == 0 {
		t.Fatalf("%d kept, %d refused: the disk was never full, or always", len(kept), refused)
	}
	err = db.View(t.Context(), func(tx *Tx) error {
		var problems []error
		for _, name := range kept {
			if _, err := tx.Orgs.ByName(t.Context(), name); err != nil {
				problems = append(problems, err)
			}
		}
		orgs, err := tx.Orgs.List(t.Context())
		if len(orgs) != len(kept) {
			err = fmt.Errorf("%d are there, %d were acknowledged", len(orgs), len(kept))
		}
		return errors.Join(append(problems, err)...)
	})
	if err != nil {
		t.Error(err)
	}
	limitPages(t, db, 100000)
	if err := db.InTx(t.Context(), func(tx *Tx) error {
		return tx.Orgs.Insert(t.Context(), Org{UID: "after", Name: "after", Canonical: "after", CreatedAt: noon})
	}); err != nil {
		t.Errorf("after there was room again: %v", err)
	}
}

// A transaction that changes nothing succeeds on a full disk, too, and says nothing about it.
func TestAnEmptyCommitDoesNotMakeReady(t *testing.T) {
	db, err := Open(t.Context(), Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	limitPages(t, db, 1)
	name := strings.Repeat("x", 100_000)
	if err := db.InTx(t.Context(), func(tx *Tx) error {
		return tx.Orgs.Insert(t.Context(), Org{UID: "o", Name: name, Canonical: name, CreatedAt: noon})
	}); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("a write without room: %v", err)
	}
	if err := db.InTx(t.Context(), func(*Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if failure, _ := db.writes.due(time.Time{}); failure == nil { // too soon for a probe
		t.Error("ready after a commit of nothing")
	}
	limitPages(t, db, 100_000)
	if err := db.Ready(t.Context()); err != nil {
		t.Errorf("not ready with room again: %v", err)
	}
}

// limitPages runs between two transactions, on the writer's own connection.
func limitPages(t *testing.T, db *DB, pages int) {
	t.Helper()
	rows, err := db.database.(*sqliteDB).writer.conn.QueryContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() { //nolint:revive // the pragma takes effect while its answer is read
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
}
