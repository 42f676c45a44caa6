package registries

import (
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
)

// TestSynchronizationAskedForWhileSwitchedOff asks for one beside the change that switches it off: nothing is due after
// that, whichever was first.
func TestSynchronizationAskedForWhileSwitchedOff(t *testing.T) {
	eachDatabase(t, func(t *testing.T, k keeping) {
		uid := k.mustCreate(t, wanted("One"))
		off := wanted("One")
		off.SyncSupported = false
		postgrestest.Beside(t, k.url, "SELECT 1 FROM registry_sync FOR UPDATE",
			func() error { return k.Replace(t.Context(), k.admin, audit.Origin{}, uid, off) },
			func() error {
				if err := k.Sync(t.Context(), k.admin, audit.Origin{}, uid); err != nil && fault.KindOf(err) != fault.Invalid {
					return err
				}
				return nil
			})
		if err := k.db.View(t.Context(), func(tx *store.Tx) error {
			row, err := tx.Syncs.Get(t.Context(), k.admin.OrgUID, uid)
			if !row.NextAt.IsZero() {
				t.Errorf("due at %v", row.NextAt)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}
