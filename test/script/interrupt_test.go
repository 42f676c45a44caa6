package script_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

func prepare(t *testing.T, stdin io.Reader, args ...string) *running {
	t.Helper()
	r := &running{Cmd: instance.Command(t.Context(), t, args...)}
	r.Stdin, r.Stdout, r.Stderr = stdin, &r.out, &r.errs
	return r
}

func start(t *testing.T, stdin io.Reader, args ...string) *running {
	t.Helper()
	r := prepare(t, stdin, args...)
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
		{syscall.SIGHUP, nil, 129, "├─ – tls", "regwarden: check terminated; no result\n"},
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

// A check by a server that a signal ends shows no stage, since the server goes on.
func TestSignalEndsTheWaitForACheck(t *testing.T) {
	waiting := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			waiting <- struct{}{}
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items":[{"metadata":{"uid":"1","name":"harbor"},"spec":{"endpoint":"https://harbor.example.com"}}]}`))
	}))
	t.Cleanup(server.Close)
	check := prepare(t, nil, "registry", "check", "harbor", "--server", server.URL)
	check.Env = append(check.Env, "REGWARDEN_API_KEY=key")
	if err := check.Start(); err != nil {
		t.Fatal(err)
	}
	<-waiting
	check.signal(t, syscall.SIGINT)
	_ = check.Wait() // the exit code says more
	if code := check.ProcessState.ExitCode(); code != 130 || check.out.Len() > 0 ||
		!strings.HasSuffix(check.errs.String(), "regwarden: interrupted\n") {
		t.Errorf("exit code %d\n%s%s", code, check.out.String(), check.errs.String())
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

// A signal is the error of what it interrupted, also of commands on a local store.
func TestSignalEndsACommandOfTheStore(t *testing.T) {
	for _, args := range [][]string{{"audit", "verify"}, {"serve"}, {"key", "rotate"}} {
		t.Run(args[0], func(t *testing.T) {
			database, asked := silent(t)
			url := "postgres://regwarden@" + strings.TrimPrefix(database, "http://") + "/regwarden?sslmode=disable"
			command := start(t, nil, append(args, "--data-dir", t.TempDir(), "--database-url", url)...)
			<-asked
			command.signal(t, syscall.SIGTERM)
			_ = command.Wait()
			if command.ProcessState.ExitCode() != 143 || !strings.HasSuffix(command.errs.String(), "regwarden: terminated\n") {
				t.Errorf("%v\n%s%s", command.ProcessState, command.out.String(), command.errs.String())
			}
		})
	}
}

// Below nohup, a closed terminal ends nothing.
func TestIgnoredHangup(t *testing.T) {
	endpoint, asked := silent(t)
	check := prepare(t, nil, "check", "--endpoint", endpoint)
	check.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$@"`, "sh", check.Path}, check.Args[1:]...)
	check.Path = "/bin/sh"
	if err := check.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	check.signal(t, syscall.SIGHUP)
	time.Sleep(100 * time.Millisecond) // a signal that is not ignored would have ended it
	check.signal(t, syscall.SIGTERM)
	_ = check.Wait()
	if check.ProcessState.ExitCode() != 143 {
		t.Errorf("%v\n%s", check.ProcessState, check.errs.String())
	}
}

// A signal also ends commands that wait for more on standard input.
func TestSignalEndsReadsOfStandardInput(t *testing.T) {
	data := instance.Start(t, instance.Options{}).DataDir
	for _, args := range [][]string{
		{"check", "-"}, {"scan", "-"}, {"import", "-", "--data-dir", data}, {"registry", "create", "harbor", "-f", "-", "--data-dir", data},
		{"alert", "create", "-f", "-", "--data-dir", data},
		{"user", "create", "--email", "bob@acme.example", "--password-stdin", "--data-dir", data},
	} {
		t.Run(args[0], func(t *testing.T) {
			in, out := smallPipe(t)
			command := start(t, in, args...)
			if _, err := out.Write(bytes.Repeat([]byte(" "), pipeSize+1)); err != nil { // more than the pipe holds: it reads
				t.Fatal(err)
			}
			command.signal(t, syscall.SIGTERM)
			_ = command.Wait()
			if command.ProcessState.ExitCode() != 143 || command.out.Len() > 0 {
				t.Errorf("%v\n%s%s", command.ProcessState, command.out.String(), command.errs.String())
			}
		})
	}
}

const pipeSize = 4096 // the smallest

// smallPipe returns a pipe that is open until the end of the test.
func smallPipe(t *testing.T) (in, out *os.File) {
	t.Helper()
	in, out, err := os.Pipe()
	if err == nil {
		_, err = unix.FcntlInt(out.Fd(), unix.F_SETPIPE_SZ, pipeSize)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(in.Close(), out.Close()) })
	return in, out
}
