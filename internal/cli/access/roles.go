package access

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Role returns the commands for roles.
func (p Commands) Role() *cobra.Command {
	return command.Group("role", "Show roles and what they permit",
		p.Command("list", "List roles with their permissions", command.NoArgs, func(c *manage.Call, _ []string) error {
			roles, err := client.Collect(c.Client.Roles.List(c.Ctx))
			rows := make([][]any, len(roles))
			for i, r := range roles {
				rows[i] = []any{r.Metadata.Name, r.Spec.Scope, strings.Join(r.Spec.Permissions, ", ")}
			}
			return c.List(err, output.Columns("name", "scope", "permissions+"), rows)
		}, manage.Lists, manage.InAnyOrg))
}
