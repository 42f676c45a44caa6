package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/teams"
)

// teamRoles stores teams, and reads the roles that a user has by them and by itself.
func teamRoles(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "acme"), mustOrg(t, db, "other")
	ada, bob := mustUser(t, db, org, "ada"), mustUser(t, db, org, "bob")
	foreign := mustUser(t, db, other, "ada")
	project := func(in store.Org, name string) string {
		p := store.Project{UID: uuid.NewString(), OrgUID: in.UID, Name: name, Canonical: name, CreatedAt: start}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Projects.Insert(ctx, p) })
		return p.UID
	}
	own, both, theirs := project(org, "own"), project(org, "both"), project(other, "theirs")
	ops := teams.Team{UID: uuid.NewString(), OrgUID: org.UID, Name: "ops", Roles: "viewer", CreatedAt: start}
	upper := teams.Team{UID: uuid.NewString(), OrgUID: org.UID, Name: "Ops", Source: teams.SourceSSO, CreatedAt: start}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Teams.Insert(ctx, ops), tx.Teams.Insert(ctx, upper), tx.Teams.Add(ctx, org.UID, ops.UID, ada.UID, false),
			tx.Teams.Add(ctx, org.UID, ops.UID, ada.UID, true), tx.Teams.Add(ctx, org.UID, ops.UID, bob.UID, true),
			tx.Projects.InsertMember(ctx, org.UID, own, ada.UID, ""), tx.Projects.InsertMember(ctx, org.UID, both, ada.UID, "viewer"),
			tx.Teams.SetProjects(ctx, org.UID, ops.UID, []teams.Roles{{ProjectUID: both, Roles: "admin"}}))
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		list, more, errL := tx.Teams.List(ctx, org.UID, "")
		rest, _, errR := tx.Teams.List(ctx, org.UID, "Ops")
		n, errC := tx.Teams.Count(ctx, org.UID)
		of, errO := tx.Teams.OfUser(ctx, org.UID, ada.UID)
		members, errM := tx.Teams.Members(ctx, org.UID, ops.UID)
		foreign, errF := tx.Teams.Members(ctx, other.UID, ops.UID)
		if diff := cmp.Diff([][]teams.Team{{upper, ops}, {ops}, {ops}}, [][]teams.Team{list, rest, of}); diff != "" || more || n != 2 ||
			len(members) != 2 || len(foreign) != 0 {
			t.Errorf("%t, %d, %v, %v\n%s", more, n, members, foreign, diff)
		}
		granted, errG := tx.Teams.Granted(ctx, org.UID, ada.UID)
		all := map[teams.Roles]bool{}
		for _, g := range granted {
			all[g] = true
		}
		if diff := cmp.Diff(map[teams.Roles]bool{{ProjectUID: own, Roles: "member"}: true, {ProjectUID: both, Roles: "viewer"}: true,
			{ProjectUID: both, Roles: "admin"}: true, {Roles: "viewer"}: true}, all); diff != "" {
			t.Errorf("granted:\n%s", diff)
		}
		byGroup, errB := tx.Teams.ByGroup(ctx, org.UID, bob.UID)
		otherwise, errW := tx.Teams.ByGroup(ctx, org.UID, ada.UID)
		if len(byGroup) != 1 || len(otherwise) != 0 {
			t.Errorf("by groups: %v, %v", byGroup, otherwise)
		}
		visible, _, errV := tx.Projects.ForUser(ctx, org.UID, bob.UID, store.Project{})
		if len(visible) != 1 || visible[0].UID != both {
			t.Errorf("projects of a member of the team: %+v", visible)
		}
		return errors.Join(errL, errR, errC, errO, errM, errF, errG, errB, errW, errV)
	})
	for name, change := range map[string]func(context.Context, *store.Tx) error{
		"a name is taken": func(ctx context.Context, tx *store.Tx) error {
			return tx.Teams.Insert(ctx, teams.Team{UID: uuid.NewString(), OrgUID: org.UID, Name: "ops", CreatedAt: start})
		},
		"a name is taken by another": func(ctx context.Context, tx *store.Tx) error {
			return tx.Teams.Update(ctx, teams.Team{UID: upper.UID, OrgUID: org.UID, Name: "ops", CreatedAt: start})
		},
	} {
		if err := db.InTx(t.Context(), func(tx *store.Tx) error { return change(t.Context(), tx) }); !errors.Is(err, store.ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		return tx.Teams.Add(ctx, org.UID, ops.UID, foreign.UID, true)
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		return tx.Teams.SetProjects(ctx, org.UID, ops.UID, []teams.Roles{{ProjectUID: theirs, Roles: "viewer"}})
	})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Teams.Delete(ctx, other.UID, ops.UID) })
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Teams.Remove(ctx, org.UID, ops.UID, bob.UID), tx.Users.Delete(ctx, org.UID, ada.UID),
			tx.Projects.Delete(ctx, org.UID, both))
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		members, errM := tx.Teams.Members(ctx, org.UID, ops.UID)
		projects, errP := tx.Teams.Projects(ctx, org.UID, ops.UID)
		if len(members) != 0 || len(projects) != 0 {
			t.Errorf("left: %v, %v", members, projects)
		}
		return errors.Join(errM, errP)
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Teams.Delete(ctx, org.UID, ops.UID) })
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.Delete(ctx, org.UID) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Teams.Get(ctx, org.UID, upper.UID)
		return err
	})
}

// teamsInOrder adds a user to teams whose names are in another order, and leaves it in one for a second time.
func teamsInOrder(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	user := mustUser(t, db, org, "ada")
	names := []string{"ops", "dev", "web"}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
		for _, name := range names {
			team := teams.Team{UID: "uid of " + name, OrgUID: org.UID, Name: name, CreatedAt: start}
			err = errors.Join(err, tx.Teams.Insert(ctx, team), tx.Teams.Add(ctx, org.UID, team.UID, user.UID, false))
		}
		return errors.Join(err, tx.Teams.Add(ctx, org.UID, "uid of ops", user.UID, false),
			tx.Teams.Remove(ctx, org.UID, "uid of dev", user.UID), tx.Teams.Add(ctx, org.UID, "uid of dev", user.UID, false))
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Teams.OfUser(ctx, org.UID, user.UID)
		var got []string
		for _, team := range list {
			got = append(got, team.Name)
		}
		if want := []string{"ops", "web", "dev"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		return err
	})
}
