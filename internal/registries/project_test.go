package registries

import (
	"errors"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/registries/registriestest"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
)

// In either order, one of the two requests is refused with a code.
func TestConcurrentProjectDeletionAndRegistryCreation(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		people := directory.New(k.DB, nil, k.Now)
		for _, deletionFirst := range []bool{true, false} {
			project, err := people.CreateProject(t.Context(), k.Admin, audit.Origin{}, directory.NewProject{Name: "Blue"})
			if err != nil {
				t.Fatal(err)
			}
			var uid string
			var stored, deleted error
			w := input("One")
			w.ProjectUID = project.UID
			store := func() error { uid, stored = k.Create(t.Context(), k.Admin, audit.Origin{}, w); return nil }
			remove := func() error {
				deleted = people.DeleteProject(t.Context(), k.Admin, audit.Origin{}, project.UID, false)
				return nil
			}
			changes := []func() error{store, remove}
			if deletionFirst {
				changes = []func() error{remove, store}
			}
			postgrestest.Concurrently(t, k.URL, "SELECT 1 FROM projects FOR UPDATE", changes...)

			missing, _ := errors.AsType[*fault.Error](stored)
			full, _ := errors.AsType[*fault.Error](deleted)
			switch {
			case deleted == nil && missing != nil && missing.Code == fault.CodeProjectNotFound: // as on PostgreSQL if the deletion is first
			case stored == nil && full != nil && full.Code == directory.CodeProjectNotEmpty:
				if err := k.Delete(t.Context(), k.Admin, audit.Origin{}, uid); err != nil {
					t.Error(err)
				}
				if err := people.DeleteProject(t.Context(), k.Admin, audit.Origin{}, project.UID, false); err != nil {
					t.Error(err)
				}
			default:
				t.Errorf("deletion first %t: stored: %v; deleted: %v", deletionFirst, stored, deleted)
			}
			if k.URL != "" && (deleted == nil) != deletionFirst {
				t.Errorf("deletion first %t: stored: %v; deleted: %v", deletionFirst, stored, deleted)
			}
		}
	})
}
