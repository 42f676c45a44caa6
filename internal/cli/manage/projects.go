package manage

import (
	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
)

// Project returns the commands for projects.
func (p Program) Project() *cobra.Command {
	create := p.command("create NAME", "Create a project; print its uid", command.OneArg, func(c *call, args []string) error {
		uid, err := c.client.Projects.Create(c.ctx, api.ProjectRequest{Metadata: api.ProjectRequestMetadata{Name: args[0]}})
		if err != nil {
			return err
		}
		return c.created(uid, "Created the project %s.", args[0])
	}, changes)
	list := p.command("list", "List projects", command.NoArgs, func(c *call, _ []string) error {
		projects, err := client.Collect(c.client.Projects.List(c.ctx))
		rows := make([][]any, len(projects))
		for i, o := range projects {
			rows[i] = []any{o.Metadata.UID, o.Metadata.Name, o.Metadata.CreationTimestamp}
		}
		return c.list(err, columns("uid+", "name", "created"), rows)
	}, lists)
	rename := p.command("rename NAME NEW-NAME", "Rename a project", command.TwoArgs, func(c *call, args []string) error {
		project, err := c.client.Projects.Find(c.ctx, args[0])
		if err != nil {
			return err
		}
		if err := c.client.Projects.Rename(c.ctx, project.Metadata.UID, args[1]); err != nil {
			return err
		}
		c.changed("Renamed the project %s to %s.", args[0], args[1])
		return nil
	}, changes)
	remove := p.deleteProject()
	for _, cmd := range []*cobra.Command{rename, remove} {
		cmd.ValidArgsFunction = p.completeNames(projectNames)
	}
	return command.Group("project", "Manage projects", create, list, rename, remove)
}

func (p Program) deleteProject() *cobra.Command {
	cascade := false
	cmd := p.command("delete NAME", "Delete a project", command.OneArg, func(c *call, args []string) error {
		project, err := c.client.Projects.Find(c.ctx, args[0])
		if err != nil {
			return err
		}
		with := ""
		if cascade {
			with = " with its registries and alert channels"
		}
		if err := c.confirm("Delete the project %s%s?", project.Metadata.Name, with); err != nil {
			return err
		}
		if err := c.client.Projects.Delete(c.ctx, project.Metadata.UID, cascade); err != nil {
			return err
		}
		c.changed("Deleted the project %s%s.", project.Metadata.Name, with)
		return nil
	}, deletes)
	cmd.Flags().BoolVar(&cascade, "cascade", false, "delete its registries and alert channels, too; its members stay users")
	return cmd
}

func projectNames(c *call) ([]string, error) {
	return namesOf(c.client.Projects.List(c.ctx), func(p api.ListedProject) string { return p.Metadata.Name })
}
