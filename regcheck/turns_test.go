package regcheck

import (
	"net"
	"testing"
	"time"
)

// A peer that reads nothing must not keep others waiting, however long our write to it takes.
func TestNoTurnIsHeldWhileAWriteWaits(t *testing.T) {
	shared := new(turns).of(1)
	for range 3 {
		ours, theirs := net.Pipe()
		defer func() { _ = theirs.Close() }()
		c := shared.inTurn(ours)
		defer func() { _ = c.Close() }()
		go func() { _, _ = c.Write([]byte("PING")) }()
		for i := 0; ; i++ {
			c.mu.Lock()
			held := c.held
			c.mu.Unlock()
			if !held {
				break
			}
			if i == 1000 {
				t.Fatal("the turn is held while the write waits")
			}
			time.Sleep(time.Millisecond)
		}
	}
	if !shared.take() {
		t.Error("no turn is free")
	}
}
