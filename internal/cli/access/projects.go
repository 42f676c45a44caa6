package access

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Project returns the commands for projects.
func (p Commands) Project() *cobra.Command {
	create := p.Command("create NAME", "Create a project; print its uid", command.OneArg, func(c *manage.Call, args []string) error {
		uid, err := c.Client.Projects.Create(c.Ctx, api.ProjectRequest{Metadata: api.ProjectRequestMetadata{Name: args[0]}})
		return c.Created(err, uid, "Created the project %s.", args[0])
	}, manage.Changes)
	list := p.Command("list", "List projects", command.NoArgs, func(c *manage.Call, _ []string) error {
		projects, err := client.Collect(c.Client.Projects.List(c.Ctx))
		rows := make([][]any, len(projects))
		for i, o := range projects {
			rows[i] = []any{o.Metadata.UID, o.Metadata.Name, o.Metadata.CreationTimestamp}
		}
		return c.List(err, output.Columns("uid+", "name*", "created"), rows)
	}, manage.Lists)
	rename := p.Command("rename NAME NEW-NAME", "Rename a project", command.TwoArgs, func(c *manage.Call, args []string) error {
		project, err := c.Client.Projects.Find(c.Ctx, args[0])
		if err != nil {
			return err
		}
		err = c.Client.Projects.Rename(c.Ctx, project.Metadata.UID, args[1])
		return c.Changed(err, "Renamed the project %s to %s.", args[0], args[1])
	}, manage.Changes)
	remove, show := p.deleteProject(), p.showProject()
	for _, cmd := range []*cobra.Command{rename, remove, show} {
		cmd.ValidArgsFunction = p.CompleteNames(manage.ProjectNames)
	}
	return command.Group("project", "Manage projects", create, list, show, rename, remove)
}

// notTheLast refuses the deletion of the only project: other commands need one.
func notTheLast(c *manage.Call, project *api.ListedProject) error {
	names, err := manage.ProjectNames(c)
	if err == nil && len(names) == 1 {
		err = fmt.Errorf("%s is the only project that you see, and alert channels need one; create another one first",
			output.Shown(project.Metadata.Name))
	}
	return err
}

// showProject returns the command that shows what a project contains, before it is deleted or renamed.
func (p Commands) showProject() *cobra.Command {
	return p.Command("show NAME", "Show a project with its labels", command.OneArg, func(c *manage.Call, args []string) error {
		found, err := c.Client.Projects.Find(c.Ctx, args[0])
		if err != nil {
			return err
		}
		project, err := c.Client.Projects.Get(c.Ctx, found.Metadata.UID)
		if err != nil {
			return err
		}
		m := project.Metadata
		return c.Output.Record(output.Columns("name", "uid", "created", "labels", "annotations"),
			[]any{m.Name, m.UID, m.CreationTimestamp, pairs(m.Labels), pairs(m.Annotations)})
	}, manage.Lists)
}

// pairs returns the entries of labels or annotations, such as team=platform.
func pairs(of map[string]string) []string {
	list := make([]string, 0, len(of))
	for name, value := range of {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

func (p Commands) deleteProject() *cobra.Command {
	cascade := false
	cmd := p.Command("delete NAME", "Delete a project", command.OneArg, func(c *manage.Call, args []string) error {
		project, err := c.Client.Projects.Find(c.Ctx, args[0])
		if err != nil {
			return err
		}
		if err := notTheLast(c, project); err != nil {
			return err
		}
		if c.DryRun {
			found, err := c.Client.Projects.Contents(c.Ctx, project.Metadata.UID)
			if err != nil {
				return err
			}
			return showContents(c, "project", project.Metadata.Name, found, !cascade && len(found.Items) > 0)
		}
		with := ""
		if cascade {
			with = " with its registries and alert channels"
		}
		if err := c.Confirm("Delete the project %s%s?", project.Metadata.Name, with); err != nil {
			return err
		}
		err = c.Client.Projects.Delete(c.Ctx, project.Metadata.UID, cascade)
		return c.Changed(manage.NameCascade(err), "Deleted the project %s%s.", project.Metadata.Name, with)
	}, manage.Deletes, manage.DryRuns)
	cmd.Flags().BoolVar(&cascade, "cascade", false, "delete its registries and alert channels, too; its members stay users")
	return cmd
}
