// The race detector maps more memory than the limit.

//go:build !race

package childprocess

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() { testLimits = Limits{Memory: 256 << 20, CPU: 2 * time.Second} }

// TestLimits exceeds each limit of the child process.
func TestLimits(t *testing.T) {
	p, log := newTestProcess(t)
	for _, request := range []string{compute, exhaust} {
		if _, err := p.Call(t.Context(), request); !errors.Is(err, ErrEnded) {
			t.Errorf("%s: %v", request, err)
		}
	}
	if got, err := p.Call(t.Context(), openAny+" "+os.DevNull); got != syscall.EMFILE.Error() || err != nil {
		t.Errorf("opening a file: %q, %v", got, err)
	}
	got := log.String()
	// Go's runtime has two sentences, for the heap and for its own structures.
	noMemory := strings.Contains(got, "out of memory") || strings.Contains(got, "runtime: cannot allocate memory")
	if !noMemory || !strings.Contains(got, "signal: killed") || !strings.Contains(got, "exit status 2") ||
		strings.Contains(got, "goroutine") {
		t.Errorf("log: %s", got)
	}
}

// TestSilentProcessGetsTime: a process that is silent, but not stopped, is killed the second time only.
func TestSilentProcessGetsTime(t *testing.T) {
	p, log := newTestProcess(t)
	p.Silence = time.Minute // giveUp is called here
	wantUpper(t, p)
	silent := p.child
	ended := make(chan error, 1)
	go func() {
		_, err := p.Call(t.Context(), compute)
		ended <- err
	}()
	for silent.inProgress() == 0 {
		time.Sleep(time.Millisecond)
	}
	if silent.giveUp(); silent.unresponsive.Load() {
		t.Error("it was killed the first time")
	}
	for !silent.unresponsive.Load() { // until no message arrives between two calls
		silent.giveUp()
	}
	if err := <-ended; !errors.Is(err, errUnresponsive) || !strings.Contains(log.String(), "did not respond") {
		t.Errorf("%v, log: %s", err, log)
	}
	wantUpper(t, p)
}
