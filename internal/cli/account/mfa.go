package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/qrcode"
	"github.com/regwarden/regwarden/secret"
)

// MFA returns the commands for the own second factor, and for what the organization requires.
func (p Commands) MFA() *cobra.Command {
	status := p.Command("status", "Show the state of your second factor", command.NoArgs, func(c *manage.Call, _ []string) error {
		if err := requireServer(c); err != nil {
			return err
		}
		s, err := c.Client.MFA.Status(c.Ctx)
		if err != nil {
			return err
		}
		return c.Output.Record(output.Columns("active", "required", "activeSince+", "recoveryCodesLeft"),
			[]any{s.IsActive, s.IsRequired, s.ActiveSince, s.RecoveryCodesLeft})
	}, manage.Lists, manage.InAnyOrg)
	confirm := p.Command("confirm", "Confirm your second factor with a code", command.NoArgs, func(c *manage.Call, _ []string) error {
		if err := requireServer(c); err != nil {
			return err
		}
		code, err := command.ReadSecret(c.Cmd.InOrStdin(), "Code: ")
		if err != nil {
			return err
		}
		return confirmFactor(c, code)
	}, manage.Changes, manage.InAnyOrg)
	return command.Group("mfa", "Manage your second factor", status, p.enroll(), confirm,
		p.proved("remove", "Remove your second factor", func(c *manage.Call, password, code secret.String) error {
			err := c.Client.MFA.Remove(c.Ctx, password, code)
			return c.Changed(err, "Removed your second factor. Logins ask for the password alone.")
		}),
		p.proved("recovery-codes", "Replace your recovery codes; print the new ones once",
			func(c *manage.Call, password, code secret.String) error {
				codes, err := c.Client.MFA.RenewCodes(c.Ctx, password, code)
				if err != nil {
					return err
				}
				c.Note("The former recovery codes are no longer valid.")
				return printCodes(c.Cmd, codes)
			}), p.require())
}

func (p Commands) enroll() *cobra.Command {
	fromStdin := false
	cmd := p.Command("enroll", "Add a second factor", command.NoArgs, func(c *manage.Call, _ []string) error {
		if err := requireServer(c); err != nil {
			return err
		}
		stdin := c.Cmd.InOrStdin()
		if !command.IsTerminal(stdin) && !fromStdin {
			return command.AsUsage(errors.New("give the password on standard input, with --password-stdin"))
		}
		password, err := command.ReadSecret(stdin, "Password: ")
		if err != nil {
			return err
		}
		enrollment, err := c.Client.MFA.Enroll(c.Ctx, password)
		if err != nil {
			return err
		}
		if !command.IsTerminal(stdin) {
			c.Note("Add this to an app. It counts after: regwarden mfa confirm")
			_, err = fmt.Fprintln(c.Cmd.OutOrStdout(), output.Shown(enrollment.URI))
			return err
		}
		if err := showEnrollment(c.Cmd, enrollment); err != nil {
			return err
		}
		code, err := command.Prompt(stdin, "Code: ")
		if err != nil {
			return err
		}
		return confirmFactor(c, secret.String(code))
	}, manage.Changes, manage.InAnyOrg)
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input, and print the URI of the "+
		"second factor (default: prompt on a terminal, and show a QR code)")
	return cmd
}

// showEnrollment shows a second factor to a person at a terminal.
func showEnrollment(cmd *cobra.Command, enrollment *api.MFAEnrollment) error {
	drawn, err := qrcode.New(enrollment.URI)
	if err != nil {
		return err
	}
	out := cmd.ErrOrStderr()
	if command.IsTerminal(out) {
		fmt.Fprint(out, drawn.Blocks())
	}
	_, err = fmt.Fprintf(out, "Scan this with an authenticator app, or type the key: %s\n", output.Shown(enrollment.Secret))
	return err
}

func confirmFactor(c *manage.Call, code secret.String) error {
	codes, err := c.Client.MFA.Confirm(c.Ctx, code)
	if err != nil {
		return err
	}
	c.Note("Logins ask for a code from now on.")
	return printCodes(c.Cmd, codes)
}

