package people

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
)

var (
	teamFields    = fieldnames.Names{"name": "metadata.name", "users": "spec.users", "role": "spec.roles"}
	teamRoleField = fieldnames.Names{"role": "roles"}
)

// teamHandlers handles the routes of teams.
type teamHandlers struct {
	teams directory.Teams
	roles *roles.Roles
}

func (h teamHandlers) operations() []Operation {
	return []Operation{
		{Method: "GET", Path: api.PathTeams, Handle: h.list},
		{Method: "POST", Path: api.PathTeams, Handle: h.create, Announced: true},
		{Method: "POST", Path: api.PathTeamSummary, Handle: h.summarize},
		{Method: "GET", Path: api.PathTeam, Handle: h.get},
		{Method: "PUT", Path: api.PathTeam, Handle: h.replace, Announced: true},
		{Method: "PATCH", Path: api.PathTeam, Handle: h.patch, Announced: true},
		{Method: "DELETE", Path: api.PathTeam, Handle: h.delete, Announced: true},
		{Method: "GET", Path: api.PathTeamRoles, Handle: h.getRoles},
		{Method: "PUT", Path: api.PathTeamRoles, Handle: h.setRoles, Announced: true},
		{Method: "GET", Path: api.PathTeamProjects, Handle: h.getProjects},
		{Method: "PUT", Path: api.PathTeamProjects, Handle: h.setProjects, Announced: true},
		{Method: "GET", Path: api.PathTeamResourceRoles, Handle: h.getResourceRoles},
		{Method: "GET", Path: api.PathTeamWorkspaceRoles, Handle: h.getWorkspaceRoles},
		{Method: "PUT", Path: api.PathTeamWorkspaceRoles, Handle: h.setWorkspaceRoles},
	}
}

// all returns the list of the teams that match, as show shows them.
func (h teamHandlers) all(c Call, matches func(directory.Team) bool, show func(directory.Team) (any, error)) List {
	after, count := "", 0
	return List{
		Read: func(any) (page []any, more bool, err error) {
			teams, more, err := h.teams.List(c.Context(), c.Principal, after)
			for i := 0; i < len(teams) && err == nil; i++ {
				if after = teams[i].Name; matches(teams[i]) {
					var shown any
					shown, err = show(teams[i])
					page, count = append(page, shown), count+1
				}
			}
			return page, more, err
		},
		Tail: func() any {
			return struct {
				ListMeta api.ListMeta `json:"listmeta"`
			}{api.ListMeta{Count: int64(count), Limit: count, Offset: count}}
		},
	}
}

