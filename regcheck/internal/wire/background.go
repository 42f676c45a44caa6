package wire

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// panicked is a panic of a goroutine of a check, which continues in the goroutine of the caller, who can recover it. Stack
// returns the stack of the goroutine that panicked.
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

// Background runs functions in goroutines of a check. A function must signal its waiters in a deferred call, since it may
// panic.
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

// Wait waits for all functions, and panics if one of them panicked.
func (b *Background) Wait() {
	b.running.Wait()
	if p := b.first.Load(); p != nil {
		panic(*p)
	}
}

// Later runs work in the background and returns a channel for its result, which is the zero value after a panic.
func Later[T any](b *Background, work func() T) chan T {
	result := make(chan T, 1)
	b.Do(func() {
		var value T
		defer func() { result <- value }()
		value = work()
	})
	return result
}
