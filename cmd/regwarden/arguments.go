package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/flagvalue"
)

// numberVar and durationVar define flags whose values have bounds.
var numberVar, durationVar = flagvalue.Number, flagvalue.Duration

const day, week, longest = flagvalue.Day, flagvalue.Week, flagvalue.Longest

// noArgs refuses arguments. Where a flag takes what was typed, the error names it.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := shortPath(cmd) + " takes no arguments"
	switch {
	case strings.Contains(args[0], "@") && cmd.Flag("email") != nil:
		text += "; give the user with --email"
	case cmd.Flag("org") != nil && !cmd.Flag("org").Changed:
		text += "; give the organization with --org"
	}
	return usage(cmd, errors.New(text))
}

// oneArg requires the argument that the command's Use names.
func oneArg(cmd *cobra.Command, args []string) error {
	name := strings.Fields(cmd.Use)[1]
	switch {
	case len(args) == 0:
		return usage(cmd, fmt.Errorf("%s requires %s", shortPath(cmd), name))
	case len(args) > 1:
		return usage(cmd, fmt.Errorf("%s takes one %s, not %d; quote one that has spaces", shortPath(cmd), name, len(args)))
	}
	return nil
}

// oneFile allows one argument.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(cmd, fmt.Errorf("%s takes one file, not %d", shortPath(cmd), len(args)))
	}
	return nil
}

// reference allows a reference, and a file before it.
func reference(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return usage(cmd, fmt.Errorf("%s --from takes [FILE] REFERENCE, such as ghcr.io/acme/charts", shortPath(cmd)))
	}
	return nil
}

// group returns a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: knownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// knownCommand refuses arguments that are not the name of a subcommand.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if like := flagvalue.Nearest(args[0], names, maxShortTypos); like != "" {
		text += fmt.Sprintf("; did you mean %q?", like)
	}
	return usage(cmd, errors.New(text))
}

// flagError explains a flag that does not exist or has a value that cannot be used.
func flagError(cmd *cobra.Command, err error) error {
	if typed := cmd.Flags().Args(); cmd.HasSubCommands() && len(typed) > 0 { // the command is what does not exist
		return knownCommand(cmd, typed)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if like := flagvalue.Nearest(unknown.GetSpecifiedName(), names, maxShortTypos); like != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, like)
		}
	}
	if problem := valueProblem(err); problem != nil {
		invalid, _ := errors.AsType[*pflag.InvalidValueError](err)
		err = fmt.Errorf("--%s %w", invalid.GetFlag().Name, problem)
	}
	return usage(cmd, err)
}

// valueProblem returns the problem of a flag's value, nil for other errors.
func valueProblem(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return nil
	}
	return plainValueError(errors.Unwrap(invalid))
}

// usage returns a usage error that refers to the help of the command.
func usage(cmd *cobra.Command, err error) error {
	return usageError{fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())}
}

// shortPath returns the path of a command without the name of the program.
func shortPath(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// nameFlags returns the field problems of a request with flags instead of fields.
func nameFlags(cmd *cobra.Command, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Invalid || len(f.Fields) == 0 {
		return err
	}
	problems := make([]error, len(f.Fields))
	for i, field := range f.Fields {
		name, _, _ := strings.Cut(field.Field, "[") // of a list
		name = cmp.Or(requestFlags[name], name)
		if cmd.Flag(name) != nil {
			name = "--" + name
		}
		problems[i] = errors.New(name + " " + field.Problem)
	}
	return usage(cmd, errors.Join(problems...))
}

// requestFlags are the flags of administration commands that are not named like the field of the request.
var requestFlags = map[string]string{"emailId": "email", "emailAddress": "email", "user": "email", "projects": "project", "expiry": "expires", "expiresAt": "expires"}

// readFlagFile reads the file that a flag names.
func readFlagFile(flag, name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("--%s: cannot read %q: %w", flag, name, plainCause(failed))
	}
	return data, err
}

// plainCause replaces common causes by plain text.
func plainCause(err *fs.PathError) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no such file")
	}
	return err.Err
}

// definitionFlags has the flag of "regwarden check" that sets a field of a definition.
var definitionFlags = map[string]string{
	"endpoint": "--endpoint", "basePath": "--base-path", "baseContentPath": "--content", "providerType": "--provider-type",
	"auth.type": "--auth-type", "auth.username": "--username", "auth.password": "--password-stdin", "auth.token": "--token-stdin",
	"auth.tls.ca": "--ca", "auth.tls.certificate": "--cert", "auth.tls.key": "--key",
	"auth.tls.insecureSkipVerify": "--insecure-skip-verify",
	"auth.tls.enabled":            "", // implied by the other flags of TLS
}

// flagOf returns the flag that sets a field. It is a regcheck.Words.Field.
func flagOf(path string) string { return definitionFlags[path] }

// flagProblem returns a problem of a definition that was given by flags.
func flagProblem(p fault.Field) string {
	required := strings.HasPrefix(p.Problem, "is required")
	switch {
	case required && p.Field == "auth.password":
		return "give the password with --password-stdin or " + envRegistryPassword
	case required && p.Field == "auth.token":
		return "give the token with --token-stdin or " + envRegistryToken
	}
	pairs := []string{}
	for path, flag := range definitionFlags {
		if strings.HasPrefix(path, "auth.") && flag != "" {
			pairs = append(pairs, path, flag)
		}
	}
	return fmt.Sprintf("%s %s", flagOf(p.Field), strings.NewReplacer(pairs...).Replace(p.Problem))
}

// Maximum distance in letters between an unknown name and the suggested one.
const (
	maxTypos      = 4 // of a setting
	maxShortTypos = 2 // of a command or a flag
)

//go:embed help.txt
var helpTexts string

// addHelp adds the descriptions and examples of help.txt, and the exit codes of commands that do not describe their own.
func addHelp(root *cobra.Command) {
	for _, section := range strings.Split(helpTexts, "\n=== ")[1:] {
		path, text, _ := strings.Cut(section, "\n")
		cmd, _, _ := root.Find(strings.Fields(path)) // a test finds all of them
		long, examples, _ := strings.Cut(text, "Examples:\n")
		cmd.Long = strings.TrimSpace(long)
		if examples = strings.TrimSpace(examples); examples != "" {
			cmd.Example = "  " + strings.ReplaceAll(examples, "\n", "\n  ")
		}
	}
	addExitCodes(root)
}

func addExitCodes(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		addExitCodes(sub)
	}
	if !cmd.HasSubCommands() && !strings.Contains(cmd.Long, "Exit codes:") {
		cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\nExit codes: 0 done, 1 failed, 2 the command line or the settings cannot be used."
	}
}
