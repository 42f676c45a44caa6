package access

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// SSO returns the commands for the identity provider.
func (p Commands) SSO() *cobra.Command {
	show := p.Command("show", "Show the identity provider, and what to register there", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			s, err := c.Client.SSO.Get(c.Ctx)
			if err != nil {
				return err
			}
			var claims []string
			for _, key := range slices.Sorted(maps.Keys(s.Spec.Claims)) {
				claims = append(claims, key+"="+s.Spec.Claims[key])
			}
			return c.Output.Record(output.Columns("issuer", "clientId", "clientSecret", "name", "scopes", "emailDomains", "emailsVerified",
				"claims", "syncSsoTeams", "defaultTeams", "ca", "disabled", "callbackUrl", "logoutUrl",
				"backChannelLogoutUrl", "lastModified"),
				[]any{s.Spec.Issuer, s.Spec.ClientID, s.Spec.ClientSecret.String(), s.Spec.Name, s.Spec.Scopes, s.Spec.EmailDomains,
					s.Spec.EmailsVerified, claims, s.Spec.SyncSSOTeams, s.Spec.DefaultTeams, s.Spec.CA, s.Spec.Disabled,
					s.Status.CallbackURL, s.Status.LogoutURL, s.Status.BackChannelLogoutURL, s.Status.LastModified})
		}, manage.Lists)
	remove := p.Command("delete", "Delete the identity provider; sessions that began there end", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			err := c.Confirm("Delete the identity provider? Users without a password cannot log in then.")
			if err == nil {
				err = c.Client.SSO.Delete(c.Ctx)
			}
			return c.Changed(err, "Deleted the identity provider.")
		}, manage.Deletes)
	return command.Group("sso", "Manage the identity provider by which users log in", show, p.setSSO(), remove, p.linkUser())
}

// setSSO returns the command that changes what its flags name, and nothing else.
func (p Commands) setSSO() *cobra.Command {
	var given api.SSOSpec
	ca, secretStdin := "", false
	cmd := p.Command("set", "Set the identity provider, or change what the flags name", command.NoArgs,
		func(c *manage.Call, _ []string) error {
			if err := command.NotEmpty(c.Cmd, "email-domain", "default-team"); err != nil {
				return err
			}
			stored, err := c.Client.SSO.Get(c.Ctx)
			if err != nil {
				return err
			}
			spec, flags := stored.Spec, c.Cmd.Flags()
			for name, set := range map[string]func(){
				"issuer": func() { spec.Issuer = given.Issuer }, "client-id": func() { spec.ClientID = given.ClientID },
				"name": func() { spec.Name = given.Name }, "scope": func() { spec.Scopes = given.Scopes },
				"email-domain":    func() { spec.EmailDomains = withoutNone(given.EmailDomains) },
				"emails-verified": func() { spec.EmailsVerified = given.EmailsVerified },
				"sync-teams":      func() { spec.SyncSSOTeams = given.SyncSSOTeams },
				"default-team":    func() { spec.DefaultTeams = withoutNone(given.DefaultTeams) },
				"claim":           func() { spec.Claims = mergeClaims(spec.Claims, given.Claims) },
				"disabled":        func() { spec.Disabled = given.Disabled },
				"ca":              func() { spec.CA, err = logins.ReadCA("--ca", ca) },
			} {
				if flags.Changed(name) {
					set()
				}
			}
			if err == nil && secretStdin {
				spec.ClientSecret, err = command.ReadSecret(c.Cmd.InOrStdin(), "Client secret: ")
			}
			if err == nil {
				err = c.Client.SSO.Set(c.Ctx, spec)
			}
			return c.Changed(err, "Set the identity provider %s. Register there: the callback URL %s, the logout URL %s and for "+
				"back-channel logout %s",
				cmp.Or(spec.Name, spec.Issuer), stored.Status.CallbackURL, stored.Status.LogoutURL, stored.Status.BackChannelLogoutURL)
		}, manage.Changes)
	flags := cmd.Flags()
	flags.StringVar(&given.Issuer, "issuer", "", "URL of the provider, as in the claim iss of its tokens; required at first")
	flags.StringVar(&given.ClientID, "client-id", "", "ID of this service's client at the provider; required at first")
	flags.BoolVar(&secretStdin, "client-secret-stdin", false, "read the secret of the client from standard input")
	flags.StringVar(&given.Name, "name", "", "name of the provider for people (default: the host of the issuer)")
	flags.StringSliceVar(&given.Scopes, "scope", nil,
		"scope to request (default: openid, profile, email, and offline_access if the provider has it); may be repeated")
	flags.StringSliceVar(&given.EmailDomains, "email-domain", nil,
		"domain that the address of a new user must have; may be repeated; none for every domain")
	flags.BoolVar(&given.EmailsVerified, "emails-verified", false, "the provider verifies every address, although its tokens do not say so")
	flags.StringToStringVar(&given.Claims, "claim", nil, "claim to read, as email=mail; of email, firstName, lastName, groups and "+
		"externalId; groups= removes one; may be repeated")
	flags.BoolVar(&given.SyncSSOTeams, "sync-teams", false, "create a team, without roles, for each group of a login that has none")
	flags.StringSliceVar(&given.DefaultTeams, "default-team", nil,
		"team of users whose groups have no team; may be repeated; none for no team")
	flags.StringVar(&ca, "ca", "", "file of CA certificates (PEM) to trust for the provider in addition to the system's")
	flags.BoolVar(&given.Disabled, "disabled", false, "allow no login by the provider")
	return cmd
}

// mergeClaims returns the stored claims with those that are given. A given claim without a value is removed.
func mergeClaims(stored, given map[string]string) map[string]string {
	merged := map[string]string{}
	maps.Copy(merged, stored)
	maps.Copy(merged, given)
	maps.DeleteFunc(merged, func(_, claim string) bool { return claim == "" })
	return merged
}

// linkUser returns the command that lets an existing user log in by the provider.
func (p Commands) linkUser() *cobra.Command {
	subject, remove := "", false
	cmd := p.Command("link EMAIL", "Store who an existing user is at the identity provider", command.OneArg,
		func(c *manage.Call, args []string) error {
			if (subject == "") == !remove {
				return command.AsUsage(errors.New("give one of --subject and --remove"))
			}
			err := c.Client.SSO.Link(c.Ctx, args[0], subject)
			if remove {
				return c.Changed(err, "%s cannot log in by the identity provider any more.", args[0])
			}
			return c.Changed(err, "%s logs in by the identity provider as %q.", args[0], subject)
		}, manage.Changes)
	cmd.Flags().StringVar(&subject, "subject", "", "claim sub of the user, which the audit record of its refused login has as the actor")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove what is stored")
	return cmd
}
