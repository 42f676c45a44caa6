package account

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// logins.Context returns the commands for logins.
func (p Commands) Context() *cobra.Command {
	list := contextCommand("list", "List the servers that you are logged in to", command.NoArgs, func(c *manage.Call, _ []string) error {
		saved, err := logins.Read()
		rows := make([][]any, len(saved.Contexts))
		for i, o := range saved.Contexts {
			credentials := "session"
			if o.APIKey != "" {
				credentials = "apiKey"
			}
			rows[i] = []any{o.Name, o.Name == saved.Current, o.Org, o.Email, o.Server, credentials}
		}
		return c.List(err, output.Columns("name*", "current", "org", "email", "server+", "credentials+"), rows)
	}, manage.Lists)
	use := contextCommand("use CONTEXT", "Choose the server that commands talk to", command.OneArg,
		func(c *manage.Call, args []string) error {
			err := changeContext(c, args[0], func(saved *logins.Contexts, chosen logins.Context) {
				saved.Current = chosen.Name
				c.Note("Commands talk to %s as %s in the organization %s.", chosen.Server, chosen.Email, chosen.Org)
			})
			return errors.Join(err, chooseNone(c, err))
		}, manage.Changes)
	remove := contextCommand("delete CONTEXT", "Remove credentials without contacting their server", command.OneArg,
		func(c *manage.Call, args []string) error {
			return changeContext(c, args[0], func(saved *logins.Contexts, chosen logins.Context) {
				saved.Remove(chosen.Name)
				c.Note("Removed the credentials for %s, which stay valid at the server.", chosen.Server)
				showOthers(c, saved)
			})
		}, manage.Changes)
	for _, cmd := range []*cobra.Command{use, remove} {
		cmd.ValidArgsFunction = manage.CompleteContexts
	}
	return command.Group("context", "Manage logins at servers", list, use, remove)
}

// chooseNone leaves no login chosen after one could not be: the next commands of a script were meant for that one.
func chooseNone(c *manage.Call, failed error) error {
	saved, err := logins.Read()
	if failed == nil || err != nil || saved.Active() == nil {
		return nil
	}
	return logins.Change(c.Ctx, func(saved *logins.Contexts) error {
		saved.Current = ""
		showOthers(c, saved)
		return nil
	})
}

// changeContext changes an existing context. Without one, it writes no file: logins.Change creates one for its lock.
func changeContext(c *manage.Call, name string, change func(*logins.Contexts, logins.Context)) error {
	saved, err := logins.Read()
	if err == nil {
		_, err = saved.Get(name)
	}
	if err != nil {
		return err
	}
	return logins.Change(c.Ctx, func(saved *logins.Contexts) error {
		chosen, err := saved.Get(name)
		if err == nil {
			change(saved, chosen)
		}
		return err
	})
}

// showOthers names the logins that are left without a current one.
func showOthers(c *manage.Call, saved *logins.Contexts) {
	if saved.Active() == nil && len(saved.Contexts) > 0 {
		c.Note("No login is chosen now. Choose one of %s with: regwarden context use NAME", strings.Join(saved.Names(), ", "))
	}
}

// contextCommand returns a command that uses only the file of logins.Contexts.
func contextCommand(use, short string, args cobra.PositionalArgs, do func(*manage.Call, []string) error,
	options ...manage.Option) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	c := &manage.Call{Cmd: cmd}
	for _, option := range options {
		option(c, nil)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.Ctx = cmd.Context()
		return manage.Explain(cmd, do(c, args))
	}
	return cmd
}

// Whoami returns the command that shows the caller.
func (p Commands) Whoami() *cobra.Command {
	return p.Command("whoami", "Show which server commands talk to, and as whom", command.NoArgs, func(c *manage.Call, _ []string) error {
		info, err := c.Client.Whoami(c.Ctx)
		if err != nil {
			return err
		}
		server := ""
		if c.Login != nil {
			server = c.Login.Server
		}
		return c.Output.Record(output.Columns("email", "role", "org", "server", "uid"),
			[]any{info.Email, info.Role, info.OrgName, server, info.UserUID})
	}, manage.Lists, manage.InAnyOrg)
}
