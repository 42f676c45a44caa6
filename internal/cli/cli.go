// Package cli is the command line of the program. With the packages below it, it is the only code that reads flags, environment and
// settings files. It passes them to the other packages and connects these.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// Exit codes. "check" exits with exitNotValid for a definition that is not valid, and with exitNotChecked when it has no
// result. A check ended by a signal exits with exitSignal plus the number of the signal, as shells report it.
const (
	exitOK         = 0
	exitNotValid   = 1
	exitFailed     = 1
	exitUsage      = 2
	exitNotChecked = 3
	exitSignal     = 128 // plus the number of the signal
)

// Run runs the command that args name, and returns its exit code. version is that of the build, and may be empty.
func Run(version string, args []string) int {
	stampedVersion = version
	ctx, stop := command.UntilSignal()
	defer stop()
	root := newRoot(args...)
	root.SetArgs(args)
	root.SetIn(command.StdinUntil(ctx))
	stdout := &command.Stdout{}
	root.SetOut(stdout)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = stdout.Err()
	}
	return exitCode(orSignal(ctx, err))
}

// orSignal returns the signal that ended a command in place of what failed because of it. A printed report, and an error that names the
// signal, stay.
func orSignal(ctx context.Context, err error) error {
	_, named := errors.AsType[command.Interrupted](err)
	cause, ended := errors.AsType[command.Interrupted](context.Cause(ctx))
	if err == nil || named || !ended || errors.Is(err, command.ErrNotValid) || errors.Is(err, command.ErrWarned) {
		return err
	}
	return cause
}

// exitCode returns the exit code for an error. It prints the error unless its report was printed.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, command.ErrNotValid) {
		return exitNotValid
	}
	fmt.Fprintln(os.Stderr, "regwarden: "+describe(err))
	if cause, ok := errors.AsType[command.Interrupted](err); ok {
		return exitSignal + int(cause.Signal)
	}
	if _, usage := errors.AsType[command.UsageError](err); usage || fault.KindOf(err) == fault.Invalid {
		return exitUsage
	}
	if _, ok := errors.AsType[command.NotChecked](err); ok {
		return exitNotChecked
	}
	if _, connecting := sqldb.Reason(err); connecting || errors.Is(err, sqldb.ErrEmpty) { // the wrong directory or database was given
		return exitUsage
	}
	return exitFailed
}

// ofCommands replaces what the API says to its clients by what it means here.
var ofCommands = strings.NewReplacer("Retry after the time in Retry-After.", "Try again later.",
	"on the server, with the command line of regwarden.", "on the machine of the server, with --data-dir.")

// describe returns the text of an error, of which a server or a registry may have written a part.
func describe(err error) string {
	lines := strings.Split(ofCommands.Replace(messageOf(err)), "\n")
	for i := range lines {
		lines[i] = output.Shown(lines[i])
	}
	return strings.Join(lines, "\n")
}

// messageOf returns the message of an error. For a fault, the problem of each field follows on a separate line.
func messageOf(err error) string {
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return strings.ReplaceAll(refused.Message, "\n", " ") // of a server: one line
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	text := f.Message
	if reason, _ := sqldb.Reason(f); reason != "" {
		text = reason
	}
	for _, field := range f.Fields {
		text += fmt.Sprintf("\n  %s: %s", field.Field, field.Problem)
	}
	if f.Cause != nil && text == f.Message { // else the reason has all that the cause says
		text += "\n  cause: " + f.Cause.Error()
	}
	return text
}
