package manage

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
)

// Context returns the commands for logins.
func (p Program) Context() *cobra.Command {
	list := contextCommand("list", "List the servers that you are logged in to", command.NoArgs, func(c *call, _ []string) error {
		saved, err := readContexts()
		rows := make([][]any, len(saved.Contexts))
		for i, o := range saved.Contexts {
			credentials := "session"
			if o.APIKey != "" {
				credentials = "apiKey"
			}
			rows[i] = []any{o.Name, o.Name == saved.Current, o.Org, o.Email, o.Server, credentials}
		}
		return c.list(err, columns("name", "current", "org", "email", "server+", "credentials+"), rows)
	}, lists)
	use := contextCommand("use CONTEXT", "Choose the server that commands talk to", command.OneArg, func(c *call, args []string) error {
		return c.changeContext(args[0], func(saved *contexts, chosen Context) {
			saved.Current = chosen.Name
			c.changed("Commands talk to %s as %s in the organization %s.", chosen.Server, chosen.Email, chosen.Org)
		})
	}, changes)
	remove := contextCommand("delete CONTEXT", "Remove credentials without contacting their server", command.OneArg, func(c *call, args []string) error {
		return c.changeContext(args[0], func(saved *contexts, chosen Context) {
			saved.remove(chosen.Name)
			c.changed("Removed the credentials for %s, which stay valid at the server.", chosen.Server)
			c.showOthers(saved)
		})
	}, changes)
	for _, cmd := range []*cobra.Command{use, remove} {
		cmd.ValidArgsFunction = completeContexts
	}
	return command.Group("context", "Manage logins at servers", list, use, remove)
}

// changeContext changes an existing context. Without one, it writes no file: changeContexts creates one for its lock.
func (c *call) changeContext(name string, change func(*contexts, Context)) error {
	saved, err := readContexts()
	if err == nil {
		_, err = saved.get(name)
	}
	if err != nil {
		return err
	}
	return changeContexts(c.ctx, func(saved *contexts) error {
		chosen, err := saved.get(name)
		if err == nil {
			change(saved, chosen)
		}
		return err
	})
}

// showOthers names the logins that are left without a current one.
func (c *call) showOthers(saved *contexts) {
	if saved.current() == nil && len(saved.Contexts) > 0 {
		c.changed("No login is chosen now. Choose one of %s with: regwarden context use NAME", strings.Join(saved.names(), ", "))
	}
}

// contextCommand returns a command that uses only the file of contexts.
func contextCommand(use, short string, args cobra.PositionalArgs, do func(*call, []string) error, options ...option) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	c := &call{cmd: cmd}
	for _, option := range options {
		option(c, nil)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.ctx = cmd.Context()
		if err := c.output.check(); err != nil {
			return err
		}
		return explain(cmd, do(c, args))
	}
	return cmd
}

func completeContexts(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeContextFlag(cmd, args, typed)
}

// completeContextFlag completes the flag --context.
func completeContextFlag(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	saved, err := readContexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completions(saved.names()), cobra.ShellCompDirectiveNoFileComp
}

// Whoami returns the command that shows the caller.
func (p Program) Whoami() *cobra.Command {
	return p.command("whoami", "Show which server commands talk to, and as whom", command.NoArgs, func(c *call, _ []string) error {
		info, err := c.client.Whoami(c.ctx)
		if err != nil {
			return err
		}
		server := ""
		if c.login != nil {
			server = c.login.Server
		}
		return c.output.record(columns("email", "role", "org", "server", "uid"), []any{info.Email, info.Role, info.OrgName, server, info.UserUID})
	}, lists, inAnyOrg)
}
