package manage

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
)

// Session returns the commands for sessions.
func (p Program) Session() *cobra.Command {
	list := p.command("list", "List your sessions", command.NoArgs, func(c *call, _ []string) error {
		if err := c.requireServer(); err != nil {
			return err
		}
		sessions, err := c.client.Sessions.List(c.ctx)
		rows := make([][]any, len(sessions))
		for i, s := range sessions {
			rows[i] = []any{s.Metadata.UID, s.Metadata.Name, s.Metadata.CreationTimestamp, s.Status.LastUsed, s.Status.Expiry, s.Status.IsCurrent}
		}
		return c.list(err, columns("uid", "address", "created+", "lastUsed", "expires+", "current"), rows)
	}, lists, inAnyOrg)
	end := p.command("end UID", "End one of your sessions", command.OneArg, func(c *call, args []string) error {
		if err := c.requireServer(); err != nil {
			return err
		}
		if err := c.confirm("End the session %s?", args[0]); err != nil {
			return err
		}
		if err := c.client.Sessions.End(c.ctx, args[0]); err != nil {
			return err
		}
		c.changed("Ended the session %s.", args[0])
		return nil
	}, deletes, inAnyOrg)
	end.ValidArgsFunction = p.completeNames(sessionUIDs)
	return command.Group("session", "Manage sessions", list, end, p.revokeSessions())
}

func (p Program) revokeSessions() *cobra.Command {
	all, fromStdin := false, false
	cmd := p.command("revoke", "End all of your sessions, or the session of a token", command.NoArgs, func(c *call, _ []string) error {
		switch {
		case all == fromStdin:
			return command.Usage(c.cmd, errors.New("give a token on standard input with --token-stdin, or end all of your sessions with --all"))
		case all:
			return c.endSessions()
		}
		token, err := command.ReadSecret(c.cmd.InOrStdin(), "Token: ")
		if err != nil {
			return err
		}
		if err := c.confirm("End the session of this token?"); err != nil {
			return err
		}
		if err := c.client.Sessions.RevokeTokens(c.ctx, token); err != nil {
			return err
		}
		c.changed("Ended the session of the token.")
		return nil
	}, deletes, inAnyOrg)
	cmd.Flags().BoolVar(&all, "all", false, "end all of your sessions, also the one of this command")
	cmd.Flags().BoolVar(&fromStdin, "token-stdin", false, "read an authorization or refresh token from standard input; administrators may give one of any user")
	return cmd
}

func (c *call) endSessions() error {
	if err := c.requireServer(); err != nil {
		return err
	}
	if err := c.confirm("End all of your sessions, also the one of this command?"); err != nil {
		return err
	}
	if err := c.client.Sessions.RevokeAll(c.ctx); err != nil {
		return err
	}
	c.changed("Ended all of your sessions.")
	return nil
}

// requireServer refuses the local store, whose administrator has no session.
func (c *call) requireServer() error {
	if c.login != nil {
		return nil
	}
	return command.Usage(c.cmd, errors.New("a local store has no sessions of yours; choose a server with --server, "+EnvServer+" or: regwarden login URL"))
}

func sessionUIDs(c *call) ([]string, error) {
	sessions, err := c.client.Sessions.List(c.ctx)
	uids := make([]string, len(sessions))
	for i, s := range sessions {
		uids[i] = s.Metadata.UID
	}
	return uids, err
}
