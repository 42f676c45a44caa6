// Package membership is how users join and leave teams, by an administrator or by the groups of the identity provider.
package membership

import (
	"context"

	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// MaxMembers is how many users a team may have. A team that has more already stays as it is, until some leave.
const MaxMembers = 2000

// Full reports whether no user can join a team.
func Full(ctx context.Context, tx *store.Tx, orgUID, team string) (bool, error) {
	n, err := tx.Teams.CountMembers(ctx, orgUID, team)
	return n >= MaxMembers, err
}

// Join makes a user a member of a team of its organization, byGroup as of teams.Teams.Add. See UseTeams.
func Join(ctx context.Context, tx *store.Tx, user store.User, team string, byGroup bool) error {
	if err := UseTeams(ctx, tx, user); err != nil {
		return err
	}
	return tx.Teams.Add(ctx, user.OrgUID, team, user.UID, byGroup)
}

// UseTeams lets a user who is a member of the organization only because no role was named have what its teams grant, also if those that it
// should join are full.
func UseTeams(ctx context.Context, tx *store.Tx, user store.User) error {
	if access.Role(user.Role).Direct() == access.Member && !user.RoleNamed {
		if err := tx.Users.SetRole(ctx, user.OrgUID, user.UID, string(access.None), false); err != nil {
			return err
		}
	}
	return tx.Users.Grant(ctx, user.OrgUID, user.UID) // locks the user, and notes the change
}

// Leave removes a user from a team. Its own role stays as it is.
func Leave(ctx context.Context, tx *store.Tx, orgUID, user, team string) error {
	if err := tx.Changes.Note(ctx, user); err != nil {
		return err
	}
	return tx.Teams.Remove(ctx, orgUID, team, user)
}

// Custom returns the roles that an organization defines.
func Custom(ctx context.Context, tx *store.Tx, orgUID string) (access.Custom, error) {
	defined, err := tx.Roles.OfOrg(ctx, orgUID)
	custom := access.Custom{}
	for _, role := range defined {
		custom.Add(role.UID, role.Permissions)
	}
	return custom, err
}
