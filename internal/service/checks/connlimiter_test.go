package checks

import (
	"net"
	"testing"
	"testing/synctest"
)

// limited returns a connection with a slot of l, and its other end.
func limited(t *testing.T, l *ConnLimiter) (*limitedConn, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	c := l.limit(ours)
	t.Cleanup(func() { _, _ = c.Close(), theirs.Close() })
	return c, theirs
}

// A connection holds a slot while the program works on the data read, and releases it to wait for more.
func TestConnLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ConnLimiter{slots: make(chan struct{}, 1)}
		c, theirs := limited(t, l)
		if len(l.slots) != 1 {
			t.Error("a new connection has no slot")
		}
		for _, row := range []struct{ size, slots int }{{smallRead - 1, 0}, {smallRead, 1}} {
			go func() { _, _ = theirs.Write(make([]byte, row.size)) }()
			if _, err := c.Read(make([]byte, 1024)); err != nil || len(l.slots) != row.slots {
				t.Errorf("after a read of %d bytes %d slots are held: %v", row.size, len(l.slots), err)
			}
		}
		if err := c.Close(); err != nil || len(l.slots) != 0 {
			t.Errorf("a closed connection holds %d slots: %v", len(l.slots), err)
		}
	})
}

// A blocked write to a peer that does not read must not make other connections wait.
func TestNoSlotIsHeldWhileAWriteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ConnLimiter{slots: make(chan struct{}, 1)}
		c, theirs := limited(t, l)
		go func() { _, _ = c.Write([]byte("PING")) }()
		synctest.Wait()
		if len(l.slots) != 0 {
			t.Error("the slot is held while the write waits")
		}
		_ = theirs.Close()
		synctest.Wait()
	})
}

// A slot that is not released delays other connections, but blocks none.
func TestConnectionContinuesWithoutASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ConnLimiter{slots: make(chan struct{}, 1)}
		limited(t, l)
		second, _ := limited(t, l)
		if second.held || len(l.slots) != 1 {
			t.Errorf("held %t of %d", second.held, len(l.slots))
		}
	})
}
