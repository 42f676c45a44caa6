package access

import (
	"context"
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

const teamRoles = "admin, member, viewer, registry-editor or auditor"

// Team returns the commands for teams.
func (p Commands) Team() *cobra.Command {
	list := p.Command("list", "List teams", command.NoArgs, func(c *manage.Call, _ []string) error {
		teams, err := client.Collect(c.Client.Teams.List(c.Ctx))
		rows, named := make([][]any, len(teams)), roleNamer(c)
		for i, t := range teams {
			rows[i] = []any{t.Metadata.Name, named(t.Spec.Roles), len(t.Spec.Users), t.Metadata.UID}
		}
		return c.List(err, output.Columns("name*", "roles", "users", "uid+"), rows)
	}, manage.Lists)
	show := p.Command("show NAME", "Show a team with its users and projects", command.OneArg, showTeam, manage.Lists)
	remove := p.Command("delete NAME", "Delete a team", command.OneArg, func(c *manage.Call, args []string) error {
		err := c.Confirm("Delete the team %s? Its users lose its roles.", args[0])
		if err == nil {
			err = c.Client.Teams.Delete(c.Ctx, args[0])
		}
		return c.Changed(err, "Deleted the team %s.", args[0])
	}, manage.Deletes)
	add := p.teamUsers("add", "Make users members of a team", "Added to the team %s: %s.", client.Teams.AddUsers)
	leave := p.teamUsers("remove", "Remove users from a team", "Removed from the team %s: %s.", client.Teams.RemoveUsers)
	set := p.setTeam()
	for _, cmd := range []*cobra.Command{show, remove, add, leave, set} {
		cmd.ValidArgsFunction = p.CompleteNames(teamNames)
	}
	return command.Group("team", "Manage teams and the roles that users have by them", p.createTeam(), list, show, set, add, leave, remove)
}

func teamNames(c *manage.Call) ([]string, error) {
	teams, err := client.Collect(c.Client.Teams.List(c.Ctx))
	names := make([]string, len(teams))
	for i, t := range teams {
		names[i] = t.Metadata.Name
	}
	return names, err
}

func showTeam(c *manage.Call, args []string) error {
	t, err := c.Client.Teams.Get(c.Ctx, args[0])
	if err != nil {
		return err
	}
	found, err := client.Collect(c.Client.Teams.Find(c.Ctx, api.TeamFilter{Name: api.TextFilter{Eq: &t.Metadata.Name}}))
	if err != nil {
		return err
	}
	projects, err := c.Client.Teams.Projects(c.Ctx, t.Metadata.UID)
	if err != nil {
		return err
	}
	users, inProjects, named := []string{}, []string{}, roleNamer(c)
	for _, summary := range found {
		for _, user := range summary.Spec.Users {
			users = append(users, user.Name)
		}
	}
	for _, project := range projects {
		for _, role := range named(uidsOf(project.Roles)) {
			inProjects = append(inProjects, project.Name+":"+role)
		}
	}
	slices.Sort(users)
	return c.Output.Record(output.Columns("name", "roles", "projects", "users", "sources", "created", "uid"), []any{t.Metadata.Name,
		named(t.Spec.Roles), inProjects, users, t.Spec.Sources, t.Metadata.CreationTimestamp, t.Metadata.UID})
}

func (p Commands) createTeam() *cobra.Command {
	var team api.TeamRequest
	var projects []string
	cmd := p.Command("create NAME", "Create a team; print its uid", command.OneArg, func(c *manage.Call, args []string) error {
		team.Metadata.Name = args[0]
		team.Spec.Roles = roleUIDs(c, team.Spec.Roles)
		uid, err := c.Client.Teams.Create(c.Ctx, team)
		if err == nil && len(projects) > 0 {
			if err = c.Client.Teams.SetProjects(c.Ctx, uid, withRoles(c, projects)...); err != nil {
				err = fmt.Errorf("the team was created, without projects: %w", err)
			}
		}
		return c.Created(err, uid, "Created the team %s.", args[0])
	}, manage.Changes)
	cmd.Flags().StringSliceVar(&team.Spec.Users, "user", nil, "email of a user of the team; may be repeated")
	cmd.Flags().StringSliceVar(&team.Spec.Roles, "role", nil, "role of its users: "+teamRoles+"; may be repeated")
	teamProjects(cmd, &projects)
	return cmd
}

func teamProjects(cmd *cobra.Command, projects *[]string) {
	cmd.Flags().StringSliceVar(projects, "project", nil,
		"project in which its users have a role, as NAME:ROLE with "+projectRoles+", or a role of the organization; may be repeated")
}

// setTeam returns the command that changes what its flags name, and nothing else.
func (p Commands) setTeam() *cobra.Command {
	var name string
	var roles, projects []string
	cmd := p.Command("set NAME", "Change the name, roles or projects of a team", command.OneArg, func(c *manage.Call, args []string) error {
		given, team := c.Cmd.Flags().Changed, args[0]
		if !slices.ContainsFunc([]string{"role", "project", "new-name"}, given) {
			return command.Usage(c.Cmd, errors.New("give what changes, with --role, --project or --new-name"))
		}
		if err := command.NotEmpty(c.Cmd, "role", "project"); err != nil {
			return err
		}
		if given("role") {
			if err := c.Client.Teams.SetRoles(c.Ctx, team, roleUIDs(c, withoutNone(roles))...); err != nil {
				return err
			}
		}
		if given("project") {
			if err := c.Client.Teams.SetProjects(c.Ctx, team, withRoles(c, withoutNone(projects))...); err != nil {
				return err
			}
		}
		if given("new-name") {
			stored, err := c.Client.Teams.Get(c.Ctx, team)
			if err == nil {
				err = c.Client.Teams.Replace(c.Ctx, stored.Metadata.UID, api.TeamRequest{Metadata: api.Named{Name: name},
					Spec: api.TeamRequestSpec{Users: stored.Spec.Users}})
			}
			if err != nil {
				return err
			}
		}
		c.Note("Changed the team %s.", team)
		return nil
	}, manage.Changes)
	cmd.Flags().StringVar(&name, "new-name", "", "new name of the team")
	cmd.Flags().StringSliceVar(&roles, "role", nil, "role of its users: "+teamRoles+"; may be repeated; none for no role")
	teamProjects(cmd, &projects)
	cmd.Flags().Lookup("project").Usage += "; none for no project"
	return cmd
}

func withoutNone(given []string) []string {
	return slices.DeleteFunc(slices.Clone(given), func(name string) bool { return name == "none" })
}

// teamUsers returns a command that changes the users of a team.
func (p Commands) teamUsers(name, short, done string, change func(client.Teams, context.Context, string, ...string) error) *cobra.Command {
	atLeastOne := func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return command.Usage(cmd, errors.New("give the name of the team and the email of a user"))
		}
		return nil
	}
	return p.Command(name+" NAME EMAIL...", short, atLeastOne, func(c *manage.Call, args []string) error {
		err := change(c.Client.Teams, c.Ctx, args[0], args[1:]...)
		return c.Changed(err, done, args[0], strings.Join(args[1:], ", "))
	}, manage.Changes)
}
