package regcheck

import (
	"net"
	"sync"
	"time"
)

// turns bounds how many connections are worked on at once, over all checks of a Checker. A check waits for
// its registry nearly all the time; but when hundreds begin together, or are flooded together, their
// handshakes and decryption would fill Go's queue of runnable goroutines, and whatever else the program
// serves would wait behind them. Here they queue by themselves instead, and one processor stays free: when
// all are busy, the Go runtime looks for network input every 10 ms only.
type turns struct {
	once  sync.Once
	taken chan struct{}
}

// turnPatience is how long work waits for its turn before it goes on without one: nothing may ever stop
// because a turn was not given back.
const turnPatience = time.Second

// smallRead is too little to be much work: a server that drips bytes must not make others queue.
const smallRead = 256

// of says how many there are; the first who says it decides.
func (t *turns) of(most int) *turns {
	t.once.Do(func() { t.taken = make(chan struct{}, max(1, most)) })
	return t
}

func (t *turns) take() (got bool) {
	select {
	case t.taken <- struct{}{}:
		return true
	default:
	}
	patience := time.NewTimer(turnPatience)
	defer patience.Stop()
	select {
	case t.taken <- struct{}{}: // first come, first served
		return true
	case <-patience.C:
		return false
	}
}

// turnConn holds a turn while what came in is worked on, and gives it back to wait for more.
type turnConn struct {
	net.Conn
	turns *turns

	mu     sync.Mutex
	held   bool
	closed bool
}

// inTurn gives a connection that was just opened: it has its turn to say something first.
func (t *turns) inTurn(conn net.Conn) *turnConn {
	c := &turnConn{Conn: conn, turns: t}
	c.take()
	return c
}

func (c *turnConn) Read(b []byte) (int, error) {
	c.rest()
	n, err := c.Conn.Read(b)
	if err == nil && n >= smallRead {
		c.take()
	}
	return n, err
}

// Write waits for a peer that may read nothing, such as one that floods HTTP/2 with PING: no turn is held
// meanwhile, or one hostile registry would hold up everybody's checks. It does not report a reset: Read does, after
// what the peer sent before it. Otherwise net/http would close the connection with a TLS alert unread.
func (c *turnConn) Write(b []byte) (int, error) {
	c.rest()
	n, err := c.Conn.Write(b)
	if isReset(err) {
		return len(b), nil
	}
	return n, err
}

func (c *turnConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.rest()
	return c.Conn.Close()
}

func (c *turnConn) take() {
	if !c.turns.take() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.held { // closed meanwhile: nobody would give it back
		<-c.turns.taken
		return
	}
	c.held = true
}

// rest gives the turn back, if one is held.
func (c *turnConn) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.held = false
		<-c.turns.taken
	}
}
