package cli

import (
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/cli/alert"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/settings"
	roles "github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/regcheck"
)

// flagValues returns the closed lists of values of flags. A flag has the same values in every command.
var flagValues = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"action":               asStrings(audit.Actions),
		"as":                   model.ConsumerNames(),
		"auth-type":            command.AuthTypes,
		"egress-profile":       {"private", "public"},
		"egress-proxy":         {settings.ProxyFromEnvironment, settings.NoProxy},
		"egress-proxy-connect": {"address", "name"},
		"format":               definitions.FormatNames(),
		"kind":                 asStrings([]regcheck.Kind{regcheck.KindOCI, regcheck.KindChartRepository}),
		"log-format":           {"text", "json"},
		"log-level":            {"debug", "info", "warn", "error"},
		"login-isolation":      {settings.IsolateProcess, settings.IsolateNothing},
		"outcome":              asStrings(audit.Outcomes),
		"provider-type":        asStrings([]regcheck.ProviderType{regcheck.Helm, regcheck.Zarf, regcheck.Pack}),
		"template":             alert.Templates,
		"component":            alert.Components,
		"role":                 asStrings(roles.Assignable()),
		"smtp-tls":             {"starttls", "tls", "none"},
	}
})

func asStrings[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = string(value)
	}
	return list
}

// addCompletions adds what shells complete: values of flags, and arguments. Commands that take a file keep the completion of files.
func addCompletions(cmd *cobra.Command, ofService map[string]cobra.CompletionFunc) {
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, "FILE") && !strings.Contains(cmd.Use, "PATH") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for flag, values := range flagValues() {
		completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	for flag, complete := range ofService {
		completeFlag(cmd, flag, complete)
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if list, ok := flag.Value.(interface{ Values() []string }); ok {
			completeFlag(cmd, flag.Name, cobra.FixedCompletions(list.Values(), cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range cmd.Commands() {
		addCompletions(sub, ofService)
	}
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if cmd.Flag(flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete) // fails only for a flag without the command, or with a completion
	}
}
