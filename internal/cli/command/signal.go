// Package command has what the commands of the program share: arguments, usage errors, prompts, signals and output.
package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// EnvPrefix is the prefix of the environment variables of settings: --login-wait is REGWARDEN_LOGIN_WAIT.
const EnvPrefix = "REGWARDEN_"

// UntilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, with the cause Interrupted. A second signal
// ends the process. SIGHUP stays ignored below nohup.
func UntilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
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
	return "terminated"
}

// Stdin is standard input whose reads end with a context. A read of the file itself does not end when a signal arrives.
type Stdin struct {
	*os.File
	ctx context.Context
}

// StdinUntil returns standard input whose reads end with ctx, with its cause as the error.
func StdinUntil(ctx context.Context) *Stdin { return &Stdin{os.Stdin, ctx} }

func (s *Stdin) Read(b []byte) (int, error) {
	data, err := s.untilDone(func() ([]byte, error) {
		data := make([]byte, len(b)) // not b, which the caller may reuse after ctx has ended
		n, err := s.File.Read(data)
		return data[:n], err
	})
	return copy(b, data), err
}

// untilDone returns what read returns, or the cause of the end of the context. The read itself goes on.
func (s *Stdin) untilDone(read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read()
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}
