package auth

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

// bulkhead bounds how much is done at once and how much may wait for it, so that a storm of sign-ins
// costs a known amount of memory and leaves the rest of the service alone. Who waits is served in
// the order of coming.
type bulkhead struct {
	slots   chan struct{}
	waiting atomic.Int64
	queue   int64
	wait    time.Duration
	run     func(work func()) // in a slot: here, or on a thread of its own
}

func newBulkhead(workers, queue int, wait time.Duration, isolation Isolation) *bulkhead {
	b := &bulkhead{slots: make(chan struct{}, workers), queue: int64(queue), wait: wait, run: onOwnThread}
	if isolation == IsolateNothing {
		b.run = func(work func()) { work() }
	}
	return b
}

// do runs work in a free slot, or returns a fault of kind Unavailable when the queue is full or a slot did not
// get free in time. admit has the last word in the slot, and its error is returned. Then work was not begun.
func (b *bulkhead) do(ctx context.Context, admit func(context.Context) error, work func()) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer func() { <-b.slots }()
	if err := admit(ctx); err != nil {
		return err
	}
	b.run(work)
	return nil
}

// always admits.
func always(context.Context) error { return nil }

func (b *bulkhead) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case b.slots <- struct{}{}:
		return nil
	default:
	}
	if b.waiting.Add(1) > b.queue {
		b.waiting.Add(-1)
		return b.busy()
	}
	defer b.waiting.Add(-1)
	patience := time.NewTimer(b.wait)
	defer patience.Stop()
	select {
	case b.slots <- struct{}{}: // senders on a channel are served first come, first served
		return nil
	case <-patience.C:
		return b.busy()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load tells how much is under way and how much waits.
func (b *bulkhead) load() (running, waiting int) { return len(b.slots), int(b.waiting.Load()) }

func (b *bulkhead) busy() error {
	return fault.Busy("Too many sign-ins at once. Try again.", max(b.wait, time.Second))
}
