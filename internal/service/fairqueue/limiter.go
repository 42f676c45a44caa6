// Package fairqueue limits how many callers do something at once, and lets the others wait in a queue in which they take turns.
package fairqueue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

// Config is how a Limiter limits callers.
type Config struct {
	Workers   int // callers at once
	PerSource int // of those, with one source; 0: all of them
	// PerAccount is how many of those have one source and account; 0: all of them.
	PerAccount int
	Queue      int           // callers that wait
	Wait       time.Duration // for a slot
	HoldBack   time.Duration // see Refuse; default: Wait, at most a second
	// ByTime has the source first that held its slots least since up to a minute ago: some hold them for milliseconds, others for seconds.
	ByTime bool
	// Turns is the order in which waiting shares get free slots. Each share is one or more times in it, and has this part of the queue.
	// Default: one share, 0.
	Turns []int
	Busy  string // the message for callers that are refused
}

// Limiter is a bulkhead: it limits how many callers run at once and how many may wait for a slot. So a burst of them uses a bounded
// amount of memory and does not slow other requests. A queue decides which caller is next. It is safe for concurrent use.
type Limiter struct {
	Config // must not be changed during use

	heldBack atomic.Int64

	mu      sync.Mutex
	running int
	long    int                      // of the running callers
	sources map[string]int           // running callers by source
	users   map[account]int          // and by source and account, if PerAccount
	queue   queue                    // has no caller that may run while a slot is free
	held    map[string]time.Duration // by source, if ByTime
	since   time.Time                // of held
}

// New returns a Limiter without callers.
func New(c Config) *Limiter {
	if c.HoldBack == 0 {
		c.HoldBack = min(c.Wait, time.Second)
	}
	if len(c.Turns) == 0 {
		c.Turns = []int{0}
	}
	return &Limiter{Config: c, sources: map[string]int{}, users: map[account]int{}, queue: newQueue(c.Queue, c.Turns)}
}

// Acquire returns the function that frees the slot of a caller, which must be called once. waited reports whether the caller was in the
// queue. The error is that of ctx, or a fault of kind Unavailable when the queue is full, the caller is displaced from it or waits too
// long.
func (l *Limiter) Acquire(ctx context.Context, c Caller) (release func(), waited bool, err error) {
	if waited, err = l.enter(ctx, c); err != nil {
		return nil, false, err
	}
	began := time.Now()
	return func() { l.leave(c, began) }, waited, nil
}

// enter returns once the caller has a slot, or with an error. waited reports whether the caller was in the queue.
func (l *Limiter) enter(ctx context.Context, c Caller) (waited bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	w, err := l.join(c)
	if err != nil {
		return false, l.Refuse(ctx, err)
	}
	if w == nil {
		return false, nil
	}
	return true, l.await(ctx, w)
}

// await waits for the slot of a caller in the queue.
func (l *Limiter) await(ctx context.Context, w *waiter) (err error) {
	timeout := time.NewTimer(l.Wait)
	defer timeout.Stop()
	select {
	case granted := <-w.granted:
		return l.Refuse(ctx, l.unlessGranted(granted))
	case <-timeout.C:
		err = l.busy()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if l.withdraw(w) {
		return err
	}
	granted := <-w.granted // decided at the same moment
	if granted && ctx.Err() != nil {
		l.leave(w.Caller, time.Now())
		return ctx.Err()
	}
	return l.unlessGranted(granted)
}

// join takes a free slot (no waiter, no error) or adds the caller to the queue.
func (l *Limiter) join(c Caller) (*waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < l.Workers && l.mayRun(c) {
		l.begin(c)
		return nil, nil
	}
	added, displaced := l.queue.push(c)
	if displaced != nil {
		displaced.granted <- false
	}
	return added, l.unlessGranted(added != nil)
}

// account is an account of a source.
type account struct{ source, name string }

func accountOf(c Caller) account { return account{c.Source, c.Account} }

// mayRun reports whether a caller may have a slot that is free.
func (l *Limiter) mayRun(c Caller) bool {
	return (l.PerSource == 0 || l.sources[c.Source] < l.PerSource) && (!c.Long || l.long < l.Workers-1) &&
		(l.PerAccount == 0 || l.users[accountOf(c)] < l.PerAccount)
}

func (l *Limiter) begin(c Caller) {
	l.running++
	l.sources[c.Source]++
	if l.PerAccount > 0 {
		l.users[accountOf(c)]++
	}
	if c.Long {
		l.long++
	}
}

// withdraw removes a waiter from the queue and reports whether it was still queued.
func (l *Limiter) withdraw(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.remove(w)
}

// leave frees the slot of a caller, and gives it to the next waiter.
func (l *Limiter) leave(c Caller, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(c.Source, began)
	l.running--
	if c.Long {
		l.long--
	}
	if l.sources[c.Source]--; l.sources[c.Source] == 0 {
		delete(l.sources, c.Source)
	}
	if l.PerAccount > 0 {
		if l.users[accountOf(c)]--; l.users[accountOf(c)] == 0 {
			delete(l.users, accountOf(c))
		}
	}
	for l.running < l.Workers {
		next := l.queue.pop(l.mayRun, l.held)
		if next == nil {
			return
		}
		l.begin(next.Caller)
		next.granted <- true
	}
}

// count counts how long a source held a slot.
func (l *Limiter) count(source string, began time.Time) {
	if !l.ByTime {
		return
	}
	now := time.Now()
	if now.Sub(l.since) > time.Minute {
		l.held, l.since = map[string]time.Duration{}, now
	}
	l.held[source] += now.Sub(began)
}

// Load returns the number of running and of waiting callers.
func (l *Limiter) Load() (running, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, l.queue.length()
}

// maxHeldBack bounds the number of delayed refusals: each keeps the memory of a request.
const maxHeldBack = 1024

// Refuse returns err after a delay of at most one second. Without the delay, clients that repeat refused attempts on
// some hundred connections would take the CPU time of other callers.
func (l *Limiter) Refuse(ctx context.Context, err error) error {
	defer l.heldBack.Add(-1)
	if l.heldBack.Add(1) > maxHeldBack || err == nil {
		return err
	}
	timer := time.NewTimer(l.HoldBack)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return err
}

func (l *Limiter) unlessGranted(granted bool) error {
	if granted {
		return nil
	}
	return l.busy()
}

func (l *Limiter) busy() error { return fault.Busy(l.Busy, max(l.Wait, time.Second)) }
