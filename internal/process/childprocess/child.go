package childprocess

import (
	"bytes"
	"encoding/gob"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// child is a running child process.
type child[Q, R any] struct {
	cmd          *exec.Cmd
	errors       *firstLine
	ended        chan struct{}
	silence      time.Duration
	unresponsive atomic.Bool // and therefore killed
	quiet        *time.Timer // ends a silence

	sending  sync.Mutex // not mu: a child that is stopped reads nothing
	requests *gob.Encoder

	mu      sync.Mutex
	last    uint64
	allowed time.Duration     // without a message; silence after the first one
	silent  bool              // for allowed already
	waiting map[uint64]chan R // by request number; nil when the process has ended
}

func start[Q, R any](cmd *exec.Cmd, silence time.Duration) (*child[Q, R], error) {
	cmd.Env = []string{} // the environment may contain secrets
	errors := &firstLine{}
	cmd.Stderr = errors // of the Go runtime
	cmd.SysProcAttr = ownGroup()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child[Q, R]{cmd: cmd, errors: errors, ended: make(chan struct{}), allowed: max(startTime, silence), silence: silence,
		requests: gob.NewEncoder(in), waiting: map[uint64]chan R{}}
	c.quiet = time.AfterFunc(startTime, c.giveUp)
	c.quiet.Stop()
	go c.receive(out)
	return c, nil
}

// compute returns ErrEnded or errUnresponsive if there is no result.
func (c *child[Q, R]) compute(q Q) (result R, err error) {
	number, results := c.expect()
	if results != nil {
		c.sending.Lock()
		err = c.requests.Encode(request[Q]{number, q})
		c.sending.Unlock()
	}
	if err != nil {
		c.kill() // a part of the request may have been sent
	}
	if results != nil {
		if result, ok := <-results; ok {
			return result, nil
		}
	}
	if c.unresponsive.Load() {
		return result, errUnresponsive
	}
	return result, ErrEnded
}

// expect returns a channel that delivers the result of the next request, or is closed if the process ends before; nil if it has ended.
func (c *child[Q, R]) expect() (number uint64, result chan R) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		return 0, nil
	}
	if len(c.waiting) == 0 {
		c.quiet.Reset(c.allowed)
	}
	c.last++
	result = make(chan R, 1)
	c.waiting[c.last] = result
	return c.last, result
}

// receive delivers results until the process ends.
func (c *child[Q, R]) receive(out io.Reader) {
	defer close(c.ended)
	replies := gob.NewDecoder(progress{out, c.responded})
	for {
		var r reply[R]
		if replies.Decode(&r) != nil {
			break
		}
		c.deliver(r)
	}
	c.kill()         // it may have closed its output only
	_ = c.cmd.Wait() // cmd.ProcessState has the result
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet.Stop()
	for _, result := range c.waiting {
		close(result)
	}
	c.waiting = nil
}

func (c *child[Q, R]) deliver(r reply[R]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if result, ok := c.waiting[r.Number]; ok {
		result <- r.Result
		delete(c.waiting, r.Number)
	}
	if len(c.waiting) == 0 {
		c.quiet.Stop()
	}
}

// progress is a reader that reports each read, since a long result arrives in parts.
type progress struct {
	io.Reader
	report func()
}

func (p progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.report()
	return n, err
}

// responded begins the wait for the next message.
func (c *child[Q, R]) responded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed, c.silent = c.silence, false
	if len(c.waiting) > 0 {
		c.quiet.Reset(c.allowed)
	}
}

// giveUp kills a process that has sent nothing for a while, although it has requests. One that is not stopped gets more time once: it may
// only wait for a processor.
func (c *child[Q, R]) giveUp() {
	if c.mayWait() {
		return
	}
	c.unresponsive.Store(true)
	c.kill()
}

func (c *child[Q, R]) mayWait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return true
	}
	if c.silent || isStopped(c.cmd.Process.Pid) {
		return false
	}
	c.silent = true
	c.quiet.Reset(startTime)
	return true
}

func (c *child[Q, R]) kill() { _ = c.cmd.Process.Kill() } // fails only after the process has ended

// end kills the process and waits until it has ended. Its state is not needed.
func (c *child[Q, R]) end() {
	c.kill()
	<-c.ended
}

func (c *child[Q, R]) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

const maxLine = 200

// firstLine retains the first line that the Go runtime writes when it ends a process. The rest are stacks, and a line of a panic may have
// data of a request.
type firstLine struct {
	text     []byte
	complete bool
}

func (l *firstLine) Write(b []byte) (int, error) {
	if !l.complete {
		line, _, found := bytes.Cut(b, []byte("\n"))
		l.text = append(l.text, line...)
		l.complete = found || len(l.text) > maxLine
	}
	return len(b), nil
}

func (l *firstLine) String() string {
	for _, prefix := range []string{"fatal error: ", "runtime: "} {
		if bytes.HasPrefix(l.text, []byte(prefix)) {
			return string(l.text)
		}
	}
	return ""
}
