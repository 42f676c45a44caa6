package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/filereader"
	"github.com/regwarden/regwarden/internal/service/hashing"
)

// background runs the work that no request causes, until stop is called, which waits for its end: polling for changes of other
// processes, deleting old records, and more.
func background(ctx context.Context, a *auth.Service, auditRetention time.Duration, log *slog.Logger,
	more ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { a.PollChanges(ctx) })
	running.Go(func() { sweepHourly(ctx, a, auditRetention, log) })
	for _, work := range more {
		running.Go(func() { work(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// sweepHourly deletes old sessions, and audit records older than the retention time.
func sweepHourly(ctx context.Context, a *auth.Service, auditRetention time.Duration, log *slog.Logger) {
	for {
		err := errors.Join(a.Sweeper.Sweep(ctx), a.Sweeper.DivideAudits(ctx))
		if auditRetention > 0 {
			err = errors.Join(err, a.Sweeper.SweepAudits(ctx, time.Now().Add(-auditRetention)))
		}
		if err != nil && ctx.Err() == nil {
			log.Error("cleanup failed", "retry_in", time.Hour, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Hour):
		}
	}
}

// Values of --login-isolation. isolateThreads is the former name of isolateProcess.
const (
	isolateProcess = "process"
	isolateThreads = "threads"
	isolateNothing = "none"
)

// Commands of child processes.
const (
	hashCommand     = "hash"
	readFileCommand = "read-file"
)

// newHashPasswords returns the command of the child process that hashes passwords for serve.
func newHashPasswords() *cobra.Command {
	return &cobra.Command{
		Use:    hashCommand,
		Short:  "Hash passwords for the parent server process",
		Hidden: true,
		Args:   command.NoArgs,
		Run:    func(*cobra.Command, []string) { hashing.Serve(os.Stdin, os.Stdout) },
	}
}

// newReadFile returns the command of a child process that reads files for serve.
func newReadFile() *cobra.Command {
	return &cobra.Command{
		Use:    readFileCommand,
		Short:  "Read files for the parent server process",
		Hidden: true,
		Args:   command.NoArgs,
		Run:    func(*cobra.Command, []string) { filereader.Serve(os.Stdin, os.Stdout) },
	}
}

// newFileReader returns what reads the files that are uploaded to serve.
func newFileReader(log *slog.Logger) (*filereader.Reader, error) {
	executable, err := ownExecutable()
	return filereader.New(log, checks.ScansAtOnce, executable, readFileCommand), err
}

// newHashing returns a function that hashes passwords as the settings require, and a function that ends it.
func newHashing(c Config, log *slog.Logger) (compute func(hashing.Input) ([]byte, error), stop func(), err error) {
	if c.LoginIsolation == isolateNothing {
		return hashing.Compute, func() {}, nil
	}
	executable, err := ownExecutable()
	process := hashing.NewProcess(log, executable, hashCommand)
	return process.Compute, process.Close, err
}

// ownExecutable returns the file that this process runs. The link in /proc also works after an update replaced the file, but an image
// with only the binary may have no /proc.
func ownExecutable() (string, error) {
	const link = "/proc/self/exe"
	if _, err := os.Stat(link); err == nil {
		return link, nil
	}
	return exec.LookPath(os.Args[0])
}
