package access

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// passwordPolicy returns the commands for what an organization requires of passwords.
func (p Commands) passwordPolicy() *cobra.Command {
	show := p.Command("show", "Show what passwords must have", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			_, policy, err := readPolicy(c)
			if err != nil {
				return err
			}
			return c.Output.Record(output.Columns("minLength", "maxLength", "minDigits", "minLowercase", "minUppercase", "minSpecial",
				"regex", "expiresAfterDays"), []any{policy.MinLength, policy.MaxLength, policy.MinDigits, policy.MinSmallLetters,
				policy.MinBlockLetters, policy.MinSpecialCharacters, policy.Regex, policy.ExpiryDurationInDays})
		}, manage.Lists)
	return command.Group("password-policy", "Manage what passwords of an organization must have", show, p.setPasswordPolicy())
}

func readPolicy(c *manage.Call) (org string, policy *api.TenantPasswordPolicy, err error) {
	info, err := c.Client.Whoami(c.Ctx)
	if err != nil {
		return "", nil, err
	}
	policy, err = c.Client.Tenants.PasswordPolicy(c.Ctx, info.TenantUID)
	return info.TenantUID, policy, err
}

// setPasswordPolicy returns the command that changes what its flags name.
func (p Commands) setPasswordPolicy() *cobra.Command {
	var given api.TenantPasswordPolicy
	cmd := p.Command("set", "Change what passwords must have, from now on", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			if !slices.ContainsFunc(policyFlags, c.Cmd.Flags().Changed) {
				return command.Usage(c.Cmd, errors.New("give what changes, such as --min-length"))
			}
			org, policy, err := readPolicy(c)
			if err != nil {
				return err
			}
			changePolicy(c.Cmd.Flags(), policy, given)
			err = c.Client.Tenants.SetPasswordPolicy(c.Ctx, org, *policy)
			return c.Changed(err, "Set the password policy.")
		}, manage.Changes)
	flags := cmd.Flags()
	flags.IntVar(&given.MinLength, "min-length", 0, "smallest number of characters; 0 for the 15 that every password has")
	flags.IntVar(&given.MaxLength, "max-length", 0, "largest number of characters; 0 for no other limit than that of all passwords")
	flags.IntVar(&given.MinDigits, "min-digits", 0, "smallest number of digits")
	flags.IntVar(&given.MinSmallLetters, "min-lowercase", 0, "smallest number of lowercase letters")
	flags.IntVar(&given.MinBlockLetters, "min-uppercase", 0, "smallest number of uppercase letters")
	flags.IntVar(&given.MinSpecialCharacters, "min-special", 0, "smallest number of characters that are neither letters nor digits")
	flags.StringVar(&given.Regex, "regex", "",
		"regular expression (RE2) that a password must match, in place of these numbers; empty for none")
	flags.IntVar(&given.ExpiryDurationInDays, "expires-after-days", 0, "days after which a password must be replaced; 0 for never")
	return cmd
}

var policyFlags = []string{"min-length", "max-length", "min-digits", "min-lowercase", "min-uppercase", "min-special", "regex",
	"expires-after-days"}

// changePolicy sets what flags name.
func changePolicy(flags *pflag.FlagSet, policy *api.TenantPasswordPolicy, given api.TenantPasswordPolicy) {
	for flag, set := range map[string]func(){
		"min-length":         func() { policy.MinLength = given.MinLength },
		"max-length":         func() { policy.MaxLength = given.MaxLength },
		"min-digits":         func() { policy.MinDigits = given.MinDigits },
		"min-lowercase":      func() { policy.MinSmallLetters = given.MinSmallLetters },
		"min-uppercase":      func() { policy.MinBlockLetters = given.MinBlockLetters },
		"min-special":        func() { policy.MinSpecialCharacters = given.MinSpecialCharacters },
		"regex":              func() { policy.Regex, policy.IsRegex = given.Regex, given.Regex != "" },
		"expires-after-days": func() { policy.ExpiryDurationInDays = given.ExpiryDurationInDays },
	} {
		if flags.Changed(flag) {
			set()
		}
	}
}
