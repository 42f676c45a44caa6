package storetest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/provisioned"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/teams"
)

// provisionedUsers reads users with what the identity provider calls them, each in its own organization only.
func provisionedUsers(t *testing.T, db *store.DB) {
	org, rival := mustOrg(t, db, "acme"), mustOrg(t, db, "rival")
	b, a, theirs := mustUser(t, db, org, "b@acme.example"), mustUser(t, db, org, "a@acme.example"), mustUser(t, db, rival, "a@acme.example")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		for _, u := range []store.User{a, theirs} { // the same id in two organizations
			if err := tx.SCIM.PutUser(ctx, u.OrgUID, u.UID, "00u1", true); err != nil {
				return err
			}
		}
		return tx.SCIM.PutUser(ctx, org.UID, b.UID, "", false)
	})
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		return tx.SCIM.PutUser(ctx, org.UID, b.UID, "00u1", false)
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.SCIM.PutUser(ctx, org.UID, b.UID, "00u2", true); err != nil { // stays one that it did not create
			return err
		}
		return tx.Users.Disable(ctx, org.UID, b.UID, start)
	})
	wantA := provisioned.User{UID: a.UID, Email: a.Email, Canonical: a.Canonical, ExternalID: "00u1", Created: true, CreatedAt: start}
	wantB := provisioned.User{UID: b.UID, Email: b.Email, Canonical: b.Canonical, ExternalID: "00u2", CreatedAt: start, DisabledAt: start}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.SCIM.Users.Page(ctx, org.UID, 10, 0)
		second, errSecond := tx.SCIM.Users.Page(ctx, org.UID, 1, 1)
		byUID, errUID := tx.SCIM.Users.Get(ctx, org.UID, a.UID)
		byEmail, errEmail := tx.SCIM.Users.ByName(ctx, org.UID, a.Canonical)
		byExternal, errExternal := tx.SCIM.Users.ByExternalID(ctx, org.UID, "00u1")
		got := append(append(all, second...), byUID, byEmail, byExternal)
		if diff := cmp.Diff([]provisioned.User{wantA, wantB, wantB, wantA, wantA, wantA}, got); diff != "" {
			t.Error(diff, err, errSecond, errUID, errEmail, errExternal)
		}
		if n, err := tx.SCIM.Users.Count(ctx, org.UID); n != 2 || err != nil {
			t.Errorf("%d users, %v", n, err)
		}
		return nil
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.SCIM.Users.Get(ctx, rival.UID, a.UID)
		return err
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Delete(ctx, org.UID, a.UID) })
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.SCIM.PutUser(ctx, org.UID, b.UID, "00u1", true)
	})
}

// provisionedTeams reads teams with what the identity provider calls them, each in its own organization only.
func provisionedTeams(t *testing.T, db *store.DB) {
	org, rival := mustOrg(t, db, "acme"), mustOrg(t, db, "rival")
	ops, dev := teams.Team{UID: "t1", OrgUID: org.UID, Name: "ops", CreatedAt: start},
		teams.Team{UID: "t2", OrgUID: org.UID, Name: "dev", CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		for _, team := range []teams.Team{ops, dev} {
			if err := tx.Teams.Insert(ctx, team); err != nil {
				return err
			}
		}
		return tx.SCIM.PutTeam(ctx, org.UID, ops.UID, "g1")
	})
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		return tx.SCIM.PutTeam(ctx, org.UID, dev.UID, "g1")
	})
	wantOps := provisioned.Team{UID: "t1", Name: "ops", ExternalID: "g1", CreatedAt: start}
	wantDev := provisioned.Team{UID: "t2", Name: "dev", CreatedAt: start}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.SCIM.Teams.Page(ctx, org.UID, 10, 0)
		second, errSecond := tx.SCIM.Teams.Page(ctx, org.UID, 1, 1)
		byUID, errUID := tx.SCIM.Teams.Get(ctx, org.UID, ops.UID)
		byName, errName := tx.SCIM.Teams.ByName(ctx, org.UID, "ops")
		byExternal, errExternal := tx.SCIM.Teams.ByExternalID(ctx, org.UID, "g1")
		got := append(append(all, second...), byUID, byName, byExternal)
		if diff := cmp.Diff([]provisioned.Team{wantDev, wantOps, wantOps, wantOps, wantOps, wantOps}, got); diff != "" {
			t.Error(diff, err, errSecond, errUID, errName, errExternal)
		}
		if n, err := tx.SCIM.Teams.Count(ctx, org.UID); n != 2 || err != nil {
			t.Errorf("%d teams, %v", n, err)
		}
		return nil
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.SCIM.Teams.ByName(ctx, rival.UID, "ops")
		return err
	})
}
