package account

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Session returns the commands for sessions.
func (p Commands) Session() *cobra.Command {
	list := p.Command("list", "List your sessions", command.NoArgs, func(c *manage.Call, _ []string) error {
		if err := requireServer(c); err != nil {
			return err
		}
		sessions, err := c.Client.Sessions.List(c.Ctx)
		rows := make([][]any, len(sessions))
		for i, s := range sessions {
			rows[i] = []any{s.Metadata.UID, s.Metadata.Name, s.Metadata.CreationTimestamp, s.Status.LastUsed, s.Status.Expiry,
				s.Status.IsCurrent}
		}
		return c.List(err, output.Columns("uid", "address", "created+", "lastUsed", "expires+", "current"), rows)
	}, manage.Lists, manage.InAnyOrg)
	end := p.Command("end UID", "End one of your sessions", command.OneArg, func(c *manage.Call, args []string) error {
		if err := requireServer(c); err != nil {
			return err
		}
		if err := c.Confirm("End the session %s?", args[0]); err != nil {
			return err
		}
		err := c.Client.Sessions.End(c.Ctx, args[0])
		return c.Changed(err, "Ended the session %s.", args[0])
	}, manage.Deletes, manage.InAnyOrg)
	end.ValidArgsFunction = p.CompleteNames(sessionUIDs)
	return command.Group("session", "Manage sessions", list, end, p.revokeSessions())
}

func (p Commands) revokeSessions() *cobra.Command {
	all, fromStdin := false, false
	cmd := p.Command("revoke", "End all of your sessions, or the session of a token", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			switch {
			case all == fromStdin:
				return command.Usage(c.Cmd, errors.New("give a token on standard input with --token-stdin, or end all of your sessions "+
					"with --all"))
			case all:
				return endSessions(c)
			}
			token, err := command.ReadSecret(c.Cmd.InOrStdin(), "Token: ")
			if err != nil {
				return err
			}
			if err := c.Confirm("End the session of this token?"); err != nil {
				return err
			}
			err = c.Client.Sessions.RevokeTokens(c.Ctx, token)
			return c.Changed(err, "Ended the session of the token.")
		}, manage.Deletes, manage.InAnyOrg)
	cmd.Flags().BoolVar(&all, "all", false, "end all of your sessions, also the one of this command")
	cmd.Flags().BoolVar(&fromStdin, "token-stdin", false, "read an authorization or refresh token from standard input; administrators "+
		"may give one of any user")
	return cmd
}

func endSessions(c *manage.Call) error {
	if err := requireServer(c); err != nil {
		return err
	}
	if err := c.Confirm("End all of your sessions, also the one of this command?"); err != nil {
		return err
	}
	err := c.Client.Sessions.RevokeAll(c.Ctx)
	return c.Changed(err, "Ended all of your sessions.")
}

// requireServer refuses the local store, whose administrator has no session.
func requireServer(c *manage.Call) error {
	if c.Login != nil {
		return nil
	}
	return command.Usage(c.Cmd, errors.New("a local store has no sessions of yours; choose a server with --server, "+
		logins.EnvServer+" or: regwarden login URL"))
}

func sessionUIDs(c *manage.Call) ([]string, error) {
	sessions, err := c.Client.Sessions.List(c.Ctx)
	uids := make([]string, len(sessions))
	for i, s := range sessions {
		uids[i] = s.Metadata.UID
	}
	return uids, err
}
