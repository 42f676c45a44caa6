package directory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/membership"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/teams"
)

// maxTeams is how many teams an organization may have: a list has all of them with their members.
const maxTeams = 500

// Team is a team of one organization. Its members have its roles in addition to their own.
type Team struct {
	UID, OrgUID, Name string
	Role              auth.Role // several are separated by spaces; empty for none
	Source            string
	Users             []TeamMember
	Projects          []Project            // with a role of the team; lists leave them out
	ProjectRoles      map[string]auth.Role // by uid of the project
	CreatedAt         time.Time
}

// TeamMember is a user of a team.
type TeamMember = teams.Member

// TeamChange is what is set of a team. Nil stands for what is stored.
type TeamChange struct {
	Name     *string
	Users    *[]string // uids or emails; a member who is named twice stays without its group, too
	Role     *auth.Role
	Projects *[]ProjectRole
}

// Teams manages the teams of organizations.
type Teams struct{ *Directory }

// Problems lists the problems of a change that can be found without the store, under name, role and projects[i].
func (d Teams) Problems(c TeamChange) (problems []fault.Field) {
	if c.Name != nil {
		problems = fault.FieldProblem("name", names.NameProblem(*c.Name))
	}
	if c.Role != nil && *c.Role != "" {
		assignable := slices.DeleteFunc(access.Assignable(), func(r access.Role) bool { return r == access.None })
		problems = append(problems, fault.FieldProblem("role", access.Problem(*c.Role, assignable))...)
	}
	if c.Projects != nil {
		problems = append(problems, projectRoleProblems(*c.Projects)...)
	}
	return problems
}

// Create creates a team. Name is required.
//
// Faults: Invalid with the fields of Problems, users, users[i], projects and org; Forbidden; Conflict with CodeTeamExists.
func (d Teams) Create(ctx context.Context, p auth.Principal, origin audit.Origin, input TeamChange) (Team, error) {
	if problems := d.Problems(input); len(problems) > 0 {
		return Team{}, fault.InvalidFields(problems...)
	}
	team := teams.Team{UID: uuid.NewString(), Name: teams.Name(*input.Name), CreatedAt: d.now()}
	err := d.change(ctx, attempt{origin: origin, principal: p, permission: access.CreateTeams, action: audit.TeamCreate,
		object: *input.Name}, func(tx *store.Tx) (changeResult, error) {
		found, err := p.Org(ctx, tx)
		if err != nil {
			return changeResult{}, err
		}
		team.OrgUID = found.UID
		if err := tx.Orgs.Lock(ctx, team.OrgUID); err != nil {
			return changeResult{}, auth.OrgNotFound(err)
		}
		n, err := tx.Teams.Count(ctx, team.OrgUID)
		if err == nil && n >= maxTeams {
			err = fault.InvalidField("name", fmt.Sprintf("exceeds the limit of %d teams per organization; delete one first", maxTeams))
		}
		if err == nil {
			err = teamExists(tx.Teams.Insert(ctx, team))
		}
		if err == nil {
			team, err = setTeam(ctx, tx, team, input)
		}
		if err == nil {
			err = mayManage(ctx, tx, p, team)
		}
		return changeResult{orgUID: team.OrgUID, uid: team.UID}, err
	})
	return visibleTeam(team), err
}

// setTeam makes a team what a change says. The caller has locked the organization, so that changes of teams follow one another.
func setTeam(ctx context.Context, tx *store.Tx, team teams.Team, c TeamChange) (teams.Team, error) {
	if c.Users != nil {
		if err := setMembers(ctx, tx, team, *c.Users); err != nil {
			return team, err
		}
	}
	if c.Projects != nil {
		if err := setTeamProjects(ctx, tx, team, *c.Projects); err != nil {
			return team, err
		}
	}
	before := team
	if c.Name != nil {
		team.Name = teams.Name(*c.Name)
	}
	if c.Role != nil {
		team.Roles = string(*c.Role)
	}
	if team == before {
		return team, nil
	}
	return team, teamExists(tx.Teams.Update(ctx, team))
}

// setMembers makes users, given by uid or email, the members of a team. It reports all that do not exist at once. A team that has too many,
// for the groups of the identity provider, may become smaller.
func setMembers(ctx context.Context, tx *store.Tx, team teams.Team, given []string) error {
	present, err := tx.Teams.Members(ctx, team.OrgUID, team.UID)
	if err != nil {
		return err
	}
	distinct, limit := slices.Compact(slices.Sorted(slices.Values(given))), max(membership.MaxMembers, len(present))
	if len(distinct) > limit || len(given) > 2*limit { // each one costs a query, also if it occurs again
		return fault.InvalidField("users", fmt.Sprintf("must have at most %d users", membership.MaxMembers))
	}
	leaving := map[string]bool{} // by uid; false for members who stay or join
	for _, member := range present {
		leaving[member.UserUID] = true
	}
	joining, err := findJoining(ctx, tx, team.OrgUID, given, leaving)
	if err != nil {
		return err
	}
	for _, user := range joining {
		if err := auth.UserNotFound(membership.Join(ctx, tx, user, team.UID, false)); err != nil { // deleted concurrently
			return err
		}
	}
	for _, member := range present {
		if leaving[member.UserUID] {
			if err := membership.Leave(ctx, tx, team.OrgUID, member.UserUID, team.UID); err != nil {
				return err
			}
		}
	}
	return nil
}

