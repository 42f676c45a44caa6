package directory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/teams"
)

// ProvisionedTeam is a team as SCIM knows it: a group. Its roles are not part of it.
type ProvisionedTeam struct {
	UID, Name  string
	ExternalID string // of the identity provider; may be empty
	Members    []TeamMember
	Added      []string // uids of members to add who may be members by a group of the identity provider; not stored
	CreatedAt  time.Time
}

// maxListedMembers bounds the members of all teams of a page, which ends with the team that exceeds it.
const maxListedMembers = 10_000

// Teams returns the teams that a lookup finds, and how many there are in all. A page may have fewer teams than its limit.
//
// Faults: Forbidden.
func (d Provisioning) Teams(ctx context.Context, p auth.Principal, by Lookup, withMembers bool) (list []ProvisionedTeam, total int64,
	err error) {
	own, err := d.own(p, access.ReadTeams)
	if err != nil {
		return nil, 0, err
	}
	err = d.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := own.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		found, count, err := lookUp(ctx, tx.SCIM.Teams, orgUID, by, teams.OfGroup)
		list, total = nil, count
		for i, members := 0, 0; i < len(found) && err == nil && members <= maxListedMembers; i++ {
			team := ProvisionedTeam{UID: found[i].UID, Name: found[i].Name, ExternalID: found[i].ExternalID, CreatedAt: found[i].CreatedAt}
			if withMembers {
				team.Members, err = tx.Teams.Members(ctx, orgUID, team.UID)
				members += len(team.Members)
			}
			list = append(list, team)
		}
		return err
	})
	return list, total, fault.Wrap("list provisioned teams", err)
}

// Team returns a team by uid.
//
// Faults: Forbidden; NotFound.
func (d Provisioning) Team(ctx context.Context, p auth.Principal, uid string, withMembers bool) (ProvisionedTeam, error) {
	list, _, err := d.Teams(ctx, p, Lookup{UID: &uid}, withMembers)
	if err == nil && len(list) == 0 {
		err = teamNotFound(store.ErrNotFound)
	}
	if err != nil {
		return ProvisionedTeam{}, err
	}
	return list[0], nil
}

// CreateTeam creates a team without roles.
//
// Faults: Invalid with name, externalId and users[i]; Forbidden; Conflict with CodeTeamExists, CodeExternalIDExists.
func (d Provisioning) CreateTeam(ctx context.Context, p auth.Principal, origin audit.Origin, input ProvisionedTeam) (
	ProvisionedTeam, error) {
	input.UID, input.CreatedAt = uuid.NewString(), d.now()
	err := d.provision(ctx, p, origin, access.CreateTeams, audit.TeamCreate, input.Name,
		func(tx *store.Tx, _ auth.Principal, orgUID string) (changeResult, error) {
			if err := d.teamProblems(input); err != nil {
				return changeResult{}, err
			}
			n, err := tx.Teams.Count(ctx, orgUID)
			if err == nil && n >= maxTeams {
				err = fault.InvalidField("name", fmt.Sprintf("exceeds the limit of %d teams", maxTeams))
			}
			team := teams.Team{UID: input.UID, OrgUID: orgUID, Name: teams.Name(input.Name), Source: teams.SourceSSO,
				CreatedAt: input.CreatedAt}
			if err == nil {
				err = teamExists(tx.Teams.Insert(ctx, team))
			}
			if err == nil {
				err = d.setTeam(ctx, tx, team, ProvisionedTeam{}, &input)
			}
			return changeResult{orgUID: orgUID, uid: input.UID}, err
		})
	return input, err
}

func (d Provisioning) teamProblems(t ProvisionedTeam) error {
	problems := append(Teams(d).Problems(TeamChange{Name: &t.Name}), fault.FieldProblem("externalId", externalProblem(t.ExternalID))...)
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return nil
}

