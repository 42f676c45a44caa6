package access

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/manage"
)

// ownRoles returns the roles that the organization defines, read at the first call. A caller who may not read them has none.
func ownRoles(c *manage.Call) func() []api.Role {
	var own []api.Role
	read := false
	return func() []api.Role {
		if !read {
			read = true
			all, _ := client.Collect(c.Client.Roles.List(c.Ctx)) // uids are shown, and sent, without them
			own = slices.DeleteFunc(all, func(r api.Role) bool { return r.Spec.Type == "system" })
		}
		return own
	}
}

// roleNamer returns a function that returns roles, of which those of the organization have uids, by their names.
func roleNamer(c *manage.Call) func(uids []string) []string {
	own := ownRoles(c)
	return func(uids []string) []string {
		shown := slices.Clone(uids)
		for i, uid := range uids {
			if uuid.Validate(uid) != nil {
				continue
			}
			if at := slices.IndexFunc(own(), func(r api.Role) bool { return r.Metadata.UID == uid }); at >= 0 {
				shown[i] = own()[at].Metadata.Name
			}
		}
		return shown
	}
}

func uidsOf(refs []api.Ref) []string {
	uids := make([]string, len(refs))
	for i, ref := range refs {
		uids[i] = ref.UID
	}
	return uids
}

// isBuiltIn reports whether a list such as projectRoles has a role.
func isBuiltIn(list, role string) bool {
	return slices.Contains(strings.FieldsFunc(list, isNoName), role)
}

func isNoName(r rune) bool { return r == ',' || r == ' ' }

// roleUIDs returns roles as requests have them: those that the organization defines by uid. Roles that are not found stay, for the server
// to refuse.
func roleUIDs(c *manage.Call, named []string) []string {
	own := ownRoles(c)
	uids := slices.Clone(named)
	for i, name := range named {
		if uuid.Validate(name) == nil || isBuiltIn(roleNames, name) {
			continue
		}
		if at := slices.IndexFunc(own(), func(r api.Role) bool { return strings.EqualFold(r.Metadata.Name, name) }); at >= 0 {
			uids[i] = own()[at].Metadata.UID
		}
	}
	return uids
}

// withRoles reads projects of the form NAME or NAME:ROLE. A role that the organization defines is named by its name or uid. What follows a
// colon and is not a role is part of the name of the project.
func withRoles(c *manage.Call, given []string) []api.UserProject {
	own := ownRoles(c)
	projects := make([]api.UserProject, len(given))
	for i, text := range given {
		project, role := text, "member"
		if at := strings.LastIndex(text, ":"); at > 0 && (uuid.Validate(text[at+1:]) == nil || isBuiltIn(projectRoles, text[at+1:])) {
			project, role = text[:at], text[at+1:]
		} else if at > 0 {
			project, role = withOwnRole(text, own(), role)
		}
		projects[i] = api.UserProject{ProjectUID: project, Roles: []string{role}}
	}
	return projects
}

// withOwnRole separates a project from the name of a role of the organization, which may contain colons.
func withOwnRole(text string, own []api.Role, otherwise string) (project, role string) {
	for _, one := range own {
		end := ":" + one.Metadata.Name
		if at := len(text) - len(end); at > 0 && strings.EqualFold(text[at:], end) {
			return text[:at], one.Metadata.UID
		}
	}
	return text, otherwise
}
