package directory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// What a project contains is deleted only with cascade, and only by who may delete the project. More registries than one transaction
// deletes are all deleted and recorded.
func TestDeleteProjectWithContents(t *testing.T) {
	const registries = 201
	w := mustWorld(t)
	org := w.mustOrg(t, "Acme")
	admin := w.mustUser(t, org, "admin@acme.example", auth.RoleAdmin)
	project, err := w.CreateProject(t.Context(), admin, origin, directory.NewProject{Name: "Blue"})
	if err != nil {
		t.Fatal(err)
	}
	member := w.mustUser(t, org, "member@acme.example", auth.RoleMember, "Blue")
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		for i := range registries {
			r := store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: fmt.Sprint(i), Canonical: fmt.Sprint(i), Version: 1,
				CreatedAt: start, UpdatedAt: start}
			if err := tx.Registries.Insert(ctx, r); err != nil {
				return err
			}
			if err := tx.Projects.SetOfRegistry(ctx, org.UID, r.UID, project.UID); err != nil {
				return err
			}
		}
		return tx.Channels.Insert(ctx,
			store.Channel{UID: uuid.NewString(), OrgUID: org.UID, ProjectUID: project.UID, Component: "RegistryHealth",
				Type: "http", CreatedAt: start})
	})
	left := func() (n int) {
		w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
			names, err := tx.Orgs.Registries(ctx, org.UID, 2*registries)
			n = len(names)
			return err
		})
		return n
	}
	wantCode(t, w.DeleteProject(t.Context(), admin, origin, project.UID, false), directory.CodeProjectNotEmpty)
	wantCode(t, w.DeleteProject(t.Context(), member, origin, project.UID, true), fault.CodeOperationForbidden)
	wantCode(t, w.DeleteProject(t.Context(), admin, origin, uuid.NewString(), true), fault.CodeResourceNotFound)
	if n := left(); n != registries {
		t.Fatalf("%d registries are left", n)
	}
	if err := w.DeleteProject(t.Context(), admin, origin, project.UID, true); err != nil {
		t.Fatal(err)
	}
	var recorded []audit.Record
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) (err error) {
		recorded, err = tx.Audits.List(ctx,
			audits.Filter{Actions: []audit.Action{audit.RegistryDelete}, Outcome: audit.Succeeded}, 2*registries)
		return err
	})
	if n := left(); n != 0 || len(recorded) != registries {
		t.Errorf("%d registries are left, %d deletions are recorded", n, len(recorded))
	}
}
