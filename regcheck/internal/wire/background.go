package wire

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// panicked is what a check panics with when a goroutine of theirs did. Such goroutines read a registry's bytes as well, and a
// panic there would end the whole program; this one continues in the goroutine of the caller, who can recover. Stack returns the
// stack of the goroutine that panicked.
type panicked interface {
	error
	Stack() []byte
}

type workPanicked struct {
	cause any
	stack []byte
}

func (p *workPanicked) Error() string {
	return fmt.Sprintf("a part of the check panicked: %v", p.cause)
}

func (p *workPanicked) Stack() []byte { return fmt.Appendf(nil, "%T\n%s", p.cause, p.stack) }

// Background is work beside a check. Whoever waits for such work has to hear from it when it panics too: by its deferred calls.
type Background struct {
	running sync.WaitGroup
	first   atomic.Pointer[panicked]
}

func (b *Background) Do(work func()) {
	b.running.Go(func() {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			p, inGoroutine := cause.(panicked)
			if !inGoroutine {
				p = &workPanicked{cause, debug.Stack()}
			}
			b.first.CompareAndSwap(nil, &p)
		}()
		work()
	})
}

// Wait waits for all of it, and panics when some of it did.
func (b *Background) Wait() {
	b.running.Wait()
	if p := b.first.Load(); p != nil {
		panic(*p)
	}
}

// Later gives the result of work in the background; after a panic it is the zero value.
func Later[T any](b *Background, work func() T) chan T {
	result := make(chan T, 1)
	b.Do(func() {
		var value T
		defer func() { result <- value }()
		value = work()
	})
	return result
}
