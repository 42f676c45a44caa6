// Package perminute limits how often something may begin per minute, in the memory of this process. store.Allowances is the same rule for
// servers that share a store.
package perminute

import (
	"maps"
	"sync"
	"time"
)

// maxHolders bounds the memory: above it all uses are forgotten, so that a botnet does not end the calls of others.
const maxHolders = 16_384

// Limiter allows each holder, such as a user or a source, a number of uses per minute: all of them at once after a pause, then evenly
// spaced. It is safe for concurrent use.
type Limiter struct {
	uses  int
	each  time.Duration
	mu    sync.Mutex
	swept time.Time
	// fullAt is, by holder, when all uses of a minute are available again. Each use moves it by the time after which one is.
	fullAt map[string]time.Time
}

// New returns a Limiter of so many uses per minute.
func New(uses int) *Limiter {
	return &Limiter{uses: uses, each: time.Minute / time.Duration(uses), fullAt: map[string]time.Time{}}
}

// Reserve reserves a holder's next use and returns how long to wait for it. If that were longer than within, it reserves nothing, and
// wait is the time until a reservation succeeds. now must not go back.
func (l *Limiter) Reserve(holder string, within time.Duration, now time.Time) (wait time.Duration, reserved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	fullAt := l.fullAt[holder]
	if fullAt.Before(now) {
		fullAt = now
	}
	fullAt = fullAt.Add(l.each)
	if wait = max(0, fullAt.Sub(now)-time.Duration(l.uses)*l.each); wait > within {
		return wait - within, false
	}
	l.fullAt[holder] = fullAt
	return wait, true
}

// sweep forgets holders that have used nothing for so long that it makes no difference.
func (l *Limiter) sweep(now time.Time) {
	if len(l.fullAt) >= maxHolders {
		clear(l.fullAt)
	}
	if now.Sub(l.swept) > time.Minute {
		maps.DeleteFunc(l.fullAt, func(_ string, at time.Time) bool { return !at.After(now) })
		l.swept = now
	}
}
