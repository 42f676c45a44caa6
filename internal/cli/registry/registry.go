// Package registry has the commands for stored registry definitions.
package registry

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/manage"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// Commands creates the commands of this package.
type Commands struct{ manage.Program }

// Registry returns the commands for stored registry definitions.
func (p Commands) Registry() *cobra.Command {
	var chosen selection
	remove := p.Command("delete [NAME]", "Delete stored registries with their history and content", chosen.oneArg,
		func(c *manage.Call, args []string) error {
			if many, err := chosen.of(c, args); many != nil || err != nil {
				return bulkDelete(c, many, err)
			}
			found, err := c.Client.Registries.Find(c.Ctx, args[0])
			if err != nil {
				return err
			}
			if err := c.Confirm("Delete the registry %s with its history and content?", found.Metadata.Name); err != nil {
				return err
			}
			err = c.Client.Registries.Delete(c.Ctx, found.Metadata.UID)
			return c.Changed(err, "Deleted the registry %s.", found.Metadata.Name)
		}, manage.Deletes)
	chosen.addTo(remove)
	byName := []*cobra.Command{p.registryShow(), p.registryCheck(), p.registryHistory(), p.registryUpdate(), remove, p.registrySync(),
		p.registryContent()}
	export := p.registryExport()
	export.ValidArgsFunction = p.CompleteFlag(manage.RegistryNames)
	for _, cmd := range byName {
		cmd.ValidArgsFunction = p.CompleteNames(manage.RegistryNames)
	}
	return command.Group("registry", "Manage and check stored registry definitions",
		append(byName, p.registryList(), p.registryLabel(), p.registryCredentials(), p.registryCreate(), p.registryApply(), export)...)
}

// Values of --health and --sort.
var (
	healthStates  = []string{api.HealthHealthy, api.HealthFailing, api.HealthUnknown}
	registryOrder = []string{"name", "health", "since", "expiry", "-name", "-health", "-since", "-expiry"}
)

func (p Commands) registryList() *cobra.Command {
	var filter client.RegistryFilter
	watched := false
	cmd := p.Command("list", "List stored registries with their health", command.NoArgs, func(c *manage.Call, _ []string) error {
		filter, err := withProject(c, filter)
		if err != nil {
			return err
		}
		if watched {
			return watch(c, filter)
		}
		rows, err := listed(c, filter)
		return c.List(err, registryColumns(), rows)
	}, manage.Lists)
	flags := cmd.Flags()
	flags.BoolVarP(&watched, "watch", "w", false, "print the list again when it changes, until Ctrl-C")
	filterFlags(cmd, &filter)
	flags.StringVar(&filter.Sort, "sort", "",
		"order: name, health (failing first), since (newest change first) or expiry (soonest first); -name and so on "+
			"for the opposite (default: name)")
	completeWith(cmd, "sort", registryOrder)
	return cmd
}

// filterFlags adds the flags that choose registries.
func filterFlags(cmd *cobra.Command, filter *client.RegistryFilter) {
	flags := cmd.Flags()
	flags.StringVar(&filter.Health, "health", "", "health of the registries: healthy, failing or unknown (default: all)")
	flags.StringVar(&filter.Name, "name", "", "part of the names of the registries, in any letter case (default: all)")
	flags.StringVar(&filter.Expiry, "expiry", "", "soon for registries whose certificate or credentials expire soon (default: all)")
	flags.StringVar(&filter.Label, "label", "", "label of the registries: KEY=VALUE, or KEY for every value (default: all)")
	flags.StringVar(&filter.Project, "project", "", "name of the project of the registries (default: all, also those of none)")
	completeWith(cmd, "health", healthStates)
	completeWith(cmd, "expiry", []string{"soon"})
}

// withProject returns a filter with the uid of the project that its flag names.
func withProject(c *manage.Call, filter client.RegistryFilter) (client.RegistryFilter, error) {
	if filter.Project == "" {
		return filter, nil
	}
	found, err := c.Client.Projects.Find(c.Ctx, filter.Project)
	if err == nil {
		filter.Project = found.Metadata.UID
	}
	return filter, err
}

// completeWith completes a flag with these words. It fails only without the flag.
func completeWith(cmd *cobra.Command, flag string, words []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func registryColumns() []output.Column {
	return output.Columns("uid+", "name*", "type~~", "endpoint~", "health", "since~~", "problem", "code+", "hint+", "checked+", "sync+",
		"certificateNotAfter+", "credentialsNotAfter+", "state-")
}

// listed returns the rows of the list.
func listed(c *manage.Call, filter client.RegistryFilter) ([][]any, error) {
	list, err := client.Collect(c.Client.Registries.Search(c.Ctx, filter))
	rows := make([][]any, len(list))
	for i, r := range list {
		h := r.Status.Health
		rows[i] = []any{r.Metadata.UID, r.Metadata.Name, r.Spec.ProviderType, r.Spec.Endpoint, h.State, known(h.Since),
			problemOf(h, time.Now()),
			known(h.Code), known(h.Hint), known(h.LastCheck), r.Status.Sync.Status, known(h.CertificateNotAfter),
			known(h.CredentialsNotAfter), stateWord(h)}
	}
	return rows, err
}

// known returns the value of a pointer, the zero value for nil.
func known[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}

// stateWord returns the health as one word: "valid", the code of the failure, or "" if no check has counted.
func stateWord(h api.RegistryHealth) string {
	if h.State == api.HealthHealthy {
		return "valid"
	}
	return known(h.Code)
}

const maxHistory = 200 // entries that the API has

func (p Commands) registryHistory() *cobra.Command {
	limit := 0
	cmd := p.Command("history NAME", "List the health history of a registry, newest first", command.OneArg,
		func(c *manage.Call, args []string) error {
			found, err := c.Client.Registries.Find(c.Ctx, args[0])
			if err != nil {
				return err
			}
			history, err := c.Client.Registries.History(c.Ctx, found.Metadata.UID, limit)
			if err != nil {
				return err
			}
			rows := make([][]any, len(history.Items))
			for i, h := range history.Items {
				health, word := api.HealthFailing, h.Code
				if h.Valid {
					health, word = api.HealthHealthy, "valid"
				}
				rows[i] = []any{h.Since, h.Checks, h.LastCheckedAt, health, h.Code, h.Stage, h.Reason, h.Field, h.Message, h.Hint,
					h.Counted,
					word}
			}
			return c.List(nil, output.Columns("since", "checks", "last", "health", "code", "stage+", "reason+", "field+", "message+",
				"hint+",
				"counted+", "verdict-"), rows)
		}, manage.Lists)
	flagvalue.Number(cmd.Flags(), &limit, "limit", 20, 0, maxHistory, "maximum number of entries, 1–200; 0 means all")
	return cmd
}
