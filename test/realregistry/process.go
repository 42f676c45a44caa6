package realregistry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/testport"
)

const (
	startWait = time.Minute // docker-registry needs 0.2 s; a loaded machine much longer
	stopWait  = 10 * time.Second
)

// process is a program that runs until the test ends.
type process struct {
	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when it has ended
	err  error         // of Wait; read after done
}

// Listening runs a program until the test ends, and returns the address of loopback that prepare got for it, once it accepts connections.
// prepare returns its arguments.
func Listening(t testing.TB, path string, prepare func(address string) []string) (address string) {
	t.Helper()
	return startListening(t, path, prepare, acceptsTCP)
}

// startListening runs a program on an address of its own. prepare writes its configuration for that
// address and returns its arguments; ready returns nil once it is up.
func startListening(t testing.TB, path string, prepare func(address string) []string,
	ready func(ctx context.Context, address string) error) string {
	t.Helper()
	address := testport.Unused(t)
	p := run(t, path, prepare(address)...)
	if err := p.await(address, ready); err != nil {
		t.Fatalf("%s does not start: %v", path, err) // and its log is shown
	}
	return address
}

func run(t testing.TB, path string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(path, args...), log: &tail{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "OTEL_TRACES_EXPORTER=none"}
	// A test binary that dies by its own time limit runs no clean-up: the kernel ends the program then.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("log of %s:\n%s", path, p.log)
		}
	})
	return p
}

func (p *process) await(address string, ready func(context.Context, string) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	var last error
	for {
		if last = ready(ctx, address); last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended: %w", errors.Join(p.err, last))
		case <-ctx.Done():
			return fmt.Errorf("it does not respond: %w", last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the process by its own id and waits until it is gone.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails when it has ended, which is what is wanted
	select {
	case <-p.done:
	case <-time.After(stopWait):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// respondsHTTP returns nil after any HTTP response.
func respondsHTTP(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v2/", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// acceptsTCP returns nil once a connection is accepted: a TLS server may reject anything further.
func acceptsTCP(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// tail keeps the last part of a log. Writers may be many.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 8 << 10

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if extra := len(l.text) - tailSize; extra > 0 {
		l.text = l.text[extra:]
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.text))
}
