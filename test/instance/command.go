package instance

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const commandWait = 30 * time.Second

// Result is how a command ended.
type Result struct {
	Out, Err string
	Code     int
}

// Command is a regwarden command, not yet started, that ends with ctx.
func Command(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, Binary(t), args...)
	cmd.Env = environment(t, Options{Bare: true})
	return cmd
}

// Run runs one regwarden command to its end.
func Run(t testing.TB, stdin string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandWait)
	defer cancel()
	cmd := Command(ctx, t, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("run regwarden %s: %v", strings.Join(args, " "), err)
	}
	return Result{Out: out.String(), Err: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// RunInTerminal runs a command whose stdout is a terminal, and returns what a person would see, with
// what is meant for the terminal alone (ECMA-48) still in it.
func RunInTerminal(t testing.TB, env []string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandWait)
	defer cancel()
	terminal := OpenTerminal(t)
	cmd := Command(ctx, t, args...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout = terminal.Slave
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("run regwarden %s: %v", strings.Join(args, " "), err)
	}
	_ = terminal.Slave.Close() // the last writer gone, the lines end
	var out strings.Builder
	for line := range terminal.Lines {
		out.WriteString(line + "\n")
	}
	return Result{Out: out.String(), Code: cmd.ProcessState.ExitCode()}
}

// StartInTerminal starts a command that a person uses at the terminal: all its streams are there, and Ctrl-C reaches it.
func StartInTerminal(t testing.TB, terminal Terminal, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandWait)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, Binary(t), args...)
	cmd.Env = environment(t, Options{Bare: true})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal.Slave, terminal.Slave, terminal.Slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start regwarden %s: %v", strings.Join(args, " "), err)
	}
	return cmd
}

// Admin runs a command on the store of the running server and returns what it printed.
func (s *Server) Admin(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	result := Run(t, stdin, append(args, "--data-dir", s.DataDir)...)
	if result.Code != 0 {
		t.Fatalf("regwarden %s: exit code %d\n%s", strings.Join(args, " "), result.Code, result.Err)
	}
	return strings.TrimSuffix(result.Out, "\n")
}
