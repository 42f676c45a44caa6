package registries

import (
	"fmt"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/store"
)

func unsyncedInput(name string) RegistryInput {
	unsynced := input(name)
	unsynced.SyncSupported = false
	return unsynced
}

// checksUntil counts the stored registries that are due for a check by then.
func (k fixture) checksUntil(t *testing.T, after time.Duration) (n int64) {
	t.Helper()
	if err := k.DB.View(t.Context(), func(tx *store.Tx) (err error) {
		n, err = tx.Watch.Count(t.Context(), registriestest.Start.Add(after), 1000)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// First checks of definitions begin no faster than the user may validate, unless that is later than the interval of scheduled checks.
// All definitions are stored.
func TestFirstChecksOfManyDefinitionsAreSpread(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{ContactsPerMinute: 4})
		var last string
		for i := range 100 {
			last = k.mustCreate(t, unsyncedInput(fmt.Sprint("r", i)))
		}
		for _, step := range []struct {
			after    time.Duration
			min, max int64
		}{{0, 4, 4}, {14 * time.Second, 4, 4}, {15 * time.Second, 5, 5}, {time.Minute, 8, 8}, {7 * time.Minute, 32, 32},
			{store.ContactsAhead, 100, 100}} {
			if n := k.checksUntil(t, step.after); n < step.min || n > step.max {
				t.Errorf("%d checks are due after %v, want %d", n, step.after, step.min)
			}
		}
		// A user who changes a definition repeatedly postpones its check.
		for range 5 {
			if err := k.Replace(t.Context(), k.Admin, audit.Origin{}, last, unsyncedInput("last")); err != nil {
				t.Fatal(err)
			}
			if err := k.DB.View(t.Context(), func(tx *store.Tx) error {
				row, err := tx.Watch.Get(t.Context(), "org-a", last)
				if row.NextAt.Sub(registriestest.Start) < store.ContactsAhead/2 {
					t.Errorf("the check of a definition that is changed repeatedly is due at %v", row.NextAt)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
