package contentsync

import (
	"fmt"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// eachDatabase runs a test on a service with a fixed clock that allows four contacts a minute.
func eachDatabase(t *testing.T, test func(*testing.T, fixture)) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		test(t, newFixture(f, registries.Limits{ContactsPerMinute: 4}, &regcheck.Checker{}, f.Now))
	})
}

// In either order of the request and the change that disables synchronization, none is due afterwards.
func TestSynchronizationRequestedWhileDisabled(t *testing.T) {
	eachDatabase(t, func(t *testing.T, k fixture) {
		uid := k.mustCreate(t, input("One"))
		off := input("One")
		off.SyncSupported = false
		postgrestest.Concurrently(t, k.URL, "SELECT 1 FROM registry_sync FOR UPDATE",
			func() error { return k.stored.Replace(t.Context(), k.Admin, audit.Origin{}, uid, off) },
			func() error {
				if err := k.Request(t.Context(), k.Admin, audit.Origin{}, uid); err != nil && fault.KindOf(err) != fault.Invalid {
					return err
				}
				return nil
			})
		if err := k.DB.View(t.Context(), func(tx *store.Tx) error {
			row, err := tx.Syncs.Get(t.Context(), k.Admin.OrgUID, uid)
			if !row.NextAt.IsZero() {
				t.Errorf("due at %v", row.NextAt)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// Synchronizations count as contacts, whether a change or a request schedules them.
func TestSynchronizationsOfManyDefinitionsAreSpread(t *testing.T) {
	eachDatabase(t, func(t *testing.T, k fixture) {
		dueSyncs := func(after time.Duration) (n int) {
			err := k.DB.InTx(t.Context(), func(tx *store.Tx) error {
				taken, err := tx.Syncs.Claim(t.Context(), "o", registriestest.Start.Add(after), registriestest.Start.Add(time.Hour),
					[]store.Share{{OrgUID: "org-a", Count: 99}})
				n = len(taken)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		var uids []string
		for i := range 4 {
			uids = append(uids, k.mustCreate(t, input(fmt.Sprint("r", i))))
		}
		var checks int64
		if err := k.DB.View(t.Context(), func(tx *store.Tx) (err error) {
			checks, err = tx.Watch.Count(t.Context(), registriestest.Start, 1000)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if syncs := dueSyncs(0); checks+int64(syncs) != 4 {
			t.Errorf("%d checks and %d synchronizations at once, want 4 in all", checks, syncs)
		}
		waiting := uids[3]
		if err := k.Request(t.Context(), k.Admin, audit.Origin{}, waiting); err != nil {
			t.Fatal(err)
		}
		if n := dueSyncs(time.Second); n != 0 {
			t.Errorf("%d synchronizations are due because of requests", n)
		}
		if n := dueSyncs(time.Minute); n != 2 {
			t.Errorf("%d synchronizations are due a minute later, want the two pending ones: requests postpone none", n)
		}
		// A running synchronization continues although the next one is scheduled later.
		if err := k.Request(t.Context(), k.Admin, audit.Origin{}, waiting); err != nil {
			t.Fatal(err)
		}
		if status, err := k.Status(t.Context(), k.Admin, waiting); err != nil || status.Status != store.SyncInProgress {
			t.Errorf("requested while it runs: %+v, %v", status, err)
		}
	})
}
