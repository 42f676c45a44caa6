package sqldb

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
)

// TestFullDiskIsUnavailableAndLosesNothing bounds the database's pages, which SQLite reports like a full
// disk, and writes from many goroutines: acknowledged writes are stored, the others failed with kind Unavailable.
func TestFullDiskIsUnavailableAndLosesNothing(t *testing.T) {
	db := mustOpen(t, Options{Dir: t.TempDir()})
	limitPages(t, db, 200)
	var mu sync.Mutex
	var acknowledged []string
	refused := 0
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 40 {
				name := uuid.NewString() + strings.Repeat("x", 2000)
				err := insertAlone(t, db, name)
				mu.Lock()
				if err == nil {
					acknowledged = append(acknowledged, name)
				} else if refused++; fault.KindOf(err) != fault.Unavailable {
					t.Errorf("unexpected error: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(acknowledged) == 0 || refused == 0 {
		t.Fatalf("%d acknowledged, %d refused: the disk was never full, or always", len(acknowledged), refused)
	}
	there := allNames(t, db)
	if len(there) != len(acknowledged) {
		t.Errorf("%d are stored, %d were acknowledged", len(there), len(acknowledged))
	}
	for _, name := range acknowledged {
		if !there[name] {
			t.Errorf("%.40s was acknowledged and is missing", name)
		}
	}
	limitPages(t, db, 100000)
	if err := insertAlone(t, db, "after"); err != nil {
		t.Errorf("after space was available again: %v", err)
	}
}

// A transaction that changes nothing succeeds on a full disk too, and does not show that writes succeed.
func TestEmptyCommitDoesNotMakeReady(t *testing.T) {
	db := mustOpen(t, Options{Dir: t.TempDir()})
	limitPages(t, db, 1)
	if err := insertAlone(t, db, strings.Repeat("x", 100_000)); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("a write without space: %v", err)
	}
	if err := db.InTx(t.Context(), func(Querier) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if failure, _ := db.writes.due(time.Time{}); failure == nil { // too soon for a probe
		t.Error("ready after an empty commit")
	}
	limitPages(t, db, 100_000)
	if err := db.Ready(t.Context()); err != nil {
		t.Errorf("not ready with space available again: %v", err)
	}
}

// limitPages runs between two transactions, on the writer's own connection.
func limitPages(t *testing.T, db *DB, pages int) {
	t.Helper()
	rows, err := db.engine.(*sqliteDB).writer.conn.QueryContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() { //nolint:revive // the pragma takes effect while its rows are read
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
}

// The probe of a full disk writes a file of its own, whose error is the same for people.
func TestReasonOfAProbe(t *testing.T) {
	err := unavailable(fmt.Errorf("write in the data directory: %w", syscall.ENOSPC))
	if reason, connecting := Reason(err); connecting || !strings.HasPrefix(reason, "The disk of the data directory is full.") {
		t.Errorf("%q, %v", reason, connecting)
	}
}
