package account

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/secret"
)

// Passwd returns the command that changes the own password.
func (p Commands) Passwd() *cobra.Command {
	fromStdin := false
	cmd := p.Command("passwd", "Change your own password", command.NoArgs, func(c *manage.Call, _ []string) error {
		if c.Login == nil {
			return command.Usage(c.Cmd, errors.New("a local store has no password of yours; set that of a user with: "+
				"regwarden user password EMAIL"))
		}
		current, next, err := p.passwords(c.Cmd, fromStdin)
		if err != nil {
			return err
		}
		err = c.Client.Users.ChangePassword(c.Ctx, current, next)
		return c.Changed(err, "Changed your password at %s. Your other sessions have ended.", c.Login.Server)
	}, manage.Changes, manage.InAnyOrg)
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the current and the new password from two lines of standard input "+
		"(default: prompt on a terminal)")
	return cmd
}

// passwords prompts for the current and a new password, or reads them from standard input.
func (p Commands) passwords(cmd *cobra.Command, fromStdin bool) (current, next secret.String, err error) {
	stdin := cmd.InOrStdin()
	if command.IsTerminal(stdin) {
		if current, err = command.ReadSecret(stdin, "Current password: "); err != nil {
			return "", "", err
		}
		next, err = command.PromptPassword(stdin, "New password: ", p.PasswordRules)
		return current, next, err
	}
	if !fromStdin {
		return "", "", command.AsUsage(errors.New("give the current and the new password in two lines on standard input, with " +
			"--password-stdin"))
	}
	both, err := command.ReadSecretLine(stdin)
	first, second, two := strings.Cut(both.Reveal(), "\n")
	if err == nil && (!two || second == "") {
		err = command.AsUsage(errors.New("standard input must have two lines: the current and the new password"))
	}
	return secret.String(strings.TrimSuffix(first, "\r")), secret.String(second), err
}

// where names what commands talk to.
func where(login *logins.Context) string {
	if login == nil {
		return "the store of this machine"
	}
	return login.Server
}
