package manage

import (
	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
)

// Org returns the commands for organizations.
func (p Program) Org() *cobra.Command {
	create := p.command("create NAME", "Create an organization with a project Default; print its uid", command.OneArg, func(c *call, args []string) error {
		uid, err := c.client.Orgs.Create(c.ctx, api.OrgRequest{Metadata: api.Named{Name: args[0]}})
		if err != nil {
			return err
		}
		return c.created(uid, "Created the organization %s.", args[0])
	}, changes, aboutOrgs)
	list := p.command("list", "List organizations", command.NoArgs, func(c *call, _ []string) error {
		orgs, err := client.Collect(c.client.Orgs.List(c.ctx))
		rows := make([][]any, len(orgs))
		for i, o := range orgs {
			rows[i] = []any{o.Metadata.UID, o.Metadata.Name, o.Metadata.CreationTimestamp}
		}
		return c.list(err, columns("uid+", "name", "created"), rows)
	}, lists, aboutOrgs)
	return command.Group("org", "Manage organizations", create, list, p.deleteOrg())
}

func (p Program) deleteOrg() *cobra.Command {
	cascade := false
	cmd := p.command("delete NAME", "Delete an organization", command.OneArg, func(c *call, args []string) error {
		org, err := c.client.Orgs.Find(c.ctx, args[0])
		if err != nil {
			return err
		}
		with := ""
		if cascade {
			with = " with its users, API keys, projects, registries and alerts"
		}
		if err := c.confirm("Delete the organization %s%s?", org.Metadata.Name, with); err != nil {
			return err
		}
		if err := c.client.Orgs.Delete(c.ctx, org.Metadata.UID, cascade); err != nil {
			return err
		}
		c.changed("Deleted the organization %s.", org.Metadata.Name)
		return nil
	}, deletes, aboutOrgs)
	cmd.Flags().BoolVar(&cascade, "cascade", false, "delete its users, API keys, projects, registries and alerts, too")
	cmd.ValidArgsFunction = p.completeNames(orgNames, aboutOrgs)
	return cmd
}

func orgNames(c *call) ([]string, error) {
	return namesOf(c.client.Orgs.List(c.ctx), func(o api.Org) string { return o.Metadata.Name })
}
