package manage

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completionTimeout is how long a shell waits for names, such as from a server that does not respond.
const completionTimeout = 2 * time.Second

// FlagNames returns the completions of flags whose values are names in the service.
func (p Program) FlagNames() map[string]cobra.CompletionFunc {
	orgs := p.completeFlag(orgNames, aboutOrgs)
	return map[string]cobra.CompletionFunc{"context": completeContextFlag, "default-org": orgs, "org": orgs,
		"project": p.completeFlag(projectNames), "registry": p.completeFlag(registryNames)}
}

// completeNames completes the first argument with names from the service.
func (p Program) completeNames(names func(*call) ([]string, error), options ...option) cobra.CompletionFunc {
	complete := p.completeFlag(names, options...)
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}

// completeFlag completes the value of a flag with names from the service. Where there is none, there are no names: a shell shows no error, and
// no store is created. Commands without the flag --server are about the local store.
func (p Program) completeFlag(names func(*call) ([]string, error), options ...option) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		run, t := &call{cmd: cmd}, &target{local: p.NewLocal(), localOnly: cmd.Flag("server") == nil}
		for _, option := range options {
			option(run, t)
		}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		t.addFlags(flags)
		flags.VisitAll(func(f *pflag.Flag) {
			if given := cmd.Flag(f.Name); given != nil && given.Changed {
				_ = flags.Set(f.Name, given.Value.String()) // it was parsed before
			}
		})
		found, err := run.names(ctx, t, args, names)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
		}
		return completions(found), cobra.ShellCompDirectiveNoFileComp
	}
}

// completions returns names in order, without those that would control the terminal.
func completions(names []string) []cobra.Completion {
	names = slices.DeleteFunc(names, func(name string) bool { return Shown(name) != name })
	slices.Sort(names)
	return names
}

// names returns the names that the chosen service has.
func (c *call) names(ctx context.Context, t *target, args []string, names func(*call) ([]string, error)) ([]string, error) {
	end, err := c.connect(ctx, t, args)
	if err != nil {
		return nil, err
	}
	defer end()
	return names(c)
}
