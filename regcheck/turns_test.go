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
		for held := true; held; time.Sleep(time.Millisecond) { // for ever, were it held while the write waits
			c.mu.Lock()
			held = c.held
			c.mu.Unlock()
		}
	}
	if !shared.take() {
		t.Error("no turn is free")
	}
}
