package regcheck

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Panicked is what Check and Inventory panic with when a goroutine of theirs did. Those read a registry's bytes as well, and a panic
// of theirs would end the whole program; this one comes out in the goroutine of the caller, who can recover.
type Panicked struct {
	Cause any
	Stack []byte // of the goroutine that panicked, below the type of its cause
}

func (p *Panicked) Error() string {
	return fmt.Sprintf("a part of the check panicked: %v\n%s", p.Cause, p.Stack)
}

// StackOf is the stack that belongs to what was recovered just now: that of the caller, or where a part of a check panicked.
func StackOf(recovered any) []byte {
	if p, ok := recovered.(*Panicked); ok {
		return p.Stack
	}
	return debug.Stack()
}

var errPanicked = errors.New("the check panicked") // seen by nobody: the check panics in the end

// background is work beside a check. Whoever waits for such work has to hear from it when it panics too: by its deferred calls.
type background struct {
	running sync.WaitGroup
	first   atomic.Pointer[Panicked]
}

func (b *background) do(work func()) {
	b.running.Go(func() {
		defer func() {
			switch cause := recover().(type) {
			case nil:
			case *Panicked: // of work beside this work
				b.first.CompareAndSwap(nil, cause)
			default:
				b.first.CompareAndSwap(nil, &Panicked{cause, fmt.Appendf(nil, "%T\n%s", cause, debug.Stack())})
			}
		}()
		work()
	})
}

// wait waits for all of it, and panics when some of it did.
func (b *background) wait() {
	b.running.Wait()
	if p := b.first.Load(); p != nil {
		panic(p)
	}
}

// later gives the result of work in the background; after a panic it is the zero value.
func later[T any](b *background, work func() T) chan T {
	result := make(chan T, 1)
	b.do(func() {
		var value T
		defer func() { result <- value }()
		value = work()
	})
	return result
}
