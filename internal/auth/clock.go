package auth

import (
	"sync"
	"time"
)

// steadyClock is a clock that never goes back. When the machine's clock is set back it goes on at the pace
// of the monotonic one, so that what was expired in this process stays expired, and waits and graces last
// as long as they should. When the machine's clock is set forward, or the machine slept, it follows.
type steadyClock struct {
	source func() time.Time

	mu   sync.Mutex
	read time.Time // the last reading of source, with its monotonic part
	at   time.Time // what was told for it
}

func (c *steadyClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.source()
	next := read.Round(0) // by the machine's clock: without the monotonic part
	if !c.read.IsZero() {
		if paced := c.at.Add(max(read.Sub(c.read), 0)); paced.After(next) {
			next = paced
		}
	}
	c.read, c.at = read, next
	return next
}
