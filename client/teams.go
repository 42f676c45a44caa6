package client

import (
	"context"
	"iter"
	"net/http"
	"slices"

	"github.com/regwarden/regwarden/api"
)

// Teams has the operations on teams. A team is named by its uid or its name, a user by its uid or its email address.
type Teams struct{ c *Client }

// List returns all teams of the organization.
func (t Teams) List(ctx context.Context) iter.Seq2[api.Team, error] {
	return list(ctx, t.c, request{path: api.PathTeams}, func(page *api.Teams) []api.Team { return page.Items })
}

// Find returns the teams that a filter selects, with what belongs to them.
func (t Teams) Find(ctx context.Context, filter api.TeamFilter) iter.Seq2[api.TeamSummary, error] {
	return list(ctx, t.c, request{method: http.MethodPost, path: api.PathTeamSummary, in: api.TeamSummaryRequest{Filter: filter}},
		func(page *api.TeamSummaries) []api.TeamSummary { return page.Items })
}

// Get returns a team.
func (t Teams) Get(ctx context.Context, team string) (*api.Team, error) {
	return fetch[api.Team](ctx, t.c, request{path: api.PathTeam, args: []string{team}})
}

// Create creates a team and returns its uid.
func (t Teams) Create(ctx context.Context, team api.TeamRequest) (uid string, err error) {
	return t.c.create(ctx, api.PathTeams, team)
}

// Replace replaces the name and the users of a team, and its roles if there are any.
func (t Teams) Replace(ctx context.Context, team string, by api.TeamRequest) error {
	return t.c.put(ctx, api.PathTeam, by, team)
}

// Delete deletes a team. Its members stay users.
func (t Teams) Delete(ctx context.Context, team string) error {
	return t.c.delete(ctx, api.PathTeam, team)
}

// SetRoles sets the roles of a team in the organization; none are possible.
func (t Teams) SetRoles(ctx context.Context, team string, roles ...string) error {
	return t.c.put(ctx, api.PathTeamRoles, api.UserRoles{Roles: append([]string{}, roles...)}, team)
}

// Projects returns the projects in which a team has roles.
func (t Teams) Projects(ctx context.Context, team string) ([]api.TeamProject, error) {
	found, err := read[api.TeamProjects](ctx, t.c, request{path: api.PathTeamProjects, args: []string{team}})
	return found.Projects, err
}

// SetProjects gives a team roles in these projects, by uid or name, and in no others.
func (t Teams) SetProjects(ctx context.Context, team string, projects ...api.UserProject) error {
	return t.c.put(ctx, api.PathTeamProjects, api.UserProjects{Projects: append([]api.UserProject{}, projects...)}, team)
}

// AddUsers makes users members of a team, 1,000 at a time: the server refuses more operations.
func (t Teams) AddUsers(ctx context.Context, team string, users ...string) error {
	operations := make([]api.PatchOperation, len(users))
	for i, user := range users {
		operations[i] = api.PatchOperation{Op: "add", Path: "/spec/users/-", Value: user}
	}
	for part := range slices.Chunk(operations, 1000) {
		r := request{method: http.MethodPatch, path: api.PathTeam, args: []string{team}, in: part}
		if err := t.c.do(ctx, r, nil); err != nil {
			return err
		}
	}
	return nil
}

// RemoveUsers removes users from a team. Users that are not in it are left out. After a concurrent change of the team, it begins again.
func (t Teams) RemoveUsers(ctx context.Context, team string, users ...string) error {
	leaving := map[string]bool{}
	for _, named := range users {
		user, err := t.c.Users.Get(ctx, named)
		if err != nil {
			return err
		}
		leaving[user.Metadata.UID] = true
	}
	for attempt := 1; ; attempt++ {
		if err := t.removeUsers(ctx, team, leaving); attempt == maxAttempts || !refusedWith(err, http.StatusBadRequest) {
			return err
		}
	}
}

func (t Teams) removeUsers(ctx context.Context, team string, leaving map[string]bool) error {
	found, err := t.Get(ctx, team)
	if err != nil {
		return err
	}
	staying := slices.DeleteFunc(slices.Clone(found.Spec.Users), func(uid string) bool { return leaving[uid] })
	if len(staying) == len(found.Spec.Users) {
		return nil
	}
	operations := []api.PatchOperation{ // the test refuses a list that was changed concurrently, and a repeated request
		{Op: "test", Path: "/spec/users", Value: found.Spec.Users}, {Op: "replace", Path: "/spec/users", Value: staying}}
	return t.c.do(ctx, request{method: http.MethodPatch, path: api.PathTeam, args: []string{team}, in: operations, creates: true}, nil)
}
