// Package childprocess runs a part of this program in a child process: the same binary with other arguments, of lower priority and
// without its environment, files and network. Requests and results are gob messages over pipes, so that secrets in them are in no
// argument, file or log.
package childprocess

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"sync"
	"time"
)

const (
	idleTime  = 10 * time.Second       // after which an idle child process is ended
	startTime = 5 * time.Second        // until the first message of a new child process
	beat      = 100 * time.Millisecond // between messages that show that a child runs
)

// Errors of calls.
var (
	ErrEnded        = errors.New("the child process ended") // killed at one of its limits, for example
	errUnresponsive = errors.New("the child process did not respond and was killed")
)

// Process is a child process that is started on demand, replaced when it fails, and ended when it was idle for 10 seconds, since its
// memory has data of requests. It is safe for concurrent use. It does not limit concurrent calls.
type Process[Q, R any] struct {
	Config

	mu    sync.Mutex
	child *child[Q, R] // nil when none is running
	calls int          // in progress
	idle  *time.Timer
}

// Config is how to run a child process. It has to call Serve, with the same types, with its standard input and output.
type Config struct {
	Executable string
	Args       []string
	Silence    time.Duration // without a message, after which a child that has requests is killed
	Log        *slog.Logger
	Failed     string // is logged when the child ends during a call
}

// New returns a Process without a child process.
func New[Q, R any](c Config) *Process[Q, R] {
	p := &Process[Q, R]{Config: c}
	p.idle = time.AfterFunc(idleTime, p.Close)
	return p
}

// Call returns the result of a request. If ctx ends first, the child process is killed, which ends the other calls too. The error is
// that of ctx, one of this package, or that of a process that cannot be started.
func (p *Process[Q, R]) Call(ctx context.Context, request Q) (result R, err error) {
	c, err := p.begin()
	if err != nil {
		return result, err
	}
	defer p.finish()
	stop := context.AfterFunc(ctx, c.kill)
	result, err = c.compute(request)
	switch {
	case !stop(): // the child is being killed, even if it was faster
		err = ctx.Err()
		p.discard(c)
	case err != nil && p.discard(c):
		p.Log.Warn(p.Failed, "error", err, "state", c.cmd.ProcessState.String(), "output", c.errors.String())
	}
	return result, err
}

// Close ends the child process unless calls are in progress. The next call starts another one.
func (p *Process[Q, R]) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child != nil && p.calls == 0 {
		p.child.end()
		p.child = nil
	}
}

// begin returns the running child, or starts one.
func (p *Process[Q, R]) begin() (*child[Q, R], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil || p.child.hasEnded() {
		c, err := start[Q, R](exec.Command(p.Executable, p.Args...), p.Silence) // #nosec G204 -- the program itself
		if err != nil {
			return nil, err
		}
		p.child = c
	}
	p.calls++
	p.idle.Stop()
	return p.child, nil
}

func (p *Process[Q, R]) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls--; p.calls == 0 {
		p.idle.Reset(idleTime)
	}
}

// discard ends a child that failed, so that the next call starts another one. It reports whether no other call did so.
func (p *Process[Q, R]) discard(c *child[Q, R]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child != c {
		return false
	}
	p.child = nil
	c.end()
	return true
}
