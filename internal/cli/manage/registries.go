package manage

import (
	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
)

// Registry returns the commands for stored registry definitions.
func (p Program) Registry() *cobra.Command {
	remove := p.command("delete NAME", "Delete a stored registry with its history and content", command.OneArg, func(c *call, args []string) error {
		found, err := c.client.Registries.Find(c.ctx, args[0])
		if err != nil {
			return err
		}
		if err := c.confirm("Delete the registry %s with its history and content?", found.Metadata.Name); err != nil {
			return err
		}
		if err := c.client.Registries.Delete(c.ctx, found.Metadata.UID); err != nil {
			return err
		}
		c.changed("Deleted the registry %s.", found.Metadata.Name)
		return nil
	}, deletes)
	byName := []*cobra.Command{p.registryShow(), p.registryCheck(), p.registryHistory(), p.registryUpdate(), remove, p.registrySync(), p.registryContent()}
	for _, cmd := range byName {
		cmd.ValidArgsFunction = p.completeNames(registryNames)
	}
	return command.Group("registry", "Manage and check stored registry definitions", append(byName, p.registryList(), p.registryCreate())...)
}

func registryNames(c *call) ([]string, error) {
	return namesOf(c.client.Registries.List(c.ctx), func(r api.OCIRegistrySummary) string { return r.Metadata.Name })
}

// Values of --health and --sort.
var (
	healthStates  = []string{api.HealthHealthy, api.HealthFailing, api.HealthUnknown}
	registryOrder = []string{"name", "health", "since"}
)

func (p Program) registryList() *cobra.Command {
	var filter client.RegistryFilter
	cmd := p.command("list", "List stored registries with their health", command.NoArgs, func(c *call, _ []string) error {
		list, err := client.Collect(c.client.Registries.Search(c.ctx, filter))
		rows := make([][]any, len(list))
		for i, r := range list {
			h := r.Status.Health
			rows[i] = []any{r.Metadata.UID, r.Metadata.Name, r.Spec.ProviderType, r.Spec.Endpoint, h.State, known(h.Since), known(h.Code), known(h.Hint),
				known(h.LastCheck), r.Status.Sync.Status, known(h.CertificateNotAfter), known(h.CredentialsNotAfter), stateWord(h)}
		}
		return c.list(err, columns("uid+", "name", "type", "endpoint", "health", "since", "code+", "hint+", "checked+", "sync+",
			"certificateNotAfter+", "credentialsNotAfter+", "state-"), rows)
	}, lists)
	flags := cmd.Flags()
	flags.StringVar(&filter.Health, "health", "", "health of the registries: healthy, failing or unknown (default: all)")
	flags.StringVar(&filter.Name, "name", "", "part of the names of the registries, in any letter case (default: all)")
	flags.StringVar(&filter.Sort, "sort", "", "order: name, health (failing first) or since (newest change first) (default: name)")
	for flag, values := range map[string][]string{"health": healthStates, "sort": registryOrder} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails only without the flag
	}
	return cmd
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

func (p Program) registryHistory() *cobra.Command {
	limit := 0
	cmd := p.command("history NAME", "List the health history of a registry, newest first", command.OneArg, func(c *call, args []string) error {
		found, err := c.client.Registries.Find(c.ctx, args[0])
		if err != nil {
			return err
		}
		history, err := c.client.Registries.History(c.ctx, found.Metadata.UID, limit)
		if err != nil {
			return err
		}
		rows := make([][]any, len(history.Items))
		for i, h := range history.Items {
			health, word := api.HealthFailing, h.Code
			if h.Valid {
				health, word = api.HealthHealthy, "valid"
			}
			rows[i] = []any{h.Since, h.Checks, h.LastCheckedAt, health, h.Code, h.Stage, h.Reason, h.Field, h.Message, h.Hint, h.Counted, word}
		}
		return c.list(nil, columns("since", "checks", "last", "health", "code", "stage+", "reason+", "field+", "message+", "hint+", "counted", "verdict-"), rows)
	}, lists)
	flagvalue.Number(cmd.Flags(), &limit, "limit", 20, 0, maxHistory, "maximum number of entries, 1–200; 0 means all")
	return cmd
}
