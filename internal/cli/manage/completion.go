package manage

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/output"
)

// completionTimeout is how long a shell waits for names, such as from a server that does not respond.
const completionTimeout = 2 * time.Second

// FlagNames returns the completions of flags whose values are names in the service.
func (p Program) FlagNames() map[string]cobra.CompletionFunc {
	orgs := p.CompleteFlag(OrgNames, AboutOrgs)
	return map[string]cobra.CompletionFunc{"context": completeContextFlag, "default-org": orgs, "org": orgs,
		"project": p.CompleteFlag(ProjectNames), "registry": p.CompleteFlag(RegistryNames)}
}

// CompleteNames completes the first argument with names from the service.
func (p Program) CompleteNames(names func(*Call) ([]string, error), options ...Option) cobra.CompletionFunc {
	complete := p.CompleteFlag(names, options...)
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}

// CompleteFlag completes the value of a flag with names from the service. Where there is none, there are no names: a shell shows no
// error, and no store is created. Commands without the flag --server are about the local store.
func (p Program) CompleteFlag(names func(*Call) ([]string, error), options ...Option) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		run, t := &Call{Cmd: cmd}, &target{local: p.NewLocal(), localOnly: cmd.Flag("server") == nil}
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
	names = slices.DeleteFunc(names, func(name string) bool { return output.Shown(name) != name })
	slices.Sort(names)
	return names
}

// names returns the names that the chosen service has.
func (c *Call) names(ctx context.Context, t *target, args []string, names func(*Call) ([]string, error)) ([]string, error) {
	end, err := c.connect(ctx, t, args)
	if err != nil {
		return nil, err
	}
	defer end()
	return names(c)
}

// NamesOf returns the names of the items of a list.
func NamesOf[T any](list iter.Seq2[T, error], name func(T) string) (names []string, err error) {
	for item, err := range list {
		if err != nil {
			return names, err
		}
		names = append(names, name(item))
	}
	return names, nil
}

// OrgNames returns the names of the organizations.
func OrgNames(c *Call) ([]string, error) {
	return NamesOf(c.Client.Orgs.List(c.Ctx), func(o api.Org) string { return o.Metadata.Name })
}

// ProjectNames returns the names of the projects.
func ProjectNames(c *Call) ([]string, error) {
	return NamesOf(c.Client.Projects.List(c.Ctx), func(p api.ListedProject) string { return p.Metadata.Name })
}

// RegistryNames returns the names of the stored registries.
func RegistryNames(c *Call) ([]string, error) {
	return NamesOf(c.Client.Registries.List(c.Ctx), func(r api.OCIRegistrySummary) string { return r.Metadata.Name })
}

// UserEmails returns the emails of the users.
func UserEmails(c *Call) ([]string, error) {
	return NamesOf(c.Client.Users.List(c.Ctx), func(u api.User) string { return u.Spec.EmailID })
}

// CompleteEmail completes a flag with emails of users.
func (p Program) CompleteEmail(cmd *cobra.Command, flag string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, p.CompleteFlag(UserEmails)) // fails only without the flag
}

// CompleteContexts completes the first argument with names of logins.
func CompleteContexts(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeContextFlag(cmd, args, typed)
}

// completeContextFlag completes the flag --context.
func completeContextFlag(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	saved, err := logins.Read()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completions(saved.Names()), cobra.ShellCompDirectiveNoFileComp
}
