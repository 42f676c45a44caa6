package auth

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

func TestBulkheadBoundsWorkAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(2, 3, 2*time.Second, IsolateThreads)
		release := make(chan struct{})
		var running, most, refused atomic.Int64
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				err := b.do(t.Context(), always, func() {
					most.Store(max(most.Load(), running.Add(1)))
					<-release
					running.Add(-1)
				})
				if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Unavailable && f.RetryAfter > 0 {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if running.Load() != 2 || refused.Load() != 5 {
			t.Errorf("%d run, %d were refused at once", running.Load(), refused.Load())
		}
		time.Sleep(2*time.Second + 1)
		synctest.Wait()
		if refused.Load() != 8 {
			t.Errorf("%d were refused after the wait", refused.Load())
		}
		close(release)
		wait.Wait()
		if most.Load() != 2 || b.waiting.Load() != 0 || len(b.slots) != 0 {
			t.Errorf("%d ran at once; left behind: %d waiting, %d slots", most.Load(), b.waiting.Load(), len(b.slots))
		}
	})
}

func TestBulkheadServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(1, 20, time.Minute, IsolateThreads)
		release := make(chan struct{})
		var order []int
		var wait sync.WaitGroup
		wait.Go(func() { _ = b.do(t.Context(), always, func() { <-release }) })
		synctest.Wait()
		for i := range 20 {
			wait.Go(func() { _ = b.do(t.Context(), always, func() { order = append(order, i) }) })
			synctest.Wait()
		}
		close(release)
		wait.Wait()
		for i, who := range order {
			if i != who {
				t.Fatalf("served in the order %v", order)
			}
		}
	})
}

func TestBulkheadForgetsWhoLeaves(t *testing.T) {
	b := newBulkhead(1, 1, time.Minute, IsolateThreads)
	b.slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan error)
	go func() { told <- b.do(ctx, always, func() { t.Error("hashed for nobody") }) }()
	cancel()
	if err := <-told; !errors.Is(err, context.Canceled) {
		t.Errorf("told %v", err)
	}
	<-b.slots
	ran := false
	if err := b.do(t.Context(), always, func() { ran = true }); err != nil || !ran {
		t.Errorf("afterwards: %v, ran %v", err, ran)
	}
}
