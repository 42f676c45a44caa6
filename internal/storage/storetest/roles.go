package storetest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/roles"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/teams"
)

// customRoles stores roles of organizations, and finds who has them.
func customRoles(t *testing.T, db *store.DB) {
	org, rival := mustOrg(t, db, "acme"), mustOrg(t, db, "rival")
	const uid, other = "6f1c1c9e-0b8a-4a51-9c5f-000000000001", "6f1c1c9e-0b8a-4a51-9c5f-000000000002"
	b := roles.Role{UID: uid, OrgUID: org.UID, Name: "B", Canonical: "b", Description: "for b", Scope: roles.ScopeProject,
		Permissions: []string{"registry.get", "registry.sync"}, CreatedAt: start}
	a := roles.Role{UID: other, OrgUID: org.UID, Name: "A", Canonical: "a", Scope: roles.ScopeTenant, CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Roles.Insert(ctx, b); err != nil {
			return err
		}
		return tx.Roles.Insert(ctx, a)
	})
	taken := a
	taken.UID = "6f1c1c9e-0b8a-4a51-9c5f-000000000003"
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error { return tx.Roles.Insert(ctx, taken) })
	foreign := b
	foreign.OrgUID = rival.UID
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Roles.Update(ctx, foreign) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Roles.Delete(ctx, rival.UID, uid) })
	a.Name, a.Canonical, a.Permissions = "C", "c", []string{"user.list"}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Roles.Update(ctx, a) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Roles.OfOrg(ctx, org.UID)
		one, errOne := tx.Roles.Get(ctx, org.UID, uid)
		if diff := cmp.Diff([]roles.Role{b, a, b}, append(list, one)); diff != "" || err != nil || errOne != nil {
			t.Errorf("%s %v %v", diff, err, errOne)
		}
		uses, err := tx.Roles.Uses(ctx, org.UID, uid, false, 10)
		if len(uses) != 0 || err != nil {
			t.Errorf("uses of a role that nothing has: %q %v", uses, err)
		}
		return nil
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		team := teams.Team{UID: "t", OrgUID: org.UID, Name: "Ops", Roles: "viewer " + uid, CreatedAt: start}
		if err := tx.Teams.Insert(ctx, team); err != nil {
			return err
		}
		user := store.User{UID: "u", OrgUID: org.UID, Email: "ada@acme.example", Canonical: "ada@acme.example", Role: uid + " auditor",
			RoleNamed: true, PasswordChangedAt: start, CreatedAt: start}
		return tx.Users.Insert(ctx, user)
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		for inProjects, want := range map[bool][]string{false: {"Ops", "ada@acme.example"}, true: nil} {
			uses, err := tx.Roles.Uses(ctx, org.UID, uid, inProjects, 10)
			if diff := cmp.Diff(want, uses); diff != "" || err != nil {
				t.Errorf("uses, in projects %t: %s %v", inProjects, diff, err)
			}
		}
		return nil
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.Delete(ctx, org.UID) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		if list, err := tx.Roles.OfOrg(ctx, org.UID); len(list) > 0 || err != nil {
			t.Errorf("of a deleted organization: %v %v", list, err)
		}
		return nil
	})
}
