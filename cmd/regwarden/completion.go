package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/cli"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/scan"
	"github.com/regwarden/regwarden/internal/watch"
	"github.com/regwarden/regwarden/regcheck"
)

// completionTimeout is how long a shell waits for names from the store, such as from a database that does not respond.
const completionTimeout = 2 * time.Second

// flagValues are the closed lists of values of flags. A flag has the same values in every command.
var flagValues = map[string][]string{
	"action":               asStrings(audit.Actions),
	"as":                   model.ConsumerNames(),
	"auth-type":            asStrings([]regcheck.AuthType{regcheck.NoAuth, regcheck.Basic, regcheck.Token}),
	"egress-profile":       {"private", "public"},
	"egress-proxy":         {proxyFromEnvironment},
	"egress-proxy-connect": {"address", "name"},
	"fail-on":              asStrings(scan.Levels),
	"format":               definitions.FormatNames(),
	"log-format":           {"text", "json"},
	"log-level":            {"debug", "info", "warn", "error"},
	"login-isolation":      {isolateProcess, isolateNothing},
	"outcome":              asStrings(audit.Outcomes),
	"output":               {"text", "json"},
	"provider-type":        asStrings([]regcheck.ProviderType{regcheck.Helm, regcheck.Zarf, regcheck.Pack}),
	"template":             cli.AlertTemplates,
	"component":            cli.AlertComponents,
	"role":                 asStrings([]auth.Role{auth.RoleAdmin, auth.RoleMember}),
	"smtp-tls":             {"starttls", "tls", "none"},
}

// flagNames are the flags whose values are names in the store.
var flagNames = map[string]namesOf{"registry": registryNames}

// namesOf lists names from the store. org is the organization that the command line names.
type namesOf func(a *admin, org string) ([]string, error)

func asStrings[T ~string](values []T) []string {
	return texts(values, func(value T) string { return string(value) })
}

func texts[T any](list []T, text func(T) string) []string {
	found := make([]string, len(list))
	for i, element := range list {
		found[i] = text(element)
	}
	return found
}

// addCompletions adds what shells complete: values of flags, and arguments. Commands that take a file keep the completion of files.
func addCompletions(cmd *cobra.Command, ofService map[string]cobra.CompletionFunc) {
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, "FILE") && !strings.Contains(cmd.Use, "PATH") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for flag, values := range flagValues {
		completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	for flag, names := range flagNames {
		completeFlag(cmd, flag, completeNames(names))
	}
	for flag, complete := range ofService {
		completeFlag(cmd, flag, complete)
	}
	for _, sub := range cmd.Commands() {
		addCompletions(sub, ofService)
	}
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if cmd.Flag(flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete) // fails only for a flag without the command, or with a completion
	}
}

// completeFirst completes the first argument of a command.
func completeFirst(names namesOf) cobra.CompletionFunc {
	complete := completeNames(names)
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return cobra.NoFileCompletions(cmd, args, toComplete)
		}
		return complete(cmd, args, toComplete)
	}
}

// completeNames completes with names from the store that the command line, the environment or the settings file names. Where there is
// none, or it cannot be opened, there are no names: a shell shows no error, and no store is created.
func completeNames(names namesOf) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list, err := storedNames(cmd, names)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func storedNames(cmd *cobra.Command, names namesOf) ([]string, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	settings := newSettings()
	for _, name := range storeFlags {
		if f := cmd.Flag(name); f != nil && f.Changed {
			if err := settings.flags.Set(name, f.Value.String()); err != nil {
				return nil, err
			}
		}
	}
	db, err := settings.open(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	org := ""
	if f := cmd.Flag("org"); f != nil {
		org = f.Value.String()
	}
	return names(&admin{ctx: ctx, db: db, directory: directory.New(db, nil, nil), operator: operator}, org)
}

func registryNames(a *admin, org string) ([]string, error) {
	list, err := a.watch().Summaries(a.ctx, a.operator, org)
	return texts(list, func(r watch.RegistrySummary) string { return r.Name }), err
}
