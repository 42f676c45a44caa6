package auth

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

// bulkhead limits how many password hashes run at once and how many callers may wait for a slot. So a burst of logins
// uses a bounded amount of memory and does not slow other requests. A fairQueue decides which caller is next.
type bulkhead struct {
	workers int
	wait    time.Duration

	holdBack time.Duration // see refuse
	heldBack atomic.Int64

	mu      sync.Mutex
	running int
	queue   fairQueue // empty while a slot is free
}

func newBulkhead(workers, queue int, wait time.Duration) *bulkhead {
	return &bulkhead{workers: workers, queue: fairQueue{limit: queue}, wait: wait, holdBack: min(wait, time.Second)}
}

// admission decides in the slot whether work runs. waited reports whether the caller was in the queue.
type admission func(ctx context.Context, waited bool) error

// do runs work in a slot and returns its error. Without running it, it returns the error of admit, or a fault of kind
// Unavailable when the queue is full, the caller is displaced from it or waits too long.
func (b *bulkhead) do(ctx context.Context, c hashCaller, admit admission, work func() error) error {
	waited, err := b.enter(ctx, c)
	if err != nil {
		return err
	}
	defer b.leave()
	if err := admit(ctx, waited); err != nil {
		return err
	}
	return work()
}

// admitAlways admits every caller.
func admitAlways(context.Context, bool) error { return nil }

// enter returns once the caller has a slot, or with an error. waited reports whether the caller was in the queue.
func (b *bulkhead) enter(ctx context.Context, c hashCaller) (waited bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	w, err := b.join(c)
	if err != nil {
		return false, b.refuse(ctx, err)
	}
	if w == nil {
		return false, nil
	}
	return true, b.await(ctx, w)
}

// await waits for the slot of a caller in the queue.
func (b *bulkhead) await(ctx context.Context, w *waiter) (err error) {
	timeout := time.NewTimer(b.wait)
	defer timeout.Stop()
	select {
	case granted := <-w.granted:
		return b.refuse(ctx, b.unlessGranted(granted))
	case <-timeout.C:
		err = b.busy()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if b.withdraw(w) {
		return err
	}
	granted := <-w.granted // decided at the same moment
	if granted && ctx.Err() != nil {
		b.leave()
		return ctx.Err()
	}
	return b.unlessGranted(granted)
}

// join takes a free slot (no waiter, no error) or adds the caller to the queue.
func (b *bulkhead) join(c hashCaller) (*waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running < b.workers {
		b.running++
		return nil, nil
	}
	added, displaced := b.queue.push(c)
	if displaced != nil {
		displaced.granted <- false
	}
	return added, b.unlessGranted(added != nil)
}

// withdraw removes a waiter from the queue and reports whether it was still queued.
func (b *bulkhead) withdraw(w *waiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.remove(w)
}

// leave hands the slot to the next waiter, or frees it.
func (b *bulkhead) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if next := b.queue.pop(); next != nil {
		next.granted <- true
		return
	}
	b.running--
}

// load returns the number of running and of waiting callers.
func (b *bulkhead) load() (running, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running, b.queue.length()
}

// maxHeldBack bounds the number of delayed refusals: each keeps the memory of a request.
const maxHeldBack = 1024

// refuse returns err after a delay of at most one second. Without the delay, clients that repeat refused attempts on
// some hundred connections would take the CPU time of other callers' hashes.
func (b *bulkhead) refuse(ctx context.Context, err error) error {
	defer b.heldBack.Add(-1)
	if b.heldBack.Add(1) > maxHeldBack || err == nil {
		return err
	}
	timer := time.NewTimer(b.holdBack)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return err
}

func (b *bulkhead) unlessGranted(granted bool) error {
	if granted {
		return nil
	}
	return b.busy()
}

func (b *bulkhead) busy() error {
	return fault.Busy("Too many passwords are being hashed at once. Retry after the time in Retry-After.", max(b.wait, time.Second))
}
