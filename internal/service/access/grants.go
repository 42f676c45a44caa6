package access

import (
	"maps"
	"slices"
)

// ofProjects are the permissions that a role can grant in a single project.
var ofProjects = []Permission{ReadRegistries, ValidateRegistries, CreateRegistries, ChangeRegistries, DeleteRegistries, SyncRegistries,
	ConfigureAlerts}

// OfProjects lists the permissions that a role can grant in a single project.
func OfProjects() []Permission { return slices.Clone(ofProjects) }

// Grants are what a user may do by other roles than the built-in ones in its organization. The zero value is none.
type Grants struct {
	Projects map[string]Role // by uid
	Custom   Custom          // of the organization, if the user has one of them
}

// Of reports whether roles of the user grant the permission.
func (g *Grants) Of(roles Role, permission Permission) bool {
	return roles.Grants(permission) || g != nil && g.Custom.grants(roles, permission)
}

// In reports whether a role in the project grants the permission.
func (g *Grants) In(project string, permission Permission) bool {
	return g != nil && slices.Contains(ofProjects, permission) && g.Of(g.Projects[project], permission)
}

// Where lists the projects, by uid, in which a role grants the permission.
func (g *Grants) Where(permission Permission) (projects []string) {
	if g == nil {
		return nil
	}
	for _, project := range slices.Sorted(maps.Keys(g.Projects)) {
		if g.In(project, permission) {
			projects = append(projects, project)
		}
	}
	return projects
}
