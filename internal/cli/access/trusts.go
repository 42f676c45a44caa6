package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Trust returns the commands for trust rules.
func (p Commands) Trust() *cobra.Command {
	list := p.Command("list", "List trust rules", command.NoArgs, func(c *manage.Call, _ []string) error {
		rules, err := c.Client.Trusts.List(c.Ctx)
		rows, named := make([][]any, len(rules)), roleNamer(c)
		for i, r := range rules {
			role := roleOf(named(strings.Fields(r.Spec.Role)))
			rows[i] = []any{r.Metadata.Name, r.Spec.Issuer, claims(r), role, r.Status.LastUsed, r.Metadata.UID}
		}
		return c.List(err, output.Columns("name*", "issuer", "claims", "role", "lastUsed", "uid+"), rows)
	}, manage.Lists)
	show := p.Command("show NAME", "Show a trust rule", command.OneArg, func(c *manage.Call, args []string) error {
		uid, err := findTrust(c, args[0])
		if err != nil {
			return err
		}
		r, err := c.Client.Trusts.Get(c.Ctx, uid)
		if err != nil {
			return err
		}
		return c.Output.Record(output.Columns("name", "issuer", "audience", "claims", "role", "projects", "reusable", "ca", "jwks",
			"created", "lastUsed", "uid"), []any{r.Metadata.Name, r.Spec.Issuer, r.Spec.Audience, claims(*r),
			roleOf(roleNamer(c)(strings.Fields(r.Spec.Role))), r.Spec.Projects, r.Spec.Reusable, r.Spec.CA, r.Spec.JWKS,
			r.Metadata.CreationTimestamp, r.Status.LastUsed, uid})
	}, manage.Lists)
	remove := p.Command("delete NAME", "Delete a trust rule; tokens that it issued end", command.OneArg,
		func(c *manage.Call, args []string) error {
			uid, err := findTrust(c, args[0])
			if err == nil {
				err = c.Confirm("Delete the trust rule %s?", args[0])
			}
			if err == nil {
				err = c.Client.Trusts.Delete(c.Ctx, uid)
			}
			return c.Changed(err, "Deleted the trust rule %s.", args[0])
		}, manage.Deletes)
	for _, cmd := range []*cobra.Command{show, remove} {
		cmd.ValidArgsFunction = p.CompleteNames(trustNames)
	}
	return command.Group("trust", "Manage which pipelines may log in without a stored key", p.createTrust(), list, show, remove)
}

// claims returns the conditions of a rule, such as repository=acme/app.
func claims(r api.TrustRule) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Spec.Claims)) {
		list = append(list, name+"="+r.Spec.Claims[name])
	}
	return list
}

func (p Commands) createTrust() *cobra.Command {
	var rule api.TrustRuleRequest
	ca, jwks := "", ""
	cmd := p.Command("create NAME", "Accept tokens of an issuer; print the uid of the rule", command.OneArg,
		func(c *manage.Call, args []string) (err error) {
			if err := command.NotEmpty(c.Cmd, "role"); err != nil {
				return err
			}
			rule.Metadata.Name = args[0]
			if rule.Spec.CA, err = logins.ReadCA("--ca", ca); err != nil {
				return err
			}
			if jwks != "" {
				text, err := command.ReadFlagFile("jwks", jwks)
				if err != nil {
					return command.AsUsage(err)
				}
				rule.Spec.JWKS = string(text)
			}
			if rule.Spec.Audience == "" && c.Login != nil {
				rule.Spec.Audience = c.Login.Server
			}
			rule.Spec.Role = strings.Join(roleUIDs(c, []string{rule.Spec.Role}), " ")
			uid, err := c.Client.Trusts.Create(c.Ctx, rule)
			return c.Created(err, uid, "Created the trust rule %s: a token needs the audience %s.", args[0], rule.Spec.Audience)
		}, manage.Changes)
	flags := cmd.Flags()
	flags.StringVar(&rule.Spec.Issuer, "issuer", "", "URL of the issuer, as in the claim iss of its tokens; required")
	flags.StringToStringVar(&rule.Spec.Claims, "claim", nil, "required claim, as `name=value`, such as repository=acme/app; a value that "+
		"ends in /* or :* is a prefix; may be repeated")
	flags.StringVar(&rule.Spec.Audience, "audience", "", "required audience of the tokens (default: the URL of the server)")
	flags.StringVar(&rule.Spec.Role, "role", "member", "role of who presents a token: "+roleNames)
	projectFlag(cmd, &rule.Spec.Projects)
	flags.StringVar(&ca, "ca", "", "file of CA certificates (PEM) to trust for the issuer in addition to the system's")
	flags.StringVar(&jwks, "jwks", "", "file of the issuer's keys (JSON Web Key Set), where the server cannot reach the issuer")
	flags.BoolVar(&rule.Spec.Reusable, "reusable", false, "accept a token more than once, as pipelines of GitLab and pods present it")
	return cmd
}

func trustNames(c *manage.Call) (names []string, err error) {
	rules, err := c.Client.Trusts.List(c.Ctx)
	for _, rule := range rules {
		names = append(names, rule.Metadata.Name)
	}
	return names, err
}

// findTrust returns the uid of the rule with this uid or name.
func findTrust(c *manage.Call, ref string) (string, error) {
	rules, err := c.Client.Trusts.List(c.Ctx)
	if err != nil {
		return "", err
	}
	if i := manage.IndexOf(rules, ref, func(r api.TrustRule) (uid, name string) { return r.Metadata.UID, r.Metadata.Name }); i >= 0 {
		return rules[i].Metadata.UID, nil
	}
	return "", fmt.Errorf("trust rule %q not found", ref)
}
