package federation

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/membership"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/teams"
)

const (
	maxGroups = 200 // of one person; more are left out
	maxTeams  = 500 // of an organization, beyond which groups get no new teams
)

// groupsOf returns the groups of a person in the form of names of teams, each once and in a fixed order. known is false if the claims do
// not say it: teams stay as they are then. Entra ID refers to another address for more than 200 groups.
func groupsOf(s identities.Settings, claims map[string]any) (groups []string, known bool) {
	name := s.Claims[identities.ClaimGroups]
	if name == "" {
		return nil, true
	}
	referred, _ := claims["_claim_names"].(map[string]any)
	if _, refers := referred[name]; refers {
		return nil, false
	}
	switch claim := claims[name].(type) {
	case string:
		groups = []string{teams.OfGroup(claim)}
	case []any:
		for _, value := range claim {
			if group, ok := value.(string); ok {
				groups = append(groups, teams.OfGroup(group))
			}
		}
	}
	slices.Sort(groups)
	groups = slices.DeleteFunc(slices.Compact(groups), func(group string) bool { return names.NameProblem(group) != "" })
	return groups[:min(len(groups), maxGroups)], true
}

// setTeams makes a user a member of the teams that have exactly the names of its groups, or of the default teams if there are none, and
// removes it from teams in which it was only for a group. Teams to which an administrator added it stay.
func (s *SSO) setTeams(ctx context.Context, tx *store.Tx, origin audit.Origin, p identities.Provider, user store.User,
	claims map[string]any) error {
	groups, known := groupsOf(p.Settings, claims)
	if !known || !p.Settings.UseTeams() {
		return nil
	}
	var wanted []string
	for _, group := range groups {
		team, err := s.teamOf(ctx, tx, origin, p, user, group)
		if err != nil {
			return err
		}
		if team != "" {
			wanted = append(wanted, team)
		}
	}
	if len(wanted) == 0 {
		wanted = slices.Clone(p.Settings.DefaultTeams)
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	if err := s.joinTeams(ctx, tx, origin, user, wanted); err != nil {
		return err
	}
	return s.leaveTeams(ctx, tx, origin, user, wanted)
}

// joinTeams makes a user a member of teams of its groups, where it is not one already, and that are not full.
func (s *SSO) joinTeams(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, wanted []string) error {
	present, err := tx.Teams.OfUser(ctx, user.OrgUID, user.UID)
	if err != nil {
		return err
	}
	for _, team := range wanted {
		if slices.ContainsFunc(present, func(t teams.Team) bool { return t.UID == team }) {
			continue
		}
		if _, err := tx.Teams.Get(ctx, user.OrgUID, team); errors.Is(err, store.ErrNotFound) { // a default team that was deleted
			continue
		}
		full, err := membership.Full(ctx, tx, user.OrgUID, team)
		if err != nil {
			return err
		}
		if full {
			if err := membership.UseTeams(ctx, tx, user); err != nil {
				return err
			}
			continue
		}
		if err := membership.Join(ctx, tx, user, team, true); err != nil {
			return err
		}
		if err := s.recordTeam(ctx, tx, origin, user, audit.TeamUpdate, team, "joined"); err != nil {
			return err
		}
	}
	return nil
}

// leaveTeams removes a user from the teams in which it is for a group and that are not wanted.
func (s *SSO) leaveTeams(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, wanted []string) error {
	byGroup, err := tx.Teams.ByGroup(ctx, user.OrgUID, user.UID)
	for i := 0; i < len(byGroup) && err == nil; i++ {
		if slices.Contains(wanted, byGroup[i]) {
			continue
		}
		if err = membership.Leave(ctx, tx, user.OrgUID, user.UID, byGroup[i]); err == nil {
			err = s.recordTeam(ctx, tx, origin, user, audit.TeamUpdate, byGroup[i], "left")
		}
	}
	return err
}

// teamOf returns the uid of the team with exactly the name of a group, which is created if the organization wants that, or "".
func (s *SSO) teamOf(ctx context.Context, tx *store.Tx, origin audit.Origin, p identities.Provider, user store.User, group string) (
	uid string, err error) {
	team, err := tx.Teams.ByName(ctx, user.OrgUID, group)
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return team.UID, err
	}
	n, err := tx.Teams.Count(ctx, user.OrgUID)
	if err != nil || !p.Settings.SyncTeams || n >= maxTeams {
		return "", err
	}
	team = teams.Team{UID: uuid.NewString(), OrgUID: user.OrgUID, Name: group, Source: teams.SourceSSO, CreatedAt: s.service.config.Now()}
	err = tx.Teams.Insert(ctx, team)
	if errors.Is(err, store.ErrExists) { // created by a concurrent login
		team, err = tx.Teams.ByName(ctx, user.OrgUID, group)
		return team.UID, err
	}
	if err == nil {
		err = s.recordTeam(ctx, tx, origin, user, audit.TeamCreate, team.UID, "group")
	}
	return team.UID, err
}

func (s *SSO) recordTeam(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, action audit.Action,
	team, reason string) error {
	return tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: s.service.config.Now(), OrgUID: user.OrgUID, ActorUID: user.UID,
		ActorName: user.Email, Method: audit.MethodOIDC, Action: action, Object: team, Outcome: audit.Succeeded, Reason: reason,
		Origin: origin})
}