// list is GET /v1/teams. All teams are on one page, since public clients never ask for another one.
func (h teamHandlers) list(c Call) (int, any, error) {
	name, filtered, err := nameFilter(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, h.all(c, func(t directory.Team) bool { return !filtered || t.Name == name },
		func(t directory.Team) (any, error) { return shownTeam(t), nil }), nil
}

// nameFilter reads the only filter of public clients, which look up one team by its name.
func nameFilter(c Call) (name string, filtered bool, err error) {
	filters := c.URL.Query()["filters"]
	if len(filters) == 0 || len(filters) == 1 && filters[0] == "" {
		return "", false, nil
	}
	name, ok := strings.CutPrefix(filters[0], "metadata.name=")
	if !ok || len(filters) > 1 {
		return "", false, fault.InvalidField("filters", "must be metadata.name=NAME")
	}
	return directory.TeamName(name), true, nil
}

// summarize is POST /v1/teams/summary.
func (h teamHandlers) summarize(c Call) (int, any, error) {
	var body api.TeamSummaryRequest
	if err := c.Read(&body, func() []fault.Field { return nil }); err != nil {
		return 0, nil, err
	}
	names, err := h.roles.Names(c.Context(), c.Principal.OrgUID)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, h.all(c, func(t directory.Team) bool { return body.Filter.Name.Matches(t.Name) },
		func(t directory.Team) (any, error) {
			full, err := h.teams.Get(c.Context(), c.Principal, t.UID)
			if fault.KindOf(err) == fault.NotFound { // deleted since
				full, err = t, nil
			}
			return teamSummary(full, names), err
		}), nil
}

func teamSummary(t directory.Team, names roles.Names) api.TeamSummary {
	shown := api.TeamSummary{Metadata: teamMetadata(t), Spec: api.TeamSummarySpec{Projects: []api.Ref{}, Roles: Refs(t.Role, names),
		Users: []api.Ref{}}}
	for _, p := range t.Projects {
		shown.Spec.Projects = append(shown.Spec.Projects, api.Ref{UID: p.UID, Name: p.Name})
	}
	for _, u := range t.Users {
		shown.Spec.Users = append(shown.Spec.Users, api.Ref{UID: u.UserUID, Name: u.Email})
	}
	return shown
}

func teamMetadata(t directory.Team) api.Metadata {
	return api.Metadata{UID: t.UID, Name: t.Name, CreationTimestamp: t.CreatedAt}
}

func shownTeam(t directory.Team) api.Team {
	spec := api.TeamSpec{Users: []string{}, Roles: []string{}, Sources: []string{}}
	for _, u := range t.Users {
		spec.Users = append(spec.Users, u.UserUID)
	}
	for _, role := range t.Role.All() {
		spec.Roles = append(spec.Roles, string(role))
	}
	if t.Source != "" {
		spec.Sources = []string{t.Source}
	}
	return api.Team{Metadata: teamMetadata(t), Spec: spec}
}

// Refs returns single roles with their names.
func Refs(role auth.Role, names roles.Names) []api.Ref {
	refs := []api.Ref{}
	for _, one := range role.All() {
		refs = append(refs, api.Ref{UID: string(one), Name: names.Of(one)})
	}
	return refs
}

// create is POST /v1/teams.
func (h teamHandlers) create(c Call) (int, any, error) {
	var body api.TeamRequest
	var change directory.TeamChange
	err := c.Read(&body, func() []fault.Field {
		change = wholeTeam(body)
		return teamFields.In(h.teams.Problems(change))
	})
	if err != nil {
		return 0, nil, err
	}
	team, err := h.teams.Create(c.Context(), c.Principal, c.Origin, change)
	return http.StatusCreated, api.Created{UID: team.UID}, teamFields.Err(err)
}

// wholeTeam returns a team as a request has it. Without roles those that are stored stay, which public clients set by another path.
func wholeTeam(body api.TeamRequest) directory.TeamChange {
	change := directory.TeamChange{Name: &body.Metadata.Name, Users: &body.Spec.Users}
	if role := access.Of(body.Spec.Roles...); len(body.Spec.Roles) > 0 {
		change.Role = &role
	}
	return change
}

// get is GET /v1/teams/{uid}.
func (h teamHandlers) get(c Call) (int, any, error) {
	team, err := h.teams.Get(c.Context(), c.Principal, c.PathValue("uid"))
	return http.StatusOK, shownTeam(team), err
}

// change changes the team of the path.
func (h teamHandlers) change(c Call, names fieldnames.Names, change func(directory.Team) (directory.TeamChange, error)) (int, any, error) {
	return http.StatusNoContent, nil, names.Err(h.teams.Change(c.Context(), c.Principal, c.Origin, c.PathValue("uid"), change))
}

// replace is PUT /v1/teams/{uid}.
func (h teamHandlers) replace(c Call) (int, any, error) {
	var body api.TeamRequest
	if err := c.Read(&body, func() []fault.Field { return teamFields.In(h.teams.Problems(wholeTeam(body))) }); err != nil {
		return 0, nil, err
	}
	return h.change(c, teamFields, func(directory.Team) (directory.TeamChange, error) { return wholeTeam(body), nil })
}

// patch is PATCH /v1/teams/{uid}, a JSON Patch of name, users and roles.
func (h teamHandlers) patch(c Call) (int, any, error) {
	body, err := c.Body()
	if err != nil {
		return 0, nil, err
	}
	var operations []patchOperation
	if err := json.Unmarshal(body, &operations); err != nil || len(operations) == 0 || len(operations) > maxOperations {
		return 0, nil, badPatch("must be a JSON Patch (RFC 6902), a list of 1 to 1,000 operations")
	}
	if err := operationsProblem(operations); err != nil {
		return 0, nil, err
	}
	return h.change(c, teamFields, func(stored directory.Team) (directory.TeamChange, error) {
		shown := shownTeam(stored)
		var to api.TeamRequest
		err := patched(api.TeamRequest{Metadata: api.Named{Name: shown.Metadata.Name},
			Spec: api.TeamRequestSpec{Users: shown.Spec.Users, Roles: shown.Spec.Roles}}, operations, &to)
		change := wholeTeam(to)
		if change.Role == nil {
			change.Role = new(auth.Role)
		}
		return change, err
	})
}

// delete is DELETE /v1/teams/{uid}.
func (h teamHandlers) delete(c Call) (int, any, error) {
	return http.StatusNoContent, nil, h.teams.Delete(c.Context(), c.Principal, c.Origin, c.PathValue("uid"))
}

// withNames returns the team that the path names, and the names of roles.
func (h teamHandlers) withNames(c Call) (team directory.Team, names roles.Names, err error) {
	if team, err = h.teams.Get(c.Context(), c.Principal, c.PathValue("uid")); err == nil {
		names, err = h.roles.Names(c.Context(), c.Principal.OrgUID)
	}
	return team, names, err
}

// getRoles is GET /v1/teams/{uid}/roles.
func (h teamHandlers) getRoles(c Call) (int, any, error) {
	team, names, err := h.withNames(c)
	return http.StatusOK, api.TeamRoles{Roles: Refs(team.Role, names), InheritedRoles: []api.Ref{}}, err
}

// setRoles is PUT /v1/teams/{uid}/roles.
func (h teamHandlers) setRoles(c Call) (int, any, error) {
	var body api.UserRoles
	var change directory.TeamChange
	err := c.Read(&body, func() []fault.Field {
		if body.Roles == nil {
			return fault.FieldProblem("roles", "is required; an empty list removes all roles")
		}
		role := access.Of(body.Roles...)
		change.Role = &role
		return teamRoleField.In(h.teams.Problems(change))
	})
	if err != nil {
		return 0, nil, err
	}
	return h.change(c, teamRoleField, func(directory.Team) (directory.TeamChange, error) { return change, nil })
}

// getProjects is GET /v1/teams/{uid}/projects.
func (h teamHandlers) getProjects(c Call) (int, any, error) {
	team, names, err := h.withNames(c)
	projects := []api.TeamProject{}
	for _, p := range team.Projects {
		projects = append(projects, api.TeamProject{UID: p.UID, Name: p.Name, Roles: Refs(team.ProjectRoles[p.UID], names),
			InheritedRoles: []api.Ref{}})
	}
	return http.StatusOK, api.TeamProjects{Projects: projects}, err
}

// setProjects is PUT /v1/teams/{uid}/projects: all roles of the team in projects.
func (h teamHandlers) setProjects(c Call) (int, any, error) {
	var body api.UserProjects
	var change directory.TeamChange
	err := c.Read(&body, func() []fault.Field {
		if body.Projects == nil {
			return fault.FieldProblem("projects", "is required; an empty list removes the roles in all projects")
		}
		projects := []directory.ProjectRole{}
		for _, p := range body.Projects {
			if p.Roles == nil || len(p.Roles) > 0 {
				projects = append(projects, directory.ProjectRole{Project: p.ProjectUID, Role: access.Of(p.Roles...)})
			}
		}
		change.Projects = &projects
		return h.teams.Problems(change)
	})
	if err != nil {
		return 0, nil, err
	}
	return h.change(c, nil, func(directory.Team) (directory.TeamChange, error) { return change, nil })
}

// getResourceRoles is GET /v1/teams/{uid}/resourceRoles. The list is always empty.
func (h teamHandlers) getResourceRoles(c Call) (int, any, error) {
	_, err := h.teams.Get(c.Context(), c.Principal, c.PathValue("uid"))
	return http.StatusOK, api.UserResourceRoles{ResourceRoles: []struct{}{}}, err
}

// getWorkspaceRoles is GET /v1/workspaces/teams/{uid}/roles. The lists are always empty.
func (h teamHandlers) getWorkspaceRoles(c Call) (int, any, error) {
	_, err := h.teams.Get(c.Context(), c.Principal, c.PathValue("uid"))
	return http.StatusOK, api.UserWorkspaceRoles{Projects: []struct{}{}}, err
}

// setWorkspaceRoles is PUT /v1/workspaces/teams/{uid}/roles. Public clients send an empty list with each team.
func (h teamHandlers) setWorkspaceRoles(c Call) (int, any, error) {
	var body api.TeamWorkspaces
	err := c.Read(&body, func() []fault.Field {
		if len(body.Workspaces) > 0 {
			return fault.FieldProblem("workspaces", "must be empty: there are no workspaces")
		}
		return nil
	})
	if err == nil {
		err = c.Principal.May(access.ChangeTeams)
	}
	if err == nil {
		_, err = h.teams.Get(c.Context(), c.Principal, c.PathValue("uid"))
	}
	return http.StatusNoContent, nil, err
}
