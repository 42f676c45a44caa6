// Package command has what the commands of the program share: arguments, usage errors, prompts, signals and output.
package command

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// EnvPrefix is the prefix of the environment variables of settings: --login-wait is REGWARDEN_LOGIN_WAIT.
const EnvPrefix = "REGWARDEN_"

// UntilSignal returns a context that the first SIGINT or SIGTERM cancels, with the cause Interrupted. A second signal
// ends the process.
func UntilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			cancel(Interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Interrupted is the cause of a command's context that a signal ended.
type Interrupted struct{ syscall.Signal }

func (i Interrupted) Error() string {
	if i.Signal == syscall.SIGINT {
		return "interrupted"
	}
	return i.String() // "terminated"
}

// UntilDone reads until ctx ends. A read of standard input itself does not end with ctx.
type UntilDone struct {
	Ctx    context.Context
	Source io.Reader
}

func (u UntilDone) Read(b []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		data := make([]byte, len(b)) // not b, which the caller may reuse after ctx has ended
		n, err := u.Source.Read(data)
		read <- result{data[:n], err}
	}()
	select {
	case r := <-read:
		return copy(b, r.data), r.err
	case <-u.Ctx.Done():
		return 0, u.Ctx.Err()
	}
}