// findJoining returns the users of a list who are not members yet, in a fixed order of locks. It sets leaving to false for all users of
// the list. A member who is in the list again, as in a JSON Patch that adds a user to the stored ones, joins too: then it does not leave
// the team with its group.
func findJoining(ctx context.Context, tx *store.Tx, orgUID string, given []string, leaving map[string]bool) ([]store.User, error) {
	joining := map[string]store.User{}
	var problems []fault.Field
	for i, named := range given {
		if leaving[named] {
			leaving[named] = false
			continue
		}
		_, user, err := auth.Principal{OrgUID: orgUID, Role: auth.RoleOperator}.FindUser(ctx, tx, named)
		if fault.KindOf(err) == fault.NotFound {
			problems = append(problems, fault.Field{Field: fmt.Sprintf("users[%d]", i), Problem: "does not exist in your organization"})
			continue
		}
		if err != nil {
			return nil, err
		}
		if !leaving[user.UID] {
			joining[user.UID] = user
		}
		leaving[user.UID] = false
	}
	if len(problems) > 0 {
		return nil, fault.InvalidFields(problems...)
	}
	return slices.SortedFunc(maps.Values(joining), func(a, b store.User) int { return strings.Compare(a.UID, b.UID) }), nil
}

// setTeamProjects gives a team roles in exactly these projects, each of which is named once.
func setTeamProjects(ctx context.Context, tx *store.Tx, team teams.Team, given []ProjectRole) error {
	uids, err := findProjects(ctx, tx, team.OrgUID, given)
	if err != nil {
		return err
	}
	roles := make([]teams.Roles, len(given))
	var problems []fault.Field
	for i, uid := range uids {
		role := given[i].Role
		if role == "" {
			role = auth.RoleMember
		}
		roles[i] = teams.Roles{ProjectUID: uid, Roles: string(role)}
		problem := ""
		switch {
		case uid == "":
			problem = "does not exist in your organization"
		case slices.Contains(uids[:i], uid):
			problem = "must be given once"
		}
		problems = append(problems, fault.FieldProblem(fmt.Sprintf("projects[%d]", i), problem)...)
	}
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	slices.SortFunc(roles, func(a, b teams.Roles) int { return strings.Compare(a.ProjectUID, b.ProjectUID) })
	err = tx.Teams.SetProjects(ctx, team.OrgUID, team.UID, roles)
	if errors.Is(err, store.ErrNotFound) {
		return fault.InvalidField("projects", "must not contain a project that is being deleted")
	}
	return err
}

// Change changes a team. change gets what is stored, with members and projects, and returns what to set.
//
// Faults: as of Create, and those of change.
func (d Teams) Change(ctx context.Context, p auth.Principal, origin audit.Origin, named string,
	change func(stored Team) (TeamChange, error)) error {
	return d.changeTeam(ctx, p, origin, named, access.ChangeTeams, audit.TeamUpdate, func(tx *store.Tx, team teams.Team) error {
		stored, err := fullTeam(ctx, tx, team)
		if err != nil {
			return err
		}
		to, err := change(stored)
		if err != nil {
			return err
		}
		if problems := d.Problems(to); len(problems) > 0 {
			return fault.InvalidFields(problems...)
		}
		_, err = setTeam(ctx, tx, team, to)
		return err
	})
}

// Delete deletes a team. Its members stay users, without its roles.
//
// Faults: Forbidden; NotFound.
func (d Teams) Delete(ctx context.Context, p auth.Principal, origin audit.Origin, named string) error {
	return d.changeTeam(ctx, p, origin, named, access.DeleteTeams, audit.TeamDelete, func(tx *store.Tx, team teams.Team) error {
		return tx.Teams.Delete(ctx, team.OrgUID, team.UID)
	})
}

