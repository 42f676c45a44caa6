package server

import (
	"cmp"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/web/people"
)

// Public clients use roles of a user in the organization, in projects, in workspaces and of resources. The service has those in the
// organization and in projects.

// namesOfRoles returns the single roles.
func namesOfRoles(role auth.Role) []string {
	names := []string{}
	for _, one := range role.All() {
		names = append(names, string(one))
	}
	return names
}

func tenantRoles(u directory.User, names roles.Names) []api.Ref {
	if u.Role == auth.RoleMember && !u.RoleNamed {
		return []api.Ref{}
	}
	return people.Refs(u.Role, names)
}

// withNames returns the user that the path names, and the names of roles.
func (h userHandlers) withNames(c *call) (user directory.UserWithProjects, names roles.Names, err error) {
	if user, err = h.userOfPath(c); err == nil {
		names, err = h.roles.Names(c.Context(), c.principal.OrgUID)
	}
	return user, names, err
}

// getUserRoles is GET /v1/users/{uid}/roles.
func (h userHandlers) getUserRoles(c *call) (response, error) {
	found, names, err := h.withNames(c)
	return response{http.StatusOK, api.UserRoleRefs{Roles: tenantRoles(found.User, names)}}, err
}

// setUserRoles is PUT /v1/users/{uid}/roles.
func (h userHandlers) setUserRoles(c *call) (response, error) {
	var body api.UserRoles
	var role auth.Role
	err := c.read(&body, func() []fault.Field {
		if body.Roles == nil {
			return fault.FieldProblem("roles", "is required; an empty list makes the user a member, unless it has roles in projects only")
		}
		role = access.Of(body.Roles...)
		return nil
	})
	if err != nil {
		return response{}, err
	}
	err = h.directory.SetRole(c.Context(), c.principal, c.origin, c.PathValue("uid"), cmp.Or(role, auth.RoleMember), len(body.Roles) > 0)
	return response{status: http.StatusNoContent}, fieldNames{"role": "roles"}.Err(err)
}

// getUserProjects is GET /v1/users/{uid}/projects.
func (h userHandlers) getUserProjects(c *call) (response, error) {
	found, names, err := h.withNames(c)
	projects := make([]api.ProjectRoles, len(found.Projects))
	for i, p := range found.Projects {
		projects[i] = api.ProjectRoles{UID: p.UID, Name: p.Name, Roles: people.Refs(found.ProjectRoles[p.UID], names)}
	}
	return response{http.StatusOK, api.UserProjectRoles{Projects: projects}}, err
}

// setUserProjects is PUT /v1/users/{uid}/projects.
func (h userHandlers) setUserProjects(c *call) (response, error) {
	var body api.UserProjects
	var projects []directory.ProjectRole
	err := c.read(&body, func() (problems []fault.Field) {
		projects, problems = memberships(body.Projects)
		return problems
	})
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.directory.SetProjects(c.Context(), c.principal, c.origin, c.PathValue("uid"), projects)
}

// memberships returns the projects of a request. Public clients remove a user from all projects by null, and from one
// by an empty list of roles.
func memberships(sent []api.UserProject) (projects []directory.ProjectRole, problems []fault.Field) {
	if sent == nil {
		return nil, fault.FieldProblem("projects", "is required; an empty list removes the user from all projects")
	}
	for _, p := range sent {
		if p.Roles == nil || len(p.Roles) > 0 {
			projects = append(projects, directory.ProjectRole{Project: p.ProjectUID, Role: access.Of(p.Roles...)})
		}
	}
	return projects, problems
}

// getUserResourceRoles is GET /v1/users/{uid}/resourceRoles. The list is always empty; clients read it with a user.
func (h userHandlers) getUserResourceRoles(c *call) (response, error) {
	_, err := h.userOfPath(c)
	return response{http.StatusOK, api.UserResourceRoles{ResourceRoles: []struct{}{}}}, err
}

// getUserWorkspaceRoles is GET /v1/workspaces/users/{uid}/roles. The lists are always empty.
func (h userHandlers) getUserWorkspaceRoles(c *call) (response, error) {
	_, err := h.userOfPath(c)
	return response{http.StatusOK, api.UserWorkspaceRoles{Projects: []struct{}{}}}, err
}
