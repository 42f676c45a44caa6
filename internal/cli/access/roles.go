package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Role returns the commands for roles.
func (p Commands) Role() *cobra.Command {
	list := p.Command("list", "List roles with their permissions", command.NoArgs, func(c *manage.Call, _ []string) error {
		roles, err := client.Collect(c.Client.Roles.List(c.Ctx))
		rows := make([][]any, len(roles))
		for i, r := range roles {
			rows[i] = []any{r.Metadata.Name, r.Spec.Scope, strings.Join(r.Spec.Permissions, ", "), r.Metadata.UID}
		}
		return c.List(err, output.Columns("name*", "scope", "permissions+", "uid+"), rows)
	}, manage.Lists, manage.InAnyOrg)
	show := p.Command("show NAME", "Show a role with what it permits", command.OneArg, func(c *manage.Call, args []string) error {
		role, err := findRole(c, args[0])
		if err != nil {
			return err
		}
		return c.Output.Record(output.Columns("name", "description", "scope", "builtIn", "permissions", "uid"),
			[]any{role.Metadata.Name, role.Metadata.Annotations["description"], role.Spec.Scope, role.Spec.Type == "system",
				role.Spec.Permissions, role.Metadata.UID})
	}, manage.Lists, manage.InAnyOrg)
	remove := p.Command("delete NAME", "Delete a role that is not in use", command.OneArg, func(c *manage.Call, args []string) error {
		role, err := ownRole(c, args[0])
		if err == nil {
			err = c.Confirm("Delete the role %s?", role.Metadata.Name)
		}
		if err == nil {
			err = c.Client.Roles.Delete(c.Ctx, role.Metadata.UID)
		}
		return c.Changed(err, "Deleted the role %s.", role.Metadata.Name)
	}, manage.Deletes)
	set := p.setRole()
	for _, cmd := range []*cobra.Command{show, set, remove} {
		cmd.ValidArgsFunction = p.CompleteNames(namesOfRoles)
	}
	return command.Group("role", "Manage roles and what they permit", list, show, p.createRole(), set, remove)
}

func namesOfRoles(c *manage.Call) (names []string, err error) {
	roles, err := client.Collect(c.Client.Roles.List(c.Ctx))
	for _, role := range roles {
		names = append(names, role.Metadata.Name)
	}
	return names, err
}

// roleFlags are what a role is created with, or changed to.
type roleFlags struct {
	permissions         []string
	description, rename string
	inProjects          bool
}

func (f *roleFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.permissions, "permission", nil, "permission that the role grants, such as registry.get; may be repeated")
	cmd.Flags().StringVar(&f.description, "description", "", "what the role is for")
	cmd.Flags().BoolVar(&f.inProjects, "in-projects", false,
		"the role can be given in single projects too, and has only permissions for registries and alerts")
}

func (f *roleFlags) request(name string) api.RoleRequest {
	role := api.RoleRequest{Metadata: api.RoleRequestMetadata{Name: name, Annotations: map[string]string{"description": f.description}},
		Spec: api.RoleRequestSpec{Permissions: f.permissions, Scope: "tenant"}}
	if f.inProjects {
		role.Spec.Scope = "project"
	}
	return role
}

func (p Commands) createRole() *cobra.Command {
	var flags roleFlags
	cmd := p.Command("create NAME", "Define a role; print its uid", command.OneArg, func(c *manage.Call, args []string) error {
		uid, err := c.Client.Roles.Create(c.Ctx, flags.request(args[0]))
		return c.Created(err, uid, "Created the role %s.", args[0])
	}, manage.Changes)
	flags.add(cmd)
	return cmd
}

// setRole returns the command that changes what its flags name.
func (p Commands) setRole() *cobra.Command {
	var flags roleFlags
	cmd := p.Command("set NAME", "Change a role; it counts at once for all who have it", command.OneArg,
		func(c *manage.Call, args []string) error {
			role, err := ownRole(c, args[0])
			if err != nil {
				return err
			}
			changed := c.Cmd.Flags().Changed
			if !slices.ContainsFunc([]string{"permission", "description", "in-projects", "new-name"}, changed) {
				return command.Usage(c.Cmd, errors.New("give what changes, with --permission, --description, --in-projects or --new-name"))
			}
			if !changed("permission") {
				flags.permissions = role.Spec.Permissions
			}
			if !changed("description") {
				flags.description = role.Metadata.Annotations["description"]
			}
			if !changed("in-projects") {
				flags.inProjects = role.Spec.Scope == "project"
			}
			name := role.Metadata.Name
			if changed("new-name") {
				name = flags.rename
			}
			err = c.Client.Roles.Replace(c.Ctx, role.Metadata.UID, flags.request(name))
			return c.Changed(err, "Changed the role %s.", name)
		}, manage.Changes)
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.rename, "new-name", "", "new name of the role")
	return cmd
}

// findRole returns a role by its name or uid.
func findRole(c *manage.Call, named string) (api.Role, error) {
	roles, err := client.Collect(c.Client.Roles.List(c.Ctx))
	if err != nil {
		return api.Role{}, err
	}
	i := manage.IndexOf(roles, named, func(r api.Role) (uid, name string) { return r.Metadata.UID, r.Metadata.Name })
	if i < 0 {
		return api.Role{}, fmt.Errorf("role %s not found; regwarden role list shows all", output.Shown(named))
	}
	return roles[i], nil
}

// ownRole returns a role that the organization defines.
func ownRole(c *manage.Call, named string) (api.Role, error) {
	role, err := findRole(c, named)
	if err == nil && role.Spec.Type == "system" {
		err = fmt.Errorf("%s is a built-in role, which cannot be changed or deleted", output.Shown(named))
	}
	return role, err
}
