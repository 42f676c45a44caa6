package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/command"
	"github.com/regwarden/regwarden/internal/flagvalue"
)

func newAPIKey() *cobra.Command {
	var org, email, name string
	var expires time.Duration
	create := adminCommand("create --org ORG --email E", "Create an API key for a user; print it this one time", command.NoArgs, false, func(a *admin, _ []string) error {
		_, key, err := a.auth.CreateAPIKey(a.ctx, a.operator, a.origin, auth.NewAPIKey{
			Org: org, User: email, Name: name, ExpiresAt: time.Now().Add(expires),
		})
		return a.print(key.Reveal(), err)
	})
	create.Flags().StringVar(&email, "email", "", "email of the user that the key acts for")
	create.Flags().StringVar(&name, "name", "cli", "name of the key")
	flagvalue.Duration(create.Flags(), &expires, "expires", 30*flagvalue.Day, time.Second, flagvalue.Longest, "", "lifetime of the key")
	list := adminCommand("list --org ORG", "List the API keys of an organization", command.NoArgs, true, func(a *admin, _ []string) error {
		keys, err := allPages(func(after auth.APIKey) ([]auth.APIKey, bool, error) {
			return a.auth.ListAPIKeys(a.ctx, a.operator, org, after)
		})
		if err != nil {
			return err
		}
		rows := make([][]any, len(keys))
		for i, k := range keys {
			rows[i] = []any{k.UID, k.Name, k.Email, stateOf(k, time.Now()), k.ExpiresAt, k.LastUsedAt}
		}
		return a.table([]string{"uid", "name", "email", "state", "expires", "lastUsed"}, rows)
	})
	revoke := adminCommand("revoke UID", "Deactivate an API key", command.OneArg, false, func(a *admin, args []string) error {
		return a.auth.RevokeAPIKey(a.ctx, a.operator, a.origin, args[0])
	})
	orgFlag(&org, create, list)
	return command.Group("apikey", "Manage API keys", create, list, revoke)
}

func stateOf(k auth.APIKey, now time.Time) string {
	switch {
	case !k.Active:
		return "inactive"
	case !now.Before(k.ExpiresAt):
		return "expired"
	default:
		return "active"
	}
}
