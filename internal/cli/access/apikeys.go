package access

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// APIKey returns the commands for API keys.
func (p Commands) APIKey() *cobra.Command {
	return command.Group("apikey", "Manage API keys", p.createAPIKey(), p.listAPIKeys(), p.rotateAPIKey(), p.revokeAPIKey(),
		p.changeAPIKey("deactivate", "Deactivate an API key", "Deactivated", manage.Changes, deactivate),
		p.changeAPIKey("activate", "Activate a deactivated API key", "Activated", manage.Changes, func(c *manage.Call, uid string) error {
			return c.Client.APIKeys.SetActive(c.Ctx, uid, true)
		}),
		p.changeAPIKey("delete", "Delete an API key", "Deleted", manage.Deletes, func(c *manage.Call, uid string) error {
			return c.Client.APIKeys.Delete(c.Ctx, uid)
		}))
}

func deactivate(c *manage.Call, uid string) error {
	return c.Client.APIKeys.SetActive(c.Ctx, uid, false)
}

func (p Commands) createAPIKey() *cobra.Command {
	var key api.APIKeyRequest
	var expires time.Duration
	project := ""
	cmd := p.Command("create [NAME]", "Create an API key for a user; print it this one time", newKeyArg,
		func(c *manage.Call, args []string) error {
			key.Metadata.Name = cmp.Or(strings.Join(args, ""), key.Metadata.Name)
			expiry := time.Now().Add(expires)
			key.Spec.Expiry = expiry.Format(time.RFC3339Nano) // it may be a second from now
			if project != "" {
				found, err := c.Client.Projects.Find(c.Ctx, project)
				if err != nil {
					return err
				}
				key.Spec.ProjectUID = found.Metadata.UID
			}
			created, err := c.Client.APIKeys.Create(c.Ctx, key)
			if err != nil {
				return nameTaken(err, key.Metadata.Name)
			}
			c.Note("Created the API key %s, which expires on %s.", key.Metadata.Name, expiry.UTC().Format(time.DateOnly))
			_, err = fmt.Fprintln(c.Cmd.OutOrStdout(), shownKey(c, created.APIKey, key.Spec.Scope)) // also with --quiet: it is shown once
			return err
		}, manage.Changes)
	cmd.Flags().StringVar(&key.Spec.UserUID, "email", "", "email or uid of the user that the key acts for (default: yourself; "+
		"required on a local store)")
	cmd.Flags().StringVar(&key.Metadata.Name, "name", "cli", "the same as NAME")
	flagvalue.Duration(cmd.Flags(), &expires, "expires", 30*flagvalue.Day, time.Second, flagvalue.Longest, "", "lifetime of the key")
	cmd.Flags().StringVar(&key.Spec.Scope, "scope", "", "what the key may do of what its user may: "+strings.Join(keyScopes, ", ")+
		" (default: all)")
	cmd.Flags().StringVar(&project, "project", "", "name of the project to which the key is limited (default: none)")
	p.CompleteEmail(cmd, "email")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(keyScopes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// newKeyArg allows a name in place of --name, and refuses limits without a value.
func newKeyArg(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.Flags().Changed("name") {
		return command.Usage(cmd, errors.New("give NAME or --name, not both"))
	}
	if err := command.NotEmpty(cmd, "email", "scope", "project"); err != nil {
		return err
	}
	return command.AtMostOneArg(cmd, args)
}

// keyScopes are the scopes of keys.
var keyScopes = []string{"all", "read", "check", "registries", "provision", scopeCalendar}

const scopeCalendar = "calendar"

// shownKey returns what the user of a new key needs: the key, or for a calendar the URL that contains it. Of a local store the address is
// not known, and the URL begins with its path.
func shownKey(c *manage.Call, key, scope string) string {
	if scope != scopeCalendar {
		return output.Shown(key)
	}
	server := ""
	if c.Login != nil {
		server = strings.TrimSuffix(c.Login.Server, "/")
	}
	return output.Shown(server + api.ExpiryCalendar(key))
}

// codeKeyExists is the code of a key whose name is taken.
const codeKeyExists = "ApiKeyAlreadyExists"

// nameTaken adds to the error of a key with the name of another one what to do.
func nameTaken(err error, name string) error {
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Code == codeKeyExists {
		quoted := command.ShellQuote(name)
		return fmt.Errorf("the user already has an API key with the name %s; give another one, as in: regwarden apikey create NAME\n"+
			"To replace that key: regwarden apikey rotate %s", quoted, quoted)
	}
	return err
}

func (p Commands) listAPIKeys() *cobra.Command {
	return p.Command("list", "List API keys", command.NoArgs, func(c *manage.Call, _ []string) error {
		keys, err := client.Collect(c.Client.APIKeys.List(c.Ctx))
		// the keys of a user are sorted
		slices.SortStableFunc(keys, func(a, b api.APIKey) int { return strings.Compare(a.Spec.User.EmailID, b.Spec.User.EmailID) })
		rows := make([][]any, len(keys))
		for i, k := range keys {
			rows[i] = []any{k.Metadata.UID, k.Metadata.Name, k.Spec.Prefix, k.Spec.User.EmailID, keyState(k, time.Now()), k.Spec.Scope,
				k.Spec.ProjectUID, k.Spec.Expiry, k.Status.LastUsed}
		}
		return c.List(err, output.Columns("uid+", "name*", "prefix", "email", "state", "scope", "project+", "expires", "lastUsed"), rows)
	}, manage.Lists)
}

func keyState(k api.APIKey, now time.Time) string {
	switch {
	case !k.Status.IsActive:
		return "inactive"
	case !now.Before(k.Spec.Expiry):
		return "expired"
	default:
		return "active"
	}
}

// changeAPIKey returns a command that changes the key of its argument and prints what was done to it.
func (p Commands) changeAPIKey(name, short, done string, kind manage.Option, do func(c *manage.Call, uid string) error) *cobra.Command {
	email := ""
	cmd := p.Command(name+" NAME", short, keyArg, func(c *manage.Call, args []string) error {
		return changeAPIKey(c, args[0], email, done, do)
	}, kind, manage.InAnyOrgByUID)
	p.keyFlags(cmd, &email)
	return cmd
}

func (p Commands) keyFlags(cmd *cobra.Command, email *string) {
	cmd.Flags().StringVar(email, "email", "", "email of the user of the key, where several have one with this name")
	p.CompleteEmail(cmd, "email")
	cmd.ValidArgsFunction = p.CompleteNames(keyNames)
}

func changeAPIKey(c *manage.Call, ref, email, done string, do func(c *manage.Call, uid string) error) error {
	key, err := findAPIKey(c, ref, email)
	if err != nil {
		return err
	}
	if c.Asks {
		verb, _, _ := strings.Cut(c.Cmd.Use, " ")
		verb = strings.ToUpper(verb[:1]) + verb[1:]
		if err := c.Confirm("%s the API key %s of %s?", verb, key.Metadata.Name, key.Spec.User.EmailID); err != nil {
			return err
		}
	}
	err = do(c, key.Metadata.UID)
	return c.Changed(err, "%s the API key %s of %s.", done, key.Metadata.Name, key.Spec.User.EmailID)
}

// revokeAPIKey returns the command that ends a key, also one of which only the key itself is known. For that it needs no login.
func (p Commands) revokeAPIKey() *cobra.Command {
	email, fromStdin := "", false
	args := func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return keyArg(cmd, args)
		case fromStdin:
			return nil
		}
		return command.Usage(cmd, errors.New("apikey revoke requires NAME, or the key itself with --key-stdin"))
	}
	cmd := p.Command("revoke NAME", "Deactivate an API key that must not be used", args, func(c *manage.Call, args []string) error {
		switch {
		case fromStdin && len(args) > 0:
			return command.Usage(c.Cmd, errors.New("--key-stdin cannot be combined with NAME"))
		case fromStdin:
			return revokeKeyOfStdin(c)
		}
		return changeAPIKey(c, args[0], email, "Revoked", deactivate)
	}, manage.Deletes, manage.InAnyOrgByUID, manage.Public(&fromStdin))
	p.keyFlags(cmd, &email)
	cmd.Flags().BoolVar(&fromStdin, "key-stdin", false, "read the key itself from standard input, in place of NAME")
	return cmd
}

