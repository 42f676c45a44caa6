package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// NoArgs refuses arguments. Where a flag takes what was typed, the error names it.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := ShortPath(cmd) + " takes no arguments"
	switch {
	case strings.Contains(args[0], "://") && cmd.Flag("url") != nil:
		text += "; give the URL with --url, or with --url-stdin if it has a secret"
	case strings.Contains(args[0], "@") && cmd.Flag("email") != nil:
		text += "; give the user with --email"
	case cmd.Flag("org") != nil && !cmd.Flag("org").Changed:
		text += "; give the organization with --org"
	}
	return Usage(cmd, errors.New(text))
}

// OneArg requires the argument that the command's Use names.
func OneArg(cmd *cobra.Command, args []string) error { return exactly(1, cmd, args) }

// TwoArgs requires the two arguments that the command's Use names.
func TwoArgs(cmd *cobra.Command, args []string) error { return exactly(2, cmd, args) }

func exactly(n int, cmd *cobra.Command, args []string) error {
	names := strings.Trim(strings.Join(strings.Fields(cmd.Use)[1:n+1], " and "), "[].")
	switch {
	case len(args) < n:
		return Usage(cmd, fmt.Errorf("%s requires %s", ShortPath(cmd), names))
	case len(args) > n && n == 1:
		return Usage(cmd, fmt.Errorf("%s takes one %s, not %d; quote one that has spaces", ShortPath(cmd), names, len(args)))
	case len(args) > n:
		return Usage(cmd, fmt.Errorf("%s takes %s, not %d arguments; quote one that has spaces", ShortPath(cmd), names, len(args)))
	}
	return nil
}

// SomeArgs requires at least one of the arguments that the command's Use names.
func SomeArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exactly(1, cmd, args)
	}
	return nil
}

// AtMostOneArg allows the argument that the command's Use names.
func AtMostOneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exactly(1, cmd, args)
	}
	return nil
}

// ArgOrEmail returns the argument that the command's Use names, or the value of --email, which versions before had for it.
func ArgOrEmail(cmd *cobra.Command, args []string) (string, error) {
	given := cmd.Flag("email").Value.String()
	switch {
	case len(args) == 1 && given != "" && given != args[0]:
		return "", Usage(cmd, fmt.Errorf("give %s or --email, not both", strings.Fields(cmd.Use)[1]))
	case len(args) == 1:
		return args[0], nil
	case given == "":
		return "", exactly(1, cmd, args)
	}
	return given, nil
}

// Reference allows a reference, and a file before it.
func Reference(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return Usage(cmd, fmt.Errorf("%s --from takes [FILE] REFERENCE, such as ghcr.io/acme/charts", ShortPath(cmd)))
	}
	return nil
}

// NotEmpty refuses flags that are given without a value, as an unset variable of a script does: what they limit would be unlimited.
func NotEmpty(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flag(name); f.Changed && (f.Value.String() == "" || f.Value.String() == "[]") {
			return Usage(cmd, fmt.Errorf("--%s must not be empty", name))
		}
	}
	return nil
}

// Group returns a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	for _, sub := range commands {
		sub.Aliases = append(sub.Aliases, aliases[sub.Name()]...)
	}
	cmd.AddCommand(commands...)
	return cmd
}

// aliases are other names of subcommands, as other programs have them.
var aliases = map[string][]string{"list": {"ls"}, "delete": {"rm"}, "show": {"get", "describe"}}

// KnownCommand refuses arguments that are not the name of a subcommand.
func KnownCommand(cmd *cobra.Command, args []string) error {
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
	if like := flagvalue.Nearest(args[0], names, typosIn(args[0])); like != "" {
		text += fmt.Sprintf("; did you mean %q?", like)
	}
	return Usage(cmd, errors.New(text))
}

// FlagError explains a flag that does not exist or has a value that cannot be used.
func FlagError(cmd *cobra.Command, err error) error {
	if typed := cmd.Flags().Args(); cmd.HasSubCommands() && len(typed) > 0 { // the command is what does not exist
		return KnownCommand(cmd, typed)
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
	return Usage(cmd, err)
}

// valueProblem returns the problem of a flag's value, nil for other errors.
func valueProblem(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return nil
	}
	return PlainValueError(errors.Unwrap(invalid))
}

// Usage returns a usage error that refers to the help of the command.
func Usage(cmd *cobra.Command, err error) error {
	return UsageError{fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())}
}

// ShortPath returns the path of a command without the name of the program.
func ShortPath(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// NameFlags returns the field problems of a request with flags instead of fields.
func NameFlags(cmd *cobra.Command, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Invalid || len(f.Fields) == 0 {
		return err
	}
	problems := make([]error, len(f.Fields))
	for i, field := range f.Fields {
		name, _, _ := strings.Cut(field.Field, "[") // of a list
		name = cmp.Or(RequestFlags[name], name)
		if cmd.Flag(name) != nil {
			name = "--" + name
		}
		problems[i] = errors.New(name + " " + field.Problem)
	}
	return Usage(cmd, errors.Join(problems...))
}

// plainWord matches a word that means itself in a shell.
var plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./-]+$`)

// ShellQuote returns text as one word of a POSIX shell, quoted if it has to be.
func ShellQuote(text string) string {
	if plainWord.Get().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// RequestFlags are the flags of commands that are not named like the field of the request.
var RequestFlags = map[string]string{"emailId": "email", "emailAddress": "email", "identifiers": "email", "alertAllUsers": "all-users",
	"afterMinutes": "after", "repeatHours": "repeat",
	"user": "email", "userUid": "email",
	"firstName": "first-name", "lastName": "last-name", "roles": "role", "projects": "project", "tokens": "token-stdin",
	"users": "user", "defaultTeams": "default-team", "syncSsoTeams": "sync-teams", "expiry": "expires", "expiresAt": "expires",
	"clientId": "client-id", "clientSecret": "client-secret-stdin", "scopes": "scope", "emailDomains": "email-domain",
	"claims":    "claim",
	"minLength": "min-length", "maxLength": "max-length", "minNumOfDigits": "min-digits", "minNumOfSmallLetters": "min-lowercase",
	"minNumOfBlockLetters": "min-uppercase", "minNumOfSpecialCharacters": "min-special", "expiryDurationInDays": "expires-after-days",
	"permissions":     "permission",
	"isSyncSupported": "sync", "isPrivate": "private"}

// ReadFlagFile reads the file that a flag names.
func ReadFlagFile(flag, name string) ([]byte, error) {
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

// Maximum distance in letters between an unknown name and the suggested one.
const (
	MaxTypos      = 4 // of a setting
	maxShortTypos = 2 // of a command or a flag
)

// typosIn returns how many letters of a word may be wrong: of "get", two would be almost all.
func typosIn(word string) int { return min(maxShortTypos, max(1, len(word)/3)) }

// plainValueError replaces errors of strconv, which parses booleans.
func PlainValueError(err error) error {
	if _, ok := errors.AsType[*strconv.NumError](err); ok {
		return errors.New("must be true or false")
	}
	return err
}

// UsageError is a mistake in the command line, the settings or the definition.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }
