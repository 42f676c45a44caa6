package regchecktest

import (
	"context"
	"net"
	"sync"
	"time"
)

// Far is the world's dialer with a long way in between: each direction takes that time, and so does
// each direction of the TCP handshake. Time divided by twice the way is then the number of round
// trips that a client spent one after the other.
func (g *Registry) Far(oneWay time.Duration) interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
} {
	return &far{g, oneWay}
}

type far struct {
	near   *Registry
	oneWay time.Duration
}

func (f *far) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := f.near.DialContext(ctx, network, address)
	select {
	case <-time.After(2 * f.oneWay):
	case <-ctx.Done():
		if err == nil {
			_ = conn.Close()
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	}
	if err != nil {
		return nil, err
	}
	return newFarConn(conn, f.oneWay), nil
}

// farConn delays what is written and what is read, keeping order and not slowing the flow: bytes
// under way do not wait for each other.
type farConn struct {
	net.Conn
	out, in net.Conn // ends of the pipes that the delays feed and drain
	closing sync.Once
}

func newFarConn(conn net.Conn, oneWay time.Duration) *farConn {
	outNear, outFar := net.Pipe()
	inNear, inFar := net.Pipe()
	go carry(outFar, conn, oneWay)
	go carry(conn, inFar, oneWay)
	return &farConn{Conn: conn, out: outNear, in: inNear}
}

func (c *farConn) Write(b []byte) (int, error)       { return c.out.Write(b) }
func (c *farConn) Read(b []byte) (int, error)        { return c.in.Read(b) }
func (c *farConn) SetReadDeadline(t time.Time) error { return c.in.SetReadDeadline(t) }
func (c *farConn) SetWriteDeadline(t time.Time) error {
	return c.out.SetWriteDeadline(t)
}

func (c *farConn) SetDeadline(t time.Time) error {
	_ = c.in.SetReadDeadline(t)
	return c.out.SetWriteDeadline(t)
}

func (c *farConn) Close() error {
	c.closing.Do(func() {
		_ = c.out.Close()
		_ = c.in.Close()
	})
	return c.Conn.Close()
}

type parcel struct {
	bytes   []byte
	arrives time.Time
}

// carry moves bytes from one end to the other, each parcel when its time has come. When one end
// closes, the other is closed once everything under way has arrived.
func carry(from, to net.Conn, oneWay time.Duration) {
	under := make(chan parcel, 1024)
	go func() {
		defer close(under)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				under <- parcel{buffer[:n], time.Now().Add(oneWay)}
			}
			if err != nil {
				return
			}
		}
	}()
	broken := false
	for p := range under {
		time.Sleep(time.Until(p.arrives))
		if !broken {
			_, err := to.Write(p.bytes)
			broken = err != nil
		}
	}
	_ = to.Close()
	_ = from.Close()
}
