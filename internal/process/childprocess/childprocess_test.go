package childprocess

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is its own child process.
const asChild = "child"

const silence = time.Second

// testLimits are those of the child, none where the test does not exceed them.
var testLimits Limits

// Requests of the child.
const (
	upper   = "upper"   // returns the rest in uppercase
	compute = "compute" // never returns
	exhaust = "exhaust" // allocates without end
	openAny = "open"    // reports whether a file can be opened
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asChild {
		Serve(os.Stdin, os.Stdout, testLimits, handle)
		return
	}
	goleak.VerifyTestMain(m)
}

func handle(request string) string {
	verb, rest, _ := strings.Cut(request, " ")
	switch verb {
	case compute:
		for {
			runtime.Gosched()
		}
	case exhaust:
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 1<<20))
		}
	case openAny:
		_, err := os.Open(rest)
		return errors.Unwrap(err).Error()
	}
	return strings.ToUpper(rest)
}

// newTestProcess returns a process and its log.
func newTestProcess(t testing.TB) (*Process[string, string], *strings.Builder) {
	log := &strings.Builder{}
	p := New[string, string](Config{Executable: os.Args[0], Args: []string{asChild}, Silence: silence,
		Log: slog.New(slog.NewTextHandler(log, nil)), Failed: "it failed"})
	t.Cleanup(p.Close)
	return p, log
}

func wantUpper(t *testing.T, p *Process[string, string]) {
	t.Helper()
	if got, err := p.Call(t.Context(), upper+" a word"); got != "A WORD" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestIdleProcessIsEnded(t *testing.T) {
	p, log := newTestProcess(t)
	wantUpper(t, p)
	first := p.child
	if !p.idle.Reset(0) {
		t.Error("the idle process was not ended")
	}
	<-first.ended
	wantUpper(t, p)
	if p.child == first || log.String() != "" {
		t.Errorf("no new process was started, or the end was logged: %s", log)
	}
}

// TestCallsInProgressKeepTheProcess closes while a call is in progress.
func TestCallsInProgressKeepTheProcess(t *testing.T) {
	p, _ := newTestProcess(t)
	c, err := p.begin()
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if p.child != c || p.idle.Stop() {
		t.Error("a process with calls in progress was ended, or will be")
	}
	p.finish()
}

// TestKilledProcessIsReplaced kills the process repeatedly during calls, and between them.
func TestKilledProcessIsReplaced(t *testing.T) {
	p, log := newTestProcess(t)
	for range 10 {
		wantUpper(t, p)
		killed := p.child
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := p.Call(t.Context(), compute); !errors.Is(err, ErrEnded) {
					t.Errorf("a killed call: %v", err)
				}
			})
		}
		for killed.inProgress() < 4 {
			time.Sleep(time.Millisecond)
		}
		killed.kill()
		all.Wait()
		wantUpper(t, p)
		p.child.end() // nothing failed, so this is not logged
	}
	if n := strings.Count(log.String(), "it failed"); n != 10 {
		t.Errorf("%d log lines:\n%s", n, log)
	}
}

func (c *child[Q, R]) inProgress() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// TestStoppedProcessIsReplaced stops the process before a small request, and before one that does not fit into the pipe.
func TestStoppedProcessIsReplaced(t *testing.T) {
	for _, length := range []int{1, 1 << 20} {
		p, log := newTestProcess(t)
		wantUpper(t, p)
		if err := p.child.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		began, err := time.Now(), error(nil)
		for err == nil { // the signal may arrive after a call
			began = time.Now()
			_, err = p.Call(t.Context(), upper+" "+strings.Repeat("a", length))
		}
		if !errors.Is(err, errUnresponsive) {
			t.Errorf("%d bytes: %v", length, err)
		}
		if took := time.Since(began); took < silence/2 || took > 10*silence {
			t.Errorf("%d bytes took %v", length, took)
		}
		if !strings.Contains(log.String(), "did not respond") {
			t.Errorf("log: %s", log)
		}
		wantUpper(t, p)
	}
}

// TestCanceledCallEndsTheProcess cancels a call that computes. The process ends at once, not at its limit of two seconds, and the next call
// has another one.
func TestCanceledCallEndsTheProcess(t *testing.T) {
	p, log := newTestProcess(t)
	wantUpper(t, p)
	canceled := p.child
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for canceled.inProgress() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := p.Call(ctx, compute); !errors.Is(err, context.Canceled) || !canceled.hasEnded() {
		t.Fatalf("%v, ended: %v", err, canceled.hasEnded())
	}
	if used := canceled.cmd.ProcessState.UserTime(); used > time.Second {
		t.Errorf("the process used %v of processor time", used)
	}
	wantUpper(t, p)
	if log.String() != "" {
		t.Errorf("it is logged: %s", log)
	}
}

// TestStopSignalsDoNotEndTheProcess sends the signals that a terminal and systemd send to all processes of a service.
func TestStopSignalsDoNotEndTheProcess(t *testing.T) {
	p, _ := newTestProcess(t)
	wantUpper(t, p)
	before := p.child
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := before.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	wantUpper(t, p)
	if p.child != before {
		t.Error("the process ended")
	}
}

func TestProcessThatCannotRun(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if _, err := New[string, string](Config{Executable: t.TempDir() + "/missing", Log: log}).Call(t.Context(),
		""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	p := New[string, string](Config{Executable: os.Args[0], Args: []string{"-test.list=^$"}, Silence: silence, Log: log})
	if _, err := p.Call(t.Context(), ""); !errors.Is(err, ErrEnded) || p.child != nil {
		t.Errorf("a process that does not call Serve: %v", err)
	}
}
