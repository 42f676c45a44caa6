package hashing

import (
	"fmt"
	"log/slog"
	"os/exec"
	"sync"
	"time"
)

const (
	idleTime = 10 * time.Second // after which an idle child process is ended
	timeout  = 30 * time.Second // a call takes milliseconds
	attempts = 2                // the second one uses a new child process
)

// Process computes in a child process, which is started on demand and ended when it was idle for 10 seconds, since its
// memory derives from passwords. It is safe for concurrent use. It does not limit concurrent calls.
type Process struct {
	executable string
	args       []string
	log        *slog.Logger

	mu    sync.Mutex
	child *child // nil when none is running
	calls int    // in progress
	idle  *time.Timer

	timeout time.Duration // per call; then the child process is killed
}

// NewProcess returns a Process whose child is executable with args. The child has to call Serve with its standard input
// and output.
func NewProcess(log *slog.Logger, executable string, args ...string) *Process {
	p := &Process{executable: executable, args: args, log: log, timeout: timeout}
	p.idle = time.AfterFunc(idleTime, p.Close)
	return p
}

// Compute computes in the child process. If the child ends during the call, it is replaced once.
func (p *Process) Compute(in Input) (tag []byte, err error) {
	for range attempts {
		if tag, err = p.try(in); err == nil {
			return tag, nil
		}
	}
	return nil, fmt.Errorf("hash in a child process: %w", err)
}

// Close ends the child process unless calls are in progress. The next call starts another one.
func (p *Process) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child != nil && p.calls == 0 {
		p.child.end()
		p.child = nil
	}
}

func (p *Process) try(in Input) (tag []byte, err error) {
	c, err := p.begin()
	if err != nil {
		return nil, err
	}
	defer p.finish()
	hanging := time.AfterFunc(p.timeout, c.end)
	defer hanging.Stop()
	if tag, err = c.compute(in); err != nil {
		p.discard(c, err)
	}
	return tag, err
}

// begin returns the running child, or starts one.
func (p *Process) begin() (*child, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil {
		c, err := start(exec.Command(p.executable, p.args...)) // #nosec G204 -- the program itself
		if err != nil {
			return nil, err
		}
		p.child = c
	}
	p.calls++
	p.idle.Stop()
	return p.child, nil
}

func (p *Process) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls--; p.calls == 0 {
		p.idle.Reset(idleTime)
	}
}

// discard ends a child that failed, so that the next call starts another one.
func (p *Process) discard(c *child, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child != c { // discarded by another call
		return
	}
	p.child = nil
	c.end()
	p.log.Warn("password hashing process failed", "error", err, "state", c.cmd.ProcessState.String())
}
