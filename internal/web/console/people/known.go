package people

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

// Known has the roles of an organization, for their names and for forms that give them.
type Known struct {
	all     []roles.Role
	names   roles.Names
	mayRead bool // the caller may see roles that it does not see at a user or team
}

// ReadKnown reads the roles of the caller's organization.
func ReadKnown(ctx context.Context, from *roles.Roles, p auth.Principal) (Known, error) {
	all, err := from.OfOrg(ctx, p.OrgUID)
	return Known{all, roles.NamesOf(all), p.Can(access.ReadRoles)}, err
}

// Names returns several roles by their names.
func (k Known) Names(given auth.Role) string {
	names := []string{}
	for _, uid := range given.All() {
		names = append(names, k.names.Of(uid))
	}
	if len(names) == 0 {
		return string(access.None)
	}
	return strings.Join(names, ", ")
}

// offered lists the roles that a form offers: all that the caller may see, and those that are given.
func (k Known) offered(given auth.Role) []roles.Role {
	return slices.DeleteFunc(slices.Clone(k.all), func(r roles.Role) bool {
		return !r.BuiltIn && !k.mayRead && !slices.Contains(given.All(), auth.Role(r.UID))
	})
}

// Field has a checkbox for each role that can be given in the organization.
func (k Known) Field(given auth.Role, hint string) forms.Field {
	f := forms.Field{Name: "role", Label: "Roles", Type: "checkboxes", Value: string(access.Of(given.All()...)), Hint: hint}
	for _, role := range k.offered(given) {
		f.Options = append(f.Options, forms.Option{Value: role.UID, Label: role.Name, Hint: role.Description})
	}
	return f
}

// Sent returns the roles that were chosen in Field, access.None for none.
func (k Known) Sent(values forms.Values) auth.Role {
	f := forms.Field{Name: "role"}
	for _, role := range k.all { // a role that the form did not offer is decided by the domain, as over HTTP
		f.Options = append(f.Options, forms.Option{Value: role.UID})
	}
	return access.None.And(access.Of(f.SentBoxes(values)...))
}

// ProjectsField lists projects with the roles in them.
func (k Known) ProjectsField(projects []directory.Project, given map[string]auth.Role) forms.Field {
	lines := make([]string, len(projects))
	for i, p := range projects {
		lines[i] = p.Name
		if role := given[p.UID]; role != auth.RoleMember {
			lines[i] += ": " + k.Names(role)
		}
	}
	names := []string{}
	for _, role := range k.offered("") {
		if role.InProjects {
			names = append(names, role.Name)
		}
	}
	return forms.Field{Name: "projects", Label: "Projects", Type: "textarea", Value: strings.Join(lines, "\n"),
		Hint: "Names of existing projects, one on each line, with the role in it after a colon, as in Staging: viewer. " +
			"Roles in projects: " + strings.Join(names, ", ") + ". A member sees only these projects and their alerts. Empty: none."}
}

// SentProjects returns the projects that were entered in ProjectsField, which shows the given roles, with the roles in them. A colon that
// is not followed by roles is part of the name of the project.
func (k Known) SentProjects(values forms.Values, given map[string]auth.Role) (projects []directory.ProjectRole) {
	shown := access.None
	for _, role := range given {
		shown = shown.And(role)
	}
	for line := range strings.Lines(values.PostFormValue("projects")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		sent := directory.ProjectRole{Project: line}
		for i, c := range line {
			if c != ':' || i == 0 {
				continue
			}
			if role := k.read(line[i+1:], shown); role != "" {
				sent = directory.ProjectRole{Project: strings.TrimSpace(line[:i]), Role: role}
				break
			}
		}
		projects = append(projects, sent)
	}
	return projects
}

// read returns the roles that a text names, separated by commas, or built-in ones by spaces. It is empty for any other text.
func (k Known) read(text string, shown auth.Role) auth.Role {
	if role := k.readNames(strings.Split(text, ","), shown); role != "" {
		return role
	}
	return k.readNames(strings.Fields(text), shown)
}

func (k Known) readNames(names []string, shown auth.Role) auth.Role {
	uids := []string{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		offered := k.offered(shown.And(auth.Role(name)))
		at := slices.IndexFunc(offered, func(r roles.Role) bool {
			return r.InProjects && (strings.EqualFold(r.Name, name) || r.UID == name)
		})
		if at < 0 {
			return ""
		}
		uids = append(uids, offered[at].UID)
	}
	return access.Of(uids...)
}

// ProjectProblems returns a fault whose problems of single projects are one problem of the field that lists them.
func ProjectProblems(err error, projects []directory.ProjectRole) error {
	if fault.KindOf(err) != fault.Invalid {
		return err
	}
	var problems []fault.Field
	var unknown []string
	for _, p := range fault.Visible(err).Fields {
		var i int
		if n, _ := fmt.Sscanf(p.Field, "projects[%d]", &i); n == 1 && i < len(projects) {
			unknown = append(unknown, projects[i].Project)
		} else {
			problems = append(problems, p)
		}
	}
	if len(unknown) > 0 {
		problems = append(problems, fault.Field{Field: "projects",
			Problem: "must exist in your organization, unlike " + strings.Join(unknown, ", ")})
	}
	return fault.InvalidFields(problems...)
}
