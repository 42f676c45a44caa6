package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
)

// Scopes of roles and permissions, by the names of public clients.
const (
	scopeTenant  = "tenant"
	scopeProject = "project"
)

func texts(permissions []access.Permission) []string {
	names := make([]string, len(permissions))
	for i, p := range permissions {
		names[i] = string(p)
	}
	return names
}

// listPermissions is GET /v1/permissions, of one scope or of all.
func listPermissions(c *call) (response, error) {
	query := readQuery(c.URL.RawQuery)
	scope := query.text("scope")
	if !slices.Contains([]string{"", scopeTenant, scopeProject, "resource", "system"}, scope) {
		query.problems = append(query.problems, fault.Field{Field: "scope", Problem: "must be tenant, project, resource or system"})
	}
	if err := fault.InvalidIfAny(query.problems); err != nil {
		return response{}, err
	}
	if err := c.principal.May(access.ReadRoles); err != nil {
		return response{}, err
	}
	shown := []api.Permissions{}
	for _, name := range texts(access.BuiltIn[0].Permissions) { // an administrator has all that roles can grant
		of := scopeTenant
		if slices.Contains(access.OfProjects(), access.Permission(name)) {
			of = scopeProject
		}
		about, _, _ := strings.Cut(name, ".")
		i := slices.IndexFunc(shown, func(p api.Permissions) bool { return p.Name == about && p.Scope == of })
		switch {
		case scope != "" && scope != of:
		case i >= 0:
			shown[i].Permissions = append(shown[i].Permissions, name)
		default:
			shown = append(shown, api.Permissions{Name: about, Scope: of, Permissions: []string{name}})
		}
	}
	return response{http.StatusOK, shown}, nil
}