func revokeKeyOfStdin(c *manage.Call) error {
	key, err := command.ReadSecret(c.Cmd.InOrStdin(), "API key: ")
	if err != nil {
		return err
	}
	if err := c.Confirm("Revoke this API key?"); err != nil {
		return err
	}
	err = c.Client.APIKeys.Revoke(c.Ctx, key)
	return c.Changed(err, "The API key is revoked, if it is a key of this service.")
}

// keyPrefixes are the begins of API keys, those of calendars being the second.
var keyPrefixes = []string{"rwk_", "rwl_"}

// keyArg requires a name or uid, and refuses a key.
func keyArg(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if slices.ContainsFunc(keyPrefixes, func(prefix string) bool { return strings.HasPrefix(arg, prefix) }) {
			return command.Usage(cmd, errors.New("an API key must not be an argument, where other users of this machine and the "+
				"history of the shell show it;"+
				" give it on standard input, with: regwarden apikey revoke --key-stdin"))
		}
	}
	if err := command.NotEmpty(cmd, "email"); err != nil {
		return err
	}
	return command.OneArg(cmd, args)
}

func keyNames(c *manage.Call) ([]string, error) {
	return manage.NamesOf(c.Client.APIKeys.List(c.Ctx), func(k api.APIKey) string { return k.Metadata.Name })
}

// findAPIKey returns the key with this uid, or with this name. Names are unique among the keys of one user.
func findAPIKey(c *manage.Call, ref, email string) (*api.APIKey, error) {
	if manage.IsUID(ref) {
		return c.Client.APIKeys.Get(c.Ctx, ref)
	}
	var found []api.APIKey
	for key, err := range c.Client.APIKeys.List(c.Ctx) {
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(key.Metadata.Name, strings.TrimSpace(ref)) &&
			(email == "" || strings.EqualFold(key.Spec.User.EmailID, email)) {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("API key %q not found", ref)
	case 1:
		return &found[0], nil
	}
	return nil, command.Usage(c.Cmd, fmt.Errorf("%d users have an API key %q; name the user with --email, or give the uid", len(found),
		ref))
}
