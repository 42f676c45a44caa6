package checks

import (
	"context"
	"net"
	"runtime"
	"sync"
	"time"
)

// ConnLimiter is a dialer that bounds how many connections of checks use a processor at once. A check waits for its
// registry nearly all the time, but when hundreds begin together, or are flooded together, their handshakes and decryption
// would fill Go's queue of runnable goroutines, and every other request would wait behind them. One processor stays free:
// when all are busy, the Go runtime looks for network input every 10 ms only.
type ConnLimiter struct {
	dialer net.Dialer
	slots  chan struct{}
}

const (
	// slotTimeout is how long a connection waits for a slot before it continues without one, so that a slot that is not
	// released blocks nothing.
	slotTimeout = time.Second
	// smallRead is too little to be much work: a server that sends single bytes must not make others wait.
	smallRead = 256
)

// NewConnLimiter returns a limiter with a slot for each processor but one.
func NewConnLimiter() *ConnLimiter {
	return &ConnLimiter{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))}
}

// DialContext connects. The new connection has a slot for its first message.
func (l *ConnLimiter) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := l.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return l.limit(conn), nil
}

func (l *ConnLimiter) limit(conn net.Conn) *limitedConn {
	c := &limitedConn{Conn: conn, slots: l.slots}
	c.acquire()
	return c
}

// limitedConn has a slot from the end of a read until its next call, while the program works on what was read.
type limitedConn struct {
	net.Conn
	slots chan struct{}

	mu     sync.Mutex
	held   bool
	closed bool
}

func (c *limitedConn) Read(b []byte) (int, error) {
	c.release()
	n, err := c.Conn.Read(b)
	if err == nil && n >= smallRead {
		c.acquire()
	}
	return n, err
}

// Write may wait for a peer that reads nothing, so it has no slot.
func (c *limitedConn) Write(b []byte) (int, error) {
	c.release()
	return c.Conn.Write(b)
}

func (c *limitedConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.release()
	return c.Conn.Close()
}

func (c *limitedConn) acquire() {
	select {
	case c.slots <- struct{}{}:
	default:
		timeout := time.NewTimer(slotTimeout)
		defer timeout.Stop()
		select {
		case c.slots <- struct{}{}: // first come, first served
		case <-timeout.C:
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.held {
		<-c.slots // no later call would release it
		return
	}
	c.held = true
}

func (c *limitedConn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.held = false
		<-c.slots
	}
}
