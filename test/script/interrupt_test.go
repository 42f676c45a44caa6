package script_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// silent is a registry that never responds. asked receives each connection on which a request begins.
func silent(t *testing.T) (endpoint string, asked <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 16)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				conns <- conn // open until the test's process ends
			}
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return "http://" + listener.Addr().String(), conns
}

// running is a command that is under way, and what it printed when it has ended.
type running struct {
	*exec.Cmd
	out, errs bytes.Buffer
}

func start(t *testing.T, stdin io.Reader, args ...string) *running {
	t.Helper()
	r := &running{Cmd: instance.Command(t.Context(), t, args...)}
	r.Stdin, r.Stdout, r.Stderr = stdin, &r.out, &r.errs
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) signal(t *testing.T, signals ...syscall.Signal) {
	t.Helper()
	for _, s := range signals {
		if err := r.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// A check that a signal ends has no result, and shows no stage that failed only because of that.
func TestSignalEndsACheckWithoutResult(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		args   []string
		code   int
		out    string // the last line of standard output
		err    string
	}{
		{syscall.SIGINT, nil, 130, "├─ – tls", "regwarden: check interrupted; no result\n"},
		{syscall.SIGTERM, nil, 143, "├─ – tls", "regwarden: check terminated; no result\n"},
		{syscall.SIGINT, []string{"--output", "json"}, 130, "", "regwarden: check interrupted; no result\n"},
	} {
		endpoint, asked := silent(t)
		check := start(t, nil, append([]string{"check", "--endpoint", endpoint}, tt.args...)...)
		<-asked
		check.signal(t, tt.signal)
		_ = check.Wait() // the exit code says more
		lines := strings.Split(strings.TrimSpace(check.out.String()), "\n")
		if check.ProcessState.ExitCode() != tt.code || check.errs.String() != tt.err {
			t.Errorf("%v: %v\n%s", tt.signal, check.ProcessState, check.errs.String())
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, tt.out) || strings.Contains(check.out.String(), "✗") {
			t.Errorf("%v shows a stage that did not end:\n%s", tt.signal, check.out.String())
		}
	}
}

// A second signal ends the check at once.
func TestTwoSignalsEndACheck(t *testing.T) {
	endpoint, asked := silent(t)
	check := start(t, nil, "check", "--endpoint", endpoint)
	<-asked
	check.signal(t, syscall.SIGINT, syscall.SIGINT)
	_ = check.Wait()
	status := check.ProcessState.Sys().(syscall.WaitStatus)
	if code := status.ExitStatus(); code != 130 && !(status.Signaled() && status.Signal() == syscall.SIGINT) {
		t.Errorf("%v\n%s", check.ProcessState, check.errs.String())
	}
}

// Also while it waits for a definition on standard input.
func TestSignalEndsACheckThatReadsStandardInput(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }() // not earlier: it is to wait for more
	check := start(t, in, "check", "-")
	if _, err := out.Write(bytes.Repeat([]byte(" "), 200<<10)); err != nil { // more than a pipe holds: it reads
		t.Fatal(err)
	}
	check.signal(t, syscall.SIGINT)
	_ = check.Wait()
	if check.ProcessState.ExitCode() != 130 || check.out.Len() > 0 {
		t.Errorf("%v\n%s%s", check.ProcessState, check.out.String(), check.errs.String())
	}
}
