package main

import (
	"log/slog"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/internal/hashing"
)

// Values of --login-isolation. isolateThreads is the former name of isolateProcess.
const (
	isolateProcess = "process"
	isolateThreads = "threads"
	isolateNothing = "none"
)

const hashCommand = "hash"

// newHashPasswords is the child process of serve that hashes passwords.
func newHashPasswords() *cobra.Command {
	return &cobra.Command{
		Use:    hashCommand,
		Short:  "Hash passwords for the server that started this",
		Hidden: true,
		Args:   noArgs,
		Run:    func(*cobra.Command, []string) { hashing.Serve(os.Stdin, os.Stdout) },
	}
}

// newHashing returns what hashes passwords under these settings, and what ends it.
func newHashing(c Config, log *slog.Logger) (compute func(hashing.Input) ([]byte, error), stop func(), err error) {
	if c.LoginIsolation == isolateNothing {
		return hashing.Compute, func() {}, nil
	}
	executable, err := ownExecutable()
	process := hashing.NewProcess(log, executable, hashCommand)
	return process.Compute, process.Close, err
}

// ownExecutable names the file that this process runs. The link of Linux also works after an update replaced the file; an
// image with nothing but the binary may have no /proc.
func ownExecutable() (string, error) {
	const link = "/proc/self/exe"
	if _, err := os.Stat(link); err == nil {
		return link, nil
	}
	return exec.LookPath(os.Args[0])
}
