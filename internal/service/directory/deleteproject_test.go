package directory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
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
	channel := store.Channel{UID: uuid.NewString(), OrgUID: org.UID, ProjectUID: project.UID, Component: "RegistryHealth", Type: "http",
		CreatedAt: start, HTTP: store.ChannelHTTP{URL: "https://hooks.example.com/secret"}}
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
		return tx.Channels.Insert(ctx, channel)
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
	lacking := admin
	lacking.Role = access.Role(uuid.NewString())
	for _, permission := range []access.Permission{access.DeleteRegistries, access.ConfigureAlerts} {
		other := slices.DeleteFunc([]access.Permission{access.DeleteProjects, access.DeleteRegistries, access.ConfigureAlerts},
			func(p access.Permission) bool { return p == permission })
		lacking.Grants = &access.Grants{Custom: access.Custom{lacking.Role: other}}
		err := w.DeleteProject(t.Context(), lacking, origin, project.UID, true)
		wantCode(t, err, fault.CodeOperationForbidden)
		if refused, ok := errors.AsType[*fault.Error](err); !ok || refused.Reason != string(permission) {
			t.Errorf("without %s: %v", permission, err)
		}
	}
	if n := left(); n != registries {
		t.Fatalf("%d registries are left", n)
	}
	if err := w.DeleteProject(t.Context(), admin, origin, project.UID, true); err != nil {
		t.Fatal(err)
	}
	recorded := func(action audit.Action) (list []audit.Record) {
		w.mustWrite(t, func(ctx context.Context, tx *store.Tx) (err error) {
			list, err = tx.Audits.List(ctx, audits.Filter{Actions: []audit.Action{action}, Outcome: audit.Succeeded}, 2*registries)
			return err
		})
		return list
	}
	if n, deleted := left(), recorded(audit.RegistryDelete); n != 0 || len(deleted) != registries {
		t.Errorf("%d registries are left, %d deletions are recorded", n, len(deleted))
	}
	if deleted := recorded(audit.AlertDelete); len(deleted) != 1 || deleted[0].Object != channel.UID {
		t.Errorf("deletions of channels: %+v", deleted)
	}
}
