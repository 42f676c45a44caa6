package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/secret"
)

// Users has the operations on users. A user is named by its uid or its email address.
type Users struct{ c *Client }

// List returns all users of the organization, without their projects.
func (u Users) List(ctx context.Context) iter.Seq2[api.User, error] {
	return list(ctx, u.c, request{path: api.PathUsers}, func(page *api.Users) []api.User { return page.Items })
}

// Find returns the users that a filter selects. Get finds the user with an email address.
func (u Users) Find(ctx context.Context, filter api.UserFilter) iter.Seq2[api.UserSummary, error] {
	return list(ctx, u.c, request{method: http.MethodPost, path: api.PathUserSummary, in: api.UserSummaryRequest{Filter: filter}},
		func(page *api.UserSummaries) []api.UserSummary { return page.Items })
}

// Get returns a user with its projects; "me" is the caller.
func (u Users) Get(ctx context.Context, user string) (*api.User, error) {
	return fetch[api.User](ctx, u.c, request{path: api.PathUser, args: []string{user}})
}

// Create creates a user and returns its uid.
func (u Users) Create(ctx context.Context, user api.NewUser) (uid string, err error) {
	return u.c.create(ctx, api.PathUsers, user)
}

// Update replaces the names of a user, and the email address unless it is empty.
func (u Users) Update(ctx context.Context, user string, change api.UserUpdate) error {
	return u.c.put(ctx, api.PathUser, change, user)
}

// Delete deletes a user with its sessions and API keys.
func (u Users) Delete(ctx context.Context, user string) error {
	return u.c.delete(ctx, api.PathUser, user)
}

// SetPassword sets the password of another user and ends its sessions.
func (u Users) SetPassword(ctx context.Context, user string, password secret.String) error {
	return u.c.put(ctx, api.PathUserPassword, api.NewPassword{Password: password}, user)
}

// Invite makes a link by which another user sets its password once, in place of a former link, and has it sent by email if the server can.
func (u Users) Invite(ctx context.Context, user string) (*api.Invitation, error) {
	return fetch[api.Invitation](ctx, u.c,
		request{method: http.MethodPost, path: api.PathUserInvitation, args: []string{user}, creates: true})
}

// AcceptInvitation sets the password of the user whom the token of an invitation is for. It sends no credentials.
func (u Users) AcceptInvitation(ctx context.Context, token, password secret.String) error {
	return u.c.do(ctx, request{method: http.MethodPatch, path: api.PathPasswordActivation, args: []string{token.Reveal()},
		in: api.NewPassword{Password: password}, anonymous: true, creates: true}, nil)
}

// ChangePassword changes the password of the caller. The other sessions of the caller end.
func (u Users) ChangePassword(ctx context.Context, current, password secret.String) error {
	err := u.c.do(ctx, request{method: http.MethodPatch, path: api.PathMyPassword,
		in: api.PasswordChange{CurrentPassword: current, NewPassword: password}}, nil)
	if err != nil {
		return err
	}
	return u.c.auth.setPassword(context.WithoutCancel(ctx), password)
}

// SetActive enables or disables a user. Sessions of a disabled user end, and its API keys are suspended.
func (u Users) SetActive(ctx context.Context, user string, active bool) error {
	return u.c.put(ctx, api.PathUserState, api.UserState{IsActive: &active}, user)
}

// SetRole sets the roles of a user in the organization.
func (u Users) SetRole(ctx context.Context, user string, roles ...string) error {
	return u.c.put(ctx, api.PathUserRoles, api.UserRoles{Roles: append([]string{}, roles...)}, user)
}

// SetProjects makes a user a member of these projects, by uid or name, and of no others.
func (u Users) SetProjects(ctx context.Context, user string, projects ...string) error {
	members := make([]api.UserProject, len(projects))
	for i, project := range projects {
		members[i] = api.UserProject{ProjectUID: project, Roles: []string{"member"}}
	}
	return u.SetProjectRoles(ctx, user, members...)
}

// SetProjectRoles gives a user roles in these projects, by uid or name, and in no others.
func (u Users) SetProjectRoles(ctx context.Context, user string, projects ...api.UserProject) error {
	return u.c.put(ctx, api.PathUserProjects, api.UserProjects{Projects: append([]api.UserProject{}, projects...)}, user)
}

// Projects returns the projects of a user with its roles in each.
func (u Users) Projects(ctx context.Context, user string) ([]api.ProjectRoles, error) {
	found, err := read[api.UserProjectRoles](ctx, u.c, request{path: api.PathUserProjects, args: []string{user}})
	return found.Projects, err
}
