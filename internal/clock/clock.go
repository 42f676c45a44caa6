// Package clock has the clocks of a server. They do not go back when the clock of the machine is set back, so that what has expired
// stays expired and no wait ends early.
package clock

import (
	"sync"
	"time"
)

// A step is a difference between the clock of the machine and the elapsed time. Smaller differences are of their rounding.
const step = time.Second

// Clock follows the clock of the machine, but never goes back: while that is behind, after it was set back, it runs at half the speed.
// A Clock is safe for concurrent use.
type Clock struct {
	machine func() time.Time
	elapsed func() time.Duration
	hold    time.Duration

	mu      sync.Mutex
	at      time.Time     // the last time returned
	atTime  time.Duration // elapsed then
	ahead   bool          // the machine has been ahead by a step
	aheadAt time.Duration // elapsed when that began
}

// New returns a clock that ignores a step forward of the machine until it has lasted for hold.
func New(hold time.Duration) *Clock {
	began := time.Now()
	return NewFrom(time.Now, func() time.Duration { return time.Since(began) }, hold)
}

// NewFrom is New for a clock of the machine and the elapsed time, which must not depend on that clock.
func NewFrom(machine func() time.Time, elapsed func() time.Duration, hold time.Duration) *Clock {
	return &Clock{machine: machine, elapsed: elapsed, hold: hold, at: machine().Round(0), atTime: elapsed()}
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	elapsed := c.elapsed()
	c.at = c.next(c.machine().Round(0), elapsed) // without the monotonic reading, which would hide that the clock was set
	c.atTime = elapsed
	return c.at
}

func (c *Clock) next(machine time.Time, elapsed time.Duration) time.Time {
	passed := elapsed - c.atTime
	expected := c.at.Add(passed)
	if machine.Sub(expected) > step {
		if !c.ahead {
			c.ahead, c.aheadAt = true, elapsed
		}
		if elapsed-c.aheadAt < c.hold {
			return expected
		}
	}
	c.ahead = false
	if slow := c.at.Add(passed / 2); machine.Before(slow) {
		return slow
	}
	return machine
}

// Behind returns how far the clock of the machine is behind this one, or behind a given time if that is more. It is
// zero if it is not behind.
func (c *Clock) Behind(other time.Time) time.Duration {
	now := c.Now()
	machine := c.machine().Round(0) // after Now, so that what passes in between is no difference
	return max(0, now.Sub(machine), other.Sub(machine))
}
