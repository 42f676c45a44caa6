// Package access has the commands that manage organizations, projects, users and API keys, and read the audit log.
package access

import (
	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Commands creates the commands of this package.
type Commands struct{ manage.Program }

// Org returns the commands for organizations.
func (p Commands) Org() *cobra.Command {
	create := p.Command("create NAME", "Create an organization with a project Default; print its uid", command.OneArg,
		func(c *manage.Call, args []string) error {
			uid, err := c.Client.Orgs.Create(c.Ctx, api.OrgRequest{Metadata: api.Named{Name: args[0]}})
			return c.Created(err, uid, "Created the organization %s.", args[0])
		}, manage.Changes, manage.AboutOrgs)
	list := p.Command("list", "List organizations", command.NoArgs, func(c *manage.Call, _ []string) error {
		orgs, err := client.Collect(c.Client.Orgs.List(c.Ctx))
		rows := make([][]any, len(orgs))
		for i, o := range orgs {
			rows[i] = []any{o.Metadata.UID, o.Metadata.Name, o.Metadata.CreationTimestamp}
		}
		return c.List(err, output.Columns("uid+", "name*", "created"), rows)
	}, manage.Lists, manage.AboutOrgs)
	return command.Group("org", "Manage organizations", create, list, p.renameOrg(), p.deleteOrg(), p.passwordPolicy())
}

func (p Commands) renameOrg() *cobra.Command {
	cmd := p.Command("rename NAME NEW-NAME", "Rename an organization", command.TwoArgs, func(c *manage.Call, args []string) error {
		org, err := c.Client.Orgs.Find(c.Ctx, args[0])
		if err != nil {
			return err
		}
		err = c.Client.Orgs.Rename(c.Ctx, org.Metadata.UID, args[1])
		return c.Changed(err, "Renamed the organization %s to %s. Its users log in with the new name.", org.Metadata.Name, args[1])
	}, manage.Changes, manage.AboutOrgs)
	cmd.ValidArgsFunction = p.CompleteNames(manage.OrgNames, manage.AboutOrgs)
	return cmd
}

func (p Commands) deleteOrg() *cobra.Command {
	cascade := false
	cmd := p.Command("delete NAME", "Delete an organization", command.OneArg, func(c *manage.Call, args []string) error {
		org, err := c.Client.Orgs.Find(c.Ctx, args[0])
		if err != nil {
			return err
		}
		if c.DryRun {
			found, err := c.Client.Orgs.Contents(c.Ctx, org.Metadata.UID)
			if err != nil {
				return err
			}
			return showContents(c, "organization", org.Metadata.Name, found, false)
		}
		with := ""
		if cascade {
			with = " with its users, API keys, projects, registries and alerts"
		}
		if err := c.Confirm("Delete the organization %s%s?", org.Metadata.Name, with); err != nil {
			return err
		}
		err = c.Client.Orgs.Delete(c.Ctx, org.Metadata.UID, cascade)
		return c.Changed(manage.NameCascade(err), "Deleted the organization %s.", org.Metadata.Name)
	}, manage.Deletes, manage.DryRuns, manage.AboutOrgs)
	cmd.Flags().BoolVar(&cascade, "cascade", false, "delete its users, API keys, projects, registries and alerts, too")
	cmd.ValidArgsFunction = p.CompleteNames(manage.OrgNames, manage.AboutOrgs)
	return cmd
}
