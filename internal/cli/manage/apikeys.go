package manage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
)

// APIKey returns the commands for API keys.
func (p Program) APIKey() *cobra.Command {
	return command.Group("apikey", "Manage API keys", p.createAPIKey(), p.listAPIKeys(), p.revokeAPIKey(),
		p.changeAPIKey("deactivate", "Deactivate an API key", "Deactivated", changes, func(c *call, uid string) error {
			return c.client.APIKeys.SetActive(c.ctx, uid, false)
		}),
		p.changeAPIKey("activate", "Activate a deactivated API key", "Activated", changes, func(c *call, uid string) error {
			return c.client.APIKeys.SetActive(c.ctx, uid, true)
		}),
		p.changeAPIKey("delete", "Delete an API key", "Deleted", deletes, func(c *call, uid string) error {
			return c.client.APIKeys.Delete(c.ctx, uid)
		}))
}

func (p Program) createAPIKey() *cobra.Command {
	var key api.APIKeyRequest
	var expires time.Duration
	cmd := p.command("create --email E", "Create an API key for a user; print it this one time", command.NoArgs, func(c *call, _ []string) error {
		expiry := time.Now().Add(expires)
		key.Spec.Expiry = expiry.Format(time.RFC3339Nano) // it may be a second from now
		created, err := c.client.APIKeys.Create(c.ctx, key)
		if err != nil {
			return err
		}
		c.changed("Created the API key %s, which expires on %s.", key.Metadata.Name, expiry.UTC().Format(time.DateOnly))
		_, err = fmt.Fprintln(c.cmd.OutOrStdout(), Shown(created.APIKey)) // also with --quiet: it is not shown again
		return err
	}, changes)
	cmd.Flags().StringVar(&key.Spec.UserUID, "email", "", "email or uid of the user that the key acts for (default: yourself; required on a local store)")
	cmd.Flags().StringVar(&key.Metadata.Name, "name", "cli", "name of the key")
	flagvalue.Duration(cmd.Flags(), &expires, "expires", 30*flagvalue.Day, time.Second, flagvalue.Longest, "", "lifetime of the key")
	p.completeEmail(cmd, "email")
	return cmd
}

func (p Program) listAPIKeys() *cobra.Command {
	return p.command("list", "List API keys", command.NoArgs, func(c *call, _ []string) error {
		keys, err := client.Collect(c.client.APIKeys.List(c.ctx))
		slices.SortStableFunc(keys, func(a, b api.APIKey) int { return strings.Compare(a.Spec.User.EmailID, b.Spec.User.EmailID) }) // the keys of a user are sorted
		rows := make([][]any, len(keys))
		for i, k := range keys {
			rows[i] = []any{k.Metadata.UID, k.Metadata.Name, k.Spec.Prefix, k.Spec.User.EmailID, keyState(k, time.Now()), k.Spec.Expiry, k.Status.LastUsed}
		}
		return c.list(err, columns("uid+", "name", "prefix", "email", "state", "expires", "lastUsed"), rows)
	}, lists)
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
func (p Program) changeAPIKey(name, short, done string, kind option, do func(c *call, uid string) error) *cobra.Command {
	email := ""
	cmd := p.command(name+" NAME", short, keyArg, func(c *call, args []string) error {
		return c.changeAPIKey(args[0], email, done, do)
	}, kind, inAnyOrgByUID)
	p.keyFlags(cmd, &email)
	return cmd
}

func (p Program) keyFlags(cmd *cobra.Command, email *string) {
	cmd.Flags().StringVar(email, "email", "", "email of the user of the key, where several have one with this name")
	p.completeEmail(cmd, "email")
	cmd.ValidArgsFunction = p.completeNames(keyNames)
}

func (c *call) changeAPIKey(ref, email, done string, do func(c *call, uid string) error) error {
	key, err := c.findAPIKey(ref, email)
	if err != nil {
		return err
	}
	if c.deletes {
		verb, _, _ := strings.Cut(c.cmd.Use, " ")
		verb = strings.ToUpper(verb[:1]) + verb[1:]
		if err := c.confirm("%s the API key %s of %s?", verb, key.Metadata.Name, key.Spec.User.EmailID); err != nil {
			return err
		}
	}
	if err := do(c, key.Metadata.UID); err != nil {
		return err
	}
	c.changed("%s the API key %s of %s.", done, key.Metadata.Name, key.Spec.User.EmailID)
	return nil
}

// revokeAPIKey returns the command that ends a key, also one of which only the key itself is known. For that it needs no login.
func (p Program) revokeAPIKey() *cobra.Command {
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
	cmd := p.command("revoke NAME", "Deactivate an API key that must not be used", args, func(c *call, args []string) error {
		switch {
		case fromStdin && len(args) > 0:
			return command.Usage(c.cmd, errors.New("--key-stdin cannot be combined with NAME"))
		case fromStdin:
			return c.revokeKeyOfStdin()
		}
		return c.changeAPIKey(args[0], email, "Revoked", func(c *call, uid string) error { return c.client.APIKeys.SetActive(c.ctx, uid, false) })
	}, deletes, inAnyOrgByUID, func(_ *call, t *target) { t.public = &fromStdin })
	p.keyFlags(cmd, &email)
	cmd.Flags().BoolVar(&fromStdin, "key-stdin", false, "read the key itself from standard input, in place of NAME")
	return cmd
}

func (c *call) revokeKeyOfStdin() error {
	key, err := command.ReadSecret(c.cmd.InOrStdin(), "API key: ")
	if err != nil {
		return err
	}
	if err := c.confirm("Revoke this API key?"); err != nil {
		return err
	}
	if err := c.client.APIKeys.Revoke(c.ctx, key); err != nil {
		return err
	}
	c.changed("The API key is revoked, if it is a key of this service.")
	return nil
}

// inAnyOrgByUID is the option of commands that on the local store need an organization only for a name.
func inAnyOrgByUID(_ *call, t *target) {
	t.anyOrg = func(args []string) bool { return len(args) == 0 || isUID(args[0]) }
}

func isUID(text string) bool {
	return uuid.Validate(text) == nil && len(text) == len(uuid.Nil.String())
}

// keyPrefix is the begin of every API key.
const keyPrefix = "rwk_"

// keyArg requires a name or uid, and refuses a key.
func keyArg(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if strings.HasPrefix(arg, keyPrefix) {
			return command.Usage(cmd, errors.New("an API key must not be an argument, where other users of this machine and the history of the shell show it;"+
				" give it on standard input, with: regwarden apikey revoke --key-stdin"))
		}
	}
	return command.OneArg(cmd, args)
}

func keyNames(c *call) ([]string, error) {
	return namesOf(c.client.APIKeys.List(c.ctx), func(k api.APIKey) string { return k.Metadata.Name })
}

// findAPIKey returns the key with this uid, or with this name. Names are unique among the keys of one user.
func (c *call) findAPIKey(ref, email string) (*api.APIKey, error) {
	if isUID(ref) {
		return c.client.APIKeys.Get(c.ctx, ref)
	}
	var found []api.APIKey
	for key, err := range c.client.APIKeys.List(c.ctx) {
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(key.Metadata.Name, strings.TrimSpace(ref)) && (email == "" || strings.EqualFold(key.Spec.User.EmailID, email)) {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("API key %q not found", ref)
	case 1:
		return &found[0], nil
	}
	return nil, command.Usage(c.cmd, fmt.Errorf("%d users have an API key %q; name the user with --email, or give the uid", len(found), ref))
}
