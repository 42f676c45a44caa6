package serve

import (
	"errors"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/sweep"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// A clock that is ahead for less than an hour deletes no audit record, nor does one that was ahead for long and is right again.
func TestAuditRecordsAreDeletedByTheClockOfWaits(t *testing.T) {
	db, err := store.Open(t.Context(), store.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	at := time.Now().AddDate(-1, 0, 0)
	if err := db.InTx(t.Context(), func(tx *store.Tx) error {
		record := audit.Record{UID: audit.NewUID(), At: at, Action: audit.Login, Outcome: audit.Succeeded}
		today := record
		today.UID, today.At = audit.NewUID(), time.Now()
		return errors.Join(tx.Audits.Append(t.Context(), record), tx.Audits.Append(t.Context(), today))
	}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		age  time.Duration
		left int
	}{{23 * time.Hour, 2}, {25 * time.Hour, 1}, {3 * 365 * 24 * time.Hour, 1}} {
		s := sweep.Sweeper{DB: db, Now: time.Now, WaitNow: func() time.Time { return at.Add(tt.age) }}
		if err := sweepOld(t.Context(), s, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		left, err := store.Read(t.Context(), db, func(tx *store.Tx) ([]audit.Record, error) {
			return tx.Audits.OldestFirst(t.Context(), time.UnixMilli(0), "", 10)
		})
		if err != nil || len(left) != tt.left {
			t.Errorf("after %v: %v, %v", tt.age, left, err)
		}
	}
}