// changeTeam changes a team while no other team of the organization is changed. The change counts for every credential in the organization
// from then on: there is one note for all members.
func (d Teams) changeTeam(ctx context.Context, p auth.Principal, origin audit.Origin, named string, permission access.Permission,
	action audit.Action, change func(*store.Tx, teams.Team) error) error {
	return d.change(ctx, attempt{origin: origin, principal: p, permission: permission, action: action, object: named},
		func(tx *store.Tx) (changeResult, error) {
			org, err := p.Org(ctx, tx)
			if err != nil {
				return changeResult{}, err
			}
			if err := tx.Orgs.Lock(ctx, org.UID); err != nil {
				return changeResult{}, auth.OrgNotFound(err)
			}
			team, err := findTeam(ctx, tx, org.UID, named)
			if err == nil {
				err = mayManage(ctx, tx, p, team)
			}
			if err == nil {
				err = change(tx, team)
			}
			if changed, errGet := tx.Teams.Get(ctx, org.UID, team.UID); err == nil && errGet == nil { // else it is deleted
				err = mayManage(ctx, tx, p, changed)
			}
			if err == nil {
				err = tx.Changes.Note(ctx, org.UID)
			}
			return changeResult{orgUID: org.UID, uid: team.UID}, err
		})
}

// mayManage returns nil if the caller may give the roles that members of a team have by it.
func mayManage(ctx context.Context, tx *store.Tx, p auth.Principal, team teams.Team) error {
	given, err := tx.Teams.Projects(ctx, team.OrgUID, team.UID)
	projects := make([]ProjectRole, len(given))
	for i, in := range given {
		projects[i] = ProjectRole{Project: in.ProjectUID, Role: auth.Role(in.Roles)}
	}
	if err != nil {
		return err
	}
	return mayGive(ctx, tx, p, team.OrgUID, auth.Role(team.Roles), projects)
}

func findTeam(ctx context.Context, tx *store.Tx, orgUID, named string) (teams.Team, error) {
	team, err := tx.Teams.Get(ctx, orgUID, named)
	if errors.Is(err, store.ErrNotFound) {
		team, err = tx.Teams.ByName(ctx, orgUID, teams.Name(named))
	}
	return team, teamNotFound(err)
}

func teamNotFound(err error) error { return auth.NotFoundAs(err, "Team not found.") }

func teamExists(err error) error {
	return auth.ExistsAs(err, CodeTeamExists, "The organization already has a team with this name.")
}

// List returns the page of the organization's teams, by name, that follows a name, and whether there may be more. Projects are left out.
// It requires access.ReadTeams.
func (d Teams) List(ctx context.Context, p auth.Principal, after string) (list []Team, more bool, err error) {
	err = d.readTeams(ctx, p, func(tx *store.Tx, orgUID string) error {
		page, further, err := tx.Teams.List(ctx, orgUID, after)
		list, more = nil, further
		for i := 0; i < len(page) && err == nil; i++ {
			team := visibleTeam(page[i])
			team.Users, err = tx.Teams.Members(ctx, orgUID, team.UID)
			list = append(list, team)
		}
		return err
	})
	return list, more, err
}

// Get returns a team with members and projects. It requires access.ReadTeams.
//
// Faults: Forbidden; NotFound.
func (d Teams) Get(ctx context.Context, p auth.Principal, named string) (found Team, err error) {
	err = d.readTeams(ctx, p, func(tx *store.Tx, orgUID string) error {
		team, err := findTeam(ctx, tx, orgUID, named)
		if err == nil {
			found, err = fullTeam(ctx, tx, team)
		}
		return err
	})
	return found, err
}

func (d Teams) readTeams(ctx context.Context, p auth.Principal, read func(tx *store.Tx, orgUID string) error) error {
	if err := p.May(access.ReadTeams); err != nil {
		return err
	}
	return fault.Wrap("read teams", d.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		return read(tx, orgUID)
	}))
}

func fullTeam(ctx context.Context, tx *store.Tx, stored teams.Team) (team Team, err error) {
	team = visibleTeam(stored)
	if team.Users, err = tx.Teams.Members(ctx, team.OrgUID, team.UID); err != nil {
		return team, err
	}
	roles, err := tx.Teams.Projects(ctx, team.OrgUID, team.UID)
	team.ProjectRoles = map[string]auth.Role{}
	for i := 0; i < len(roles) && err == nil; i++ {
		var project store.Project
		if project, err = tx.Projects.Get(ctx, team.OrgUID, roles[i].ProjectUID); err == nil {
			team.Projects = append(team.Projects, Project{UID: project.UID, OrgUID: project.OrgUID, Name: project.Name})
			team.ProjectRoles[project.UID] = auth.Role(roles[i].Roles)
		}
		if errors.Is(err, store.ErrNotFound) { // deleted since
			err = nil
		}
	}
	return team, err
}

func visibleTeam(t teams.Team) Team {
	return Team{UID: t.UID, OrgUID: t.OrgUID, Name: t.Name, Role: auth.Role(t.Roles), Source: t.Source, CreatedAt: t.CreatedAt}
}

// TeamName returns the form of a team's name in which it is stored and compared.
func TeamName(text string) string { return teams.Name(text) }

// TeamOfGroup returns the name of the team of a group of an identity provider, "" if it can have none.
func TeamOfGroup(group string) string { return teams.OfGroup(group) }
