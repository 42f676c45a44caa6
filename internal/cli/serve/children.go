package serve

import (
	"log/slog"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/filereader"
	"github.com/regwarden/regwarden/internal/service/hashing"
)

// Commands of child processes.
const (
	HashCommand     = "hash"
	ReadFileCommand = "read-file"
)

// NewHashPasswords returns the command of the child process that hashes passwords for serve.
func NewHashPasswords() *cobra.Command {
	return &cobra.Command{
		Use:    HashCommand,
		Short:  "Hash passwords for the parent server process",
		Hidden: true,
		Args:   command.NoArgs,
		Run:    func(*cobra.Command, []string) { hashing.Serve(os.Stdin, os.Stdout) },
	}
}

// NewReadFile returns the command of a child process that reads files for serve.
func NewReadFile() *cobra.Command {
	return &cobra.Command{
		Use:    ReadFileCommand,
		Short:  "Read files for the parent server process",
		Hidden: true,
		Args:   command.NoArgs,
		Run:    func(*cobra.Command, []string) { filereader.Serve(os.Stdin, os.Stdout) },
	}
}

// newFileReader returns what reads the files that are uploaded to serve.
func newFileReader(log *slog.Logger) (*filereader.Reader, error) {
	executable, err := ownExecutable()
	return filereader.New(log, checks.ScansAtOnce, executable, ReadFileCommand), err
}

// newHashing returns a function that hashes passwords as the settings require, and a function that ends it.
func newHashing(c *settings.Config, log *slog.Logger) (compute func(hashing.Input) ([]byte, error), stop func(), err error) {
	if c.LoginIsolation == settings.IsolateNothing {
		return hashing.Compute, func() {}, nil
	}
	executable, err := ownExecutable()
	process := hashing.NewProcess(log, executable, HashCommand)
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