// printCodes prints recovery codes, which the server does not show again.
func printCodes(cmd *cobra.Command, codes []string) error {
	fmt.Fprintln(cmd.ErrOrStderr(), "Store these recovery codes in a safe place. Each replaces a code once, such as when you lose the app:")
	shown := make([]string, len(codes))
	for i, code := range codes {
		shown[i] = output.Shown(code)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(shown, "\n"))
	return err
}

// proved returns a command that requires the password and a code.
func (p Commands) proved(name, short string, do func(c *manage.Call, password, code secret.String) error) *cobra.Command {
	fromStdin := false
	cmd := p.Command(name, short, command.NoArgs, func(c *manage.Call, _ []string) error {
		if err := requireServer(c); err != nil {
			return err
		}
		password, code, err := passwordAndCode(c.Cmd, fromStdin)
		if err != nil {
			return err
		}
		return do(c, password, code)
	}, manage.Changes, manage.InAnyOrg)
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password and a code from two lines of standard input "+
		"(default: prompt on a terminal)")
	return cmd
}

func passwordAndCode(cmd *cobra.Command, fromStdin bool) (password, code secret.String, err error) {
	stdin := cmd.InOrStdin()
	if command.IsTerminal(stdin) {
		if password, err = command.ReadSecret(stdin, "Password: "); err != nil {
			return "", "", err
		}
		text, err := command.Prompt(stdin, "Code: ")
		return password, secret.String(text), err
	}
	if !fromStdin {
		return "", "", command.AsUsage(errors.New("give the password and a code in two lines on standard input, with --password-stdin"))
	}
	both, err := command.ReadSecretLine(stdin)
	if err != nil {
		return "", "", err
	}
	return splitCode(both)
}

// splitCode splits a password and the code in the line after it.
func splitCode(both secret.String) (password, code secret.String, err error) {
	first, second, two := strings.Cut(both.Reveal(), "\n")
	if !two || second == "" {
		return "", "", command.AsUsage(errors.New("standard input must have two lines: the password and a code"))
	}
	return secret.String(strings.TrimSuffix(first, "\r")), secret.String(second), nil
}

func (p Commands) require() *cobra.Command {
	off := false
	cmd := p.Command("require", "Require a second factor of users who log in with a password", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			me, err := c.Client.Whoami(c.Ctx)
			if err == nil {
				err = c.Client.MFA.Require(c.Ctx, me.TenantUID, !off)
			}
			switch {
			case err != nil:
				return err
			case off:
				c.Note("The organization %s requires no second factor. Users who have one are still asked for a code.", me.OrgName)
			default:
				c.Note("The organization %s requires a second factor. Users without one add it at their next login with a password; "+
					"sessions go on.", me.OrgName)
			}
			return nil
		}, manage.Changes)
	cmd.Flags().BoolVar(&off, "off", false, "require none")
	return cmd
}

// askForCode returns what asks for the code of a login: on a terminal, or of the second line of standard input.
func (l *login) askForCode() func(context.Context, client.Challenge) (secret.String, error) {
	return func(_ context.Context, c client.Challenge) (secret.String, error) {
		stdin := l.Cmd.InOrStdin()
		switch {
		case l.code != "" && c.Refused != nil:
			return "", c.Refused
		case l.code != "" && c.Enrollment == nil:
			return l.code, nil
		case c.Enrollment != nil && (l.code != "" || !command.IsTerminal(stdin)):
			return "", errors.New("your organization requires a second factor, and you have none: log in on a terminal or in the " +
				"console to add it")
		case !command.IsTerminal(stdin):
			return "", errors.New("you have a second factor: give a code on a second line of standard input, with --code-stdin; " +
				"pipelines use an API key")
		case c.Refused != nil:
			fmt.Fprintln(l.Cmd.ErrOrStderr(), output.Shown(c.Refused.Error()))
		case c.Enrollment != nil:
			fmt.Fprintln(l.Cmd.ErrOrStderr(), "Your organization requires a second factor.")
			if err := showEnrollment(l.Cmd, c.Enrollment); err != nil {
				return "", err
			}
		}
		code, err := command.Prompt(stdin, "Code: ")
		return secret.String(code), err
	}
}
