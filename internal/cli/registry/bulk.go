package registry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/labelchange"
	"github.com/regwarden/regwarden/regcheck"
)

// selection are the flags that choose many registries.
type selection struct {
	all    bool
	filter client.RegistryFilter
}

func (s *selection) addTo(cmd *cobra.Command) {
	filterFlags(cmd, &s.filter)
	cmd.Flags().BoolVar(&s.all, "all", false, "all registries, or all that the other flags choose, up to 1,000")
}

// oneArg allows the name of one registry, or flags that choose many.
func (s *selection) oneArg(cmd *cobra.Command, args []string) error {
	if err := command.AtMostOneArg(cmd, args); err != nil {
		return err
	}
	return s.check(cmd, args)
}

// check requires names, or flags that choose registries.
func (s *selection) check(cmd *cobra.Command, names []string) error {
	if err := command.NotEmpty(cmd, "name", "health", "expiry", "label", "project"); err != nil {
		return err
	}
	chosen := s.all || s.filter != (client.RegistryFilter{})
	switch {
	case len(names) > 0 && chosen:
		return command.Usage(cmd, errors.New("give a name, or flags that choose registries, not both"))
	case len(names) == 0 && !chosen:
		return command.Usage(cmd,
			errors.New("give a name, or --all, --label, --project, --name, --health or --expiry for many registries"))
	}
	return nil
}

// of returns the request for many registries, nil if names are given.
func (s *selection) of(c *manage.Call, names []string) (*api.RegistryBulk, error) {
	if err := s.check(c.Cmd, names); err != nil || len(names) > 0 {
		return nil, err
	}
	f, err := withProject(c, s.filter)
	return &api.RegistryBulk{Filter: &api.RegistryBulkFilter{Name: f.Name, Health: f.Health, Expiry: f.Expiry, Label: f.Label,
		Project: f.Project}}, err
}

// bulk does an action, reports what was refused, and counts the others. err is returned if it is set.
func bulk(c *manage.Call, sent *api.RegistryBulk, action, done string, err error) error {
	if err != nil {
		return err
	}
	sent.Action = action
	items, err := c.Client.Registries.Bulk(c.Ctx, *sent)
	if err != nil {
		return err
	}
	return reportBulk(c, items, done)
}

// reportBulk reports what was refused, and counts the others.
func reportBulk(c *manage.Call, items []api.RegistryBulkItem, done string) error {
	refused := 0
	for _, item := range items {
		if item.Result == api.BulkRefused {
			refused++
			fmt.Fprintf(c.Cmd.ErrOrStderr(), "%s: %s\n", output.Shown(cmp.Or(item.Name, item.UID)), output.Shown(item.Message))
		}
	}
	c.Note(done, counted(len(items)-refused))
	if refused > 0 {
		return fmt.Errorf("%s refused", counted(refused))
	}
	return nil
}

// counted returns a number of registries in words.
func counted(n int) string {
	if n == 1 {
		return "1 registry"
	}
	return fmt.Sprintf("%d registries", n)
}

// matched returns the registries that a request chooses, and their names.
func matched(c *manage.Call, sent api.RegistryBulk, action string) (items []api.RegistryBulkItem, names []string, err error) {
	sent.Action, sent.DryRun = action, true
	items, err = c.Client.Registries.Bulk(c.Ctx, sent)
	for _, item := range items {
		names = append(names, output.Shown(item.Name))
	}
	return items, names, err
}

const maxNamed = 10 // names in a question

// list returns names as one text.
func list(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// bulkDelete deletes the registries that its question names: by then, the filter may match others, also if it matched none.
func bulkDelete(c *manage.Call, sent *api.RegistryBulk, err error) error {
	const deleted = "Deleted %s."
	if err != nil {
		return err
	}
	items, names, err := matched(c, *sent, "delete")
	switch {
	case err != nil:
		return err
	case len(items) == 0:
		return reportBulk(c, nil, deleted)
	}
	if err := c.Confirm("Delete %s with history and content: %s?", counted(len(names)), list(names)); err != nil {
		return err
	}
	chosen, nameOf := api.RegistryBulk{Action: "delete"}, map[string]string{}
	for _, item := range items {
		chosen.UIDs = append(chosen.UIDs, item.UID)
		nameOf[item.UID] = item.Name
	}
	items, err = c.Client.Registries.Bulk(c.Ctx, chosen)
	if err != nil {
		return err
	}
	for i, item := range items {
		items[i].Name = cmp.Or(item.Name, nameOf[item.UID]) // the server has no name of one that was deleted since
	}
	return reportBulk(c, items, deleted)
}

func (p Commands) registryLabel() *cobra.Command {
	var chosen selection
	var names []string
	cmd := p.Command("label KEY=VALUE...", "Set labels of stored registries, or remove them", command.SomeArgs,
		func(c *manage.Call, args []string) error {
			labels, err := labelchange.Parse(args)
			if err != nil {
				return command.Usage(c.Cmd, err)
			}
			sent, err := chosen.of(c, names)
			if sent == nil && err == nil {
				sent, err = named(c, names)
			}
			if err == nil {
				sent.Labels = labels
			}
			return bulk(c, sent, "labels", "Changed the labels of %s.", err)
		}, manage.Changes)
	chosen.addTo(cmd)
	cmd.Flags().StringArrayVar(&names, "registry", nil, "name of a registry; repeatable")
	_ = cmd.RegisterFlagCompletionFunc("registry", p.CompleteFlag(manage.RegistryNames)) // fails only without the flag
	return cmd
}

// named returns the request for registries with these names.
func named(c *manage.Call, names []string) (*api.RegistryBulk, error) {
	sent := &api.RegistryBulk{}
	for _, name := range names {
		found, err := c.Client.Registries.Find(c.Ctx, name)
		if err != nil {
			return nil, err
		}
		sent.UIDs = append(sent.UIDs, found.Metadata.UID)
	}
	return sent, nil
}

// lacksCredentials reports whether a request was refused because the registry has no credentials that others could have too.
func lacksCredentials(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && slices.Contains(refused.Fields(), regcheck.Problem{Field: "sameCredentialsAs", Problem: "must have credentials"})
}

func (p Commands) registryCredentials() *cobra.Command {
	var f registryChange
	dryRun := false
	cmd := p.Command("credentials NAME", "Replace credentials in all registries that use them", command.OneArg,
		func(c *manage.Call, args []string) error {
			found, err := c.Client.Registries.Find(c.Ctx, args[0])
			if err != nil {
				return err
			}
			sent := api.RegistryBulk{SameCredentialsAs: found.Metadata.UID}
			_, names, err := matched(c, sent, "credentials")
			if lacksCredentials(err) {
				return command.AsUsage(fmt.Errorf("%s has no credentials; add some with: regwarden registry update %s",
					output.Shown(args[0]), command.ShellQuote(args[0])))
			}
			if err != nil {
				return err
			}
			slices.Sort(names)
			c.Note("%s with these credentials: %s", counted(len(names)), list(names))
			if dryRun {
				return nil
			}
			stored, err := c.Client.Registries.Get(c.Ctx, found.Metadata.UID)
			if err != nil {
				return err
			}
			changed := requestOf(stored)
			if err := f.change(c, &changed); err != nil {
				return err
			}
			sent.Auth = changed.Spec.Auth
			sent.Auth.TLS = regcheck.TLS{} // each registry keeps its own
			return bulk(c, &sent, "credentials", "Replaced the credentials of %s.", nil)
		}, manage.Changes)
	f.AddAuthTo(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "name the registries that use the credentials, and change nothing")
	return cmd
}
