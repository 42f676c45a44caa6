package hashing

import (
	"encoding/gob"
	"io"
	"os"
	"os/exec"
	"sync"
)

// child is a running child process.
type child struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu       sync.Mutex
	requests *gob.Encoder
	last     uint64
	waiting  map[uint64]chan []byte // for the tag, by request number; nil when the process has ended
}

func start(cmd *exec.Cmd) (*child, error) {
	cmd.Env = []string{}   // the environment may contain secrets
	cmd.Stderr = os.Stderr // discarding it requires /dev/null, which an image may lack
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
	c := &child{cmd: cmd, ended: make(chan struct{}), requests: gob.NewEncoder(in), waiting: map[uint64]chan []byte{}}
	go c.receive(out)
	return c, nil
}

func (c *child) compute(in Input) ([]byte, error) {
	result, err := c.send(in)
	if err != nil {
		return nil, err
	}
	if tag, ok := <-result; ok {
		return tag, nil
	}
	return nil, io.ErrUnexpectedEOF
}

// send returns a channel that delivers the tag, or is closed if the process ends before.
func (c *child) send(in Input) (<-chan []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		return nil, io.ErrUnexpectedEOF
	}
	c.last++
	result := make(chan []byte, 1)
	c.waiting[c.last] = result
	return result, c.requests.Encode(request{c.last, in})
}

// receive delivers tags until the process ends.
func (c *child) receive(out io.Reader) {
	defer close(c.ended)
	replies := gob.NewDecoder(out)
	for {
		var r reply
		if replies.Decode(&r) != nil {
			break
		}
		c.deliver(r)
	}
	_ = c.cmd.Wait() // cmd.ProcessState has the result
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, result := range c.waiting {
		close(result)
	}
	c.waiting = nil
}

func (c *child) deliver(r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if result, ok := c.waiting[r.Number]; ok {
		result <- r.Tag
		delete(c.waiting, r.Number)
	}
}

// end kills the process and waits until it has ended. Its state is not needed.
func (c *child) end() {
	_ = c.cmd.Process.Kill() // fails only after the process has ended
	<-c.ended
}
