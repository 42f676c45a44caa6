package directory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/membership"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// A team that has more users than allowed, for a group of the identity provider, can become smaller. No user can join it.
func TestTeamOfTooManyUsers(t *testing.T) {
	w := mustWorld(t)
	acme := w.mustOrg(t, "Acme")
	admin := w.mustUser(t, acme, "admin@acme.example", auth.RoleAdmin)
	teams, name := directory.Teams{Directory: w.Directory}, "Ops"
	team, err := teams.Create(t.Context(), admin, origin, directory.TeamChange{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	w.mustWrite(t, func(ctx context.Context, tx *store.Tx) error {
		var errs []error
		for i := range membership.MaxMembers + 2 {
			uid := fmt.Sprintf("user-%d", i)
			errs = append(errs, tx.Users.Insert(ctx, store.User{UID: uid, OrgUID: acme.UID, Email: uid, Canonical: uid, Role: "none",
				PasswordChangedAt: start, CreatedAt: start}), tx.Teams.Add(ctx, acme.UID, team.UID, uid, true))
		}
		return errors.Join(errs...)
	})
	set := func(change func(users []string) []string) error {
		return teams.Change(t.Context(), admin, origin, team.UID, func(stored directory.Team) (directory.TeamChange, error) {
			users := make([]string, len(stored.Users))
			for i, user := range stored.Users {
				users[i] = user.UserUID
			}
			users = change(users)
			return directory.TeamChange{Users: &users}, nil
		})
	}
	wantFields(t, set(func(users []string) []string { return append(users, admin.UserUID) }), "users")
	wantFields(t, set(func([]string) []string { return slices.Repeat([]string{admin.UserUID}, 100_000) }), "users")
	for _, change := range []func([]string) []string{func(users []string) []string { return append(users, users[0]) }, // named twice
		func(users []string) []string { return users[1:] }} {
		if err := set(change); err != nil {
			t.Error(err)
		}
	}
	_, err = w.CreateUser(t.Context(), admin, origin, directory.NewUser{Email: "new@acme.example", WithoutPassword: true,
		Teams: []string{"unknown", name}})
	wantFields(t, err, "teams[0]", "teams[1]")
	if got, err := teams.Get(t.Context(), admin, name); err != nil || len(got.Users) != membership.MaxMembers+1 {
		t.Errorf("%d users, %v", len(got.Users), err)
	}
}