// setTeam makes a team what next says, and completes next.
func (d Provisioning) setTeam(ctx context.Context, tx *store.Tx, team teams.Team, stored ProvisionedTeam, next *ProvisionedTeam) error {
	next.UID, next.CreatedAt, next.Name = team.UID, team.CreatedAt, teams.Name(next.Name)
	uids := make([]string, len(next.Members))
	for i, member := range next.Members {
		uids[i] = member.UserUID
	}
	for _, uid := range next.Added {
		if slices.Contains(uids, uid) {
			uids = append(uids, uid)
		}
	}
	_, err := setTeam(ctx, tx, team, TeamChange{Name: &next.Name, Users: &uids})
	if err == nil && stored.ExternalID != next.ExternalID {
		err = externalExists(tx.SCIM.PutTeam(ctx, team.OrgUID, team.UID, next.ExternalID))
	}
	if err == nil {
		next.Members, err = tx.Teams.Members(ctx, team.OrgUID, team.UID)
	}
	return err
}

// ChangeTeam changes a team. change gets what is stored and returns what to store; its uid and time do not count. The caller must be able
// to give the roles of the team.
//
// Faults: as of CreateTeam, and NotFound.
func (d Provisioning) ChangeTeam(ctx context.Context, p auth.Principal, origin audit.Origin, uid string,
	change func(stored ProvisionedTeam) (ProvisionedTeam, error)) (next ProvisionedTeam, err error) {
	err = d.provision(ctx, p, origin, access.ChangeTeams, audit.TeamUpdate, uid,
		func(tx *store.Tx, own auth.Principal, orgUID string) (changeResult, error) {
			team, stored, err := provisionedTeam(ctx, tx, own, orgUID, uid)
			if err == nil {
				next, err = change(stored)
			}
			if err == nil {
				err = d.teamProblems(next)
			}
			if err == nil {
				err = d.setTeam(ctx, tx, team, stored, &next)
			}
			if err != nil || next.equals(stored) {
				return changeResult{unchanged: true}, err
			}
			return changeResult{orgUID: orgUID, uid: uid}, tx.Changes.Note(ctx, orgUID)
		})
	return next, err
}

func (t ProvisionedTeam) equals(other ProvisionedTeam) bool {
	return t.Name == other.Name && t.ExternalID == other.ExternalID && slices.Equal(t.Members, other.Members)
}

// provisionedTeam returns a team that the caller may change, with its members.
func provisionedTeam(ctx context.Context, tx *store.Tx, own auth.Principal, orgUID, uid string) (team teams.Team, stored ProvisionedTeam,
	err error) {
	if team, err = tx.Teams.Get(ctx, orgUID, uid); err != nil {
		return team, stored, teamNotFound(err)
	}
	if err = mayManage(ctx, tx, own, team); err != nil {
		return team, stored, err
	}
	found, err := tx.SCIM.Teams.Get(ctx, orgUID, uid)
	if err != nil {
		return team, stored, teamNotFound(err)
	}
	stored = ProvisionedTeam{UID: uid, Name: team.Name, ExternalID: found.ExternalID, CreatedAt: team.CreatedAt}
	stored.Members, err = tx.Teams.Members(ctx, orgUID, uid)
	return team, stored, err
}

// DeleteTeam deletes a team. Its members stay users, without its roles.
//
// Faults: Forbidden; NotFound.
func (d Provisioning) DeleteTeam(ctx context.Context, p auth.Principal, origin audit.Origin, uid string) error {
	return d.provision(ctx, p, origin, access.DeleteTeams, audit.TeamDelete, uid,
		func(tx *store.Tx, own auth.Principal, orgUID string) (changeResult, error) {
			_, _, err := provisionedTeam(ctx, tx, own, orgUID, uid)
			if err == nil {
				err = tx.Teams.Delete(ctx, orgUID, uid)
			}
			if err == nil {
				err = tx.Changes.Note(ctx, orgUID)
			}
			return changeResult{orgUID: orgUID, uid: uid}, err
		})
}
