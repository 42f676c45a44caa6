package registries

import (
	"errors"
	"fmt"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
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

// A project is deleted with its registries while one is stored in it and another one is changed. They lock the same rows in the same
// order: otherwise PostgreSQL would have to end one of them.
func TestNoDeadlockWithCascade(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		people := directory.New(k.DB, nil, k.Now)
		for changed := range 2 {
			name := fmt.Sprint("Blue ", changed)
			project, err := people.CreateProject(t.Context(), k.Admin, audit.Origin{}, directory.NewProject{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			in := func(name string) RegistryInput {
				w := input(fmt.Sprint(name, changed))
				w.ProjectUID = project.UID
				return w
			}
			uids := []string{k.mustCreate(t, in("One")), k.mustCreate(t, in("Two"))}
			var errs [3]error
			postgrestest.Concurrently(t, k.URL, "SELECT 1 FROM org_usage FOR UPDATE",
				func() error { _, errs[0] = k.Create(t.Context(), k.Admin, audit.Origin{}, in("Three")); return nil },
				func() error {
					errs[1] = people.DeleteProject(t.Context(), k.Admin, audit.Origin{}, project.UID, true)
					return nil
				},
				func() error {
					errs[2] = k.Replace(t.Context(), k.Admin, audit.Origin{}, uids[changed], in("Changed"))
					return nil
				})
			for _, err := range errs {
				f, ok := errors.AsType[*fault.Error](err)
				if err != nil && (!ok || f.Kind == fault.Internal || f.Kind == fault.Unavailable) {
					t.Errorf("%v", err)
				}
			}
		}
	})
}
