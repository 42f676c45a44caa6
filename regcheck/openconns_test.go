package regcheck_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
)

// openConns counts the connections of a dialer that are not closed.
type openConns struct {
	egress.Dialer
	count atomic.Int32
}

func (o *openConns) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := o.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	o.count.Add(1)
	return &countedConn{Conn: conn, of: o}, nil
}

// left waits until all connections are closed, and returns how many are not near the end of the test's time.
func (o *openConns) left(t *testing.T) int {
	t.Helper()
	deadline, limited := t.Deadline()
	for o.count.Load() > 0 && !(limited && time.Until(deadline) < 10*time.Second) {
		time.Sleep(time.Millisecond)
	}
	return int(o.count.Load())
}

type countedConn struct {
	net.Conn
	of     *openConns
	closed atomic.Bool
}

func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.of.count.Add(-1)
	}
	return c.Conn.Close()
}
