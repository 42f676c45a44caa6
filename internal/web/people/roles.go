package people

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
)

// Scopes of roles, by the names of public clients.
const (
	scopeTenant  = "tenant"
	scopeProject = "project"
)

var roleFields = fieldnames.Names{"name": "metadata.name", "description": "metadata.annotations.description",
	"permissions": "spec.permissions"}

// roleHandlers handles the routes of roles.
type roleHandlers struct{ roles *roles.Roles }

func (h roleHandlers) operations() []Operation {
	return []Operation{
		{Method: "GET", Path: api.PathRoles, Handle: h.list},
		{Method: "POST", Path: api.PathRoles, Handle: h.create, Announced: true},
		{Method: "GET", Path: api.PathRole, Handle: h.get},
		{Method: "PUT", Path: api.PathRole, Handle: h.replace, Announced: true},
		{Method: "DELETE", Path: api.PathRole, Handle: h.delete, Announced: true},
		{Method: "POST", Path: api.PathRoleClone, Handle: h.clone, Announced: true},
	}
}

// list is GET /v1/roles. All roles are on one page: public clients look them up in it by their names.
func (h roleHandlers) list(c Call) (int, any, error) {
	list, err := h.roles.List(c.Context(), c.Principal)
	shown := api.Roles{Items: []api.Role{}, ListMeta: api.ListMeta{Count: int64(len(list)), Limit: len(list), Offset: len(list)}}
	for _, role := range list {
		shown.Items = append(shown.Items, shownRole(role))
	}
	return http.StatusOK, shown, err
}

// get is GET /v1/roles/{uid}.
func (h roleHandlers) get(c Call) (int, any, error) {
	role, err := h.roles.Get(c.Context(), c.Principal, c.PathValue("uid"))
	return http.StatusOK, shownRole(role), err
}

func shownRole(r roles.Role) api.Role {
	scope, kind := scopeTenant, "user"
	if r.InProjects {
		scope = scopeProject
	}
	if r.BuiltIn {
		kind = "system"
	}
	names := []string{}
	for _, permission := range r.Permissions {
		names = append(names, string(permission))
	}
	return api.Role{Metadata: api.RoleMetadata{UID: r.UID, Name: r.Name,
		Annotations: map[string]string{"description": r.Description, "scope": scope}},
		Spec: api.RoleSpec{Permissions: names, Scope: scope, Type: kind}, Status: api.RoleStatus{IsEnabled: true}}
}

// read returns the role of a request.
func (h roleHandlers) read(c Call) (input roles.Input, err error) {
	var body api.RoleRequest
	err = c.Read(&body, func() (problems []fault.Field) {
		if scope := body.Spec.Scope; scope != scopeTenant && scope != scopeProject {
			problems = fault.FieldProblem("spec.scope", "must be tenant or project")
		}
		description, given := body.Metadata.Annotations["description"]
		input = roles.Input{Name: body.Metadata.Name, Description: description, KeepDescription: !given,
			InProjects: body.Spec.Scope == scopeProject}
		for _, name := range body.Spec.Permissions {
			input.Permissions = append(input.Permissions, access.Permission(name))
		}
		return append(problems, roleFields.In(input.Problems())...)
	})
	return input, err
}

// create is POST /v1/roles.
func (h roleHandlers) create(c Call) (int, any, error) {
	input, err := h.read(c)
	if err != nil {
		return 0, nil, err
	}
	uid, err := h.roles.Create(c.Context(), c.Principal, c.Origin, input)
	return http.StatusCreated, api.Created{UID: uid}, roleFields.Err(err)
}

// clone is POST /v1/roles/{uid}/clone.
func (h roleHandlers) clone(c Call) (int, any, error) {
	var body api.RoleCloneRequest
	err := c.Read(&body, func() []fault.Field {
		return fault.FieldProblem("metadata.name", names.NameProblem(body.Metadata.Name))
	})
	if err != nil {
		return 0, nil, err
	}
	uid, err := h.roles.Clone(c.Context(), c.Principal, c.Origin, c.PathValue("uid"), body.Metadata.Name,
		body.Metadata.Annotations["description"])
	return http.StatusCreated, api.Created{UID: uid}, roleFields.Err(err)
}

// replace is PUT /v1/roles/{uid}.
func (h roleHandlers) replace(c Call) (int, any, error) {
	input, err := h.read(c)
	if err == nil {
		err = h.roles.Update(c.Context(), c.Principal, c.Origin, c.PathValue("uid"), input)
	}
	return http.StatusNoContent, nil, roleFields.Err(err)
}

// delete is DELETE /v1/roles/{uid}.
func (h roleHandlers) delete(c Call) (int, any, error) {
	return http.StatusNoContent, nil, h.roles.Delete(c.Context(), c.Principal, c.Origin, c.PathValue("uid"))
}
