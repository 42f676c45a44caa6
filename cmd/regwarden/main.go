// Command regwarden issues authorization tokens and checks OCI registry definitions.
//
// This package is the only code that reads flags, environment and settings files. It passes them to the other packages and connects
// these.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store/sqldb"
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

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	ctx, stop := untilSignal()
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return exitCode(err)
}

// untilSignal returns a context that the first SIGINT or SIGTERM cancels, with the cause interrupted. A second signal
// ends the process.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			cancel(interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// interrupted is the cause of a command's context that a signal ended.
type interrupted struct{ syscall.Signal }

func (i interrupted) Error() string {
	if i.Signal == syscall.SIGINT {
		return "interrupted"
	}
	return i.String() // "terminated"
}

// untilDone reads until ctx ends. A read of standard input itself does not end with ctx.
type untilDone struct {
	ctx    context.Context
	source io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		data := make([]byte, len(b)) // not b, which the caller may reuse after ctx has ended
		n, err := u.source.Read(data)
		read <- result{data[:n], err}
	}()
	select {
	case r := <-read:
		return copy(b, r.data), r.err
	case <-u.ctx.Done():
		return 0, u.ctx.Err()
	}
}

// notChecked is the error of a check without a result.
type notChecked struct{ error }

func (n notChecked) Unwrap() error { return n.error }

// usageError is a mistake in the command line, the settings or the definition.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errNotValid is the error of a check whose report, already printed, is "not valid".
var errNotValid = errors.New("the definition is not valid")

// exitCode returns the exit code for an error. It prints the error unless its report was printed.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errNotValid) {
		return exitNotValid
	}
	fmt.Fprintln(os.Stderr, "regwarden: "+describe(err))
	if cause, ok := errors.AsType[interrupted](err); ok {
		return exitSignal + int(cause.Signal)
	}
	if _, usage := errors.AsType[usageError](err); usage || fault.KindOf(err) == fault.Invalid {
		return exitUsage
	}
	if _, ok := errors.AsType[notChecked](err); ok {
		return exitNotChecked
	}
	if errors.Is(err, sqldb.ErrEmpty) { // the wrong directory or database was given
		return exitUsage
	}
	return exitFailed
}

// describe returns the text of an error. For a fault, it is the message, then the problem of each field on a separate line.
func describe(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	text := f.Message
	for _, field := range f.Fields {
		text += fmt.Sprintf("\n  %s: %s", field.Field, field.Problem)
	}
	if f.Cause != nil {
		text += "\n  cause: " + f.Cause.Error()
	}
	return text
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "regwarden",
		Short: "Authorization tokens, and checks of OCI registry definitions",
		Long: "regwarden issues 15-minute authorization tokens and checks OCI registry definitions by actually using the registry.\n" +
			"For a definition that is not valid it reports which stage failed, which field is at fault and how to fix it.",
		Version:       currentVersion().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate(currentVersion().String())
	addGroup(root, "Registry Commands:", newCheck(), newScan(), newRegistry(), newImport())
	addGroup(root, "Server Commands:", newServe(), newHealth(), newConfig(), newKey(), newBackup(), newRestore(), newMigrate())
	addGroup(root, "Access Commands:", newOrg(), newProject(), newUser(), newAPIKey(), newAudit())
	root.AddCommand(newHashPasswords(), newVersion())
	addCompletions(root)
	addHelp(root)
	return root
}

// addGroup adds commands that help lists under a title.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
}
