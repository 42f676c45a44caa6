package checks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

func mustAcquire(t *testing.T, l *limiter, org string) func() {
	t.Helper()
	release, err := l.acquire(t.Context(), org)
	if err != nil {
		t.Fatalf("acquire for %s: %v", org, err)
	}
	return release
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != kind || f.RetryAfter <= 0 {
		t.Fatalf("got %v, want kind %d with RetryAfter", err, kind)
	}
}

func TestOrganizationHasItsOwnSlotsAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Concurrency: 10, PerOrg: 2})
		release := mustAcquire(t, l, "a")
		mustAcquire(t, l, "a")
		admitted := make(chan error, 2)
		for range 2 {
			go func() {
				done, err := l.acquire(t.Context(), "a")
				if err == nil {
					defer done()
				}
				admitted <- err
			}()
		}
		synctest.Wait()
		_, err := l.acquire(t.Context(), "a")
		wantKind(t, err, fault.Limited)
		mustAcquire(t, l, "b")() // another organization is not affected
		release()
		for range 2 {
			if err := <-admitted; err != nil {
				t.Errorf("waiting validation: %v", err)
			}
		}
	})
}

func TestFullQueueAndLongWaitAreUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Concurrency: 1, PerOrg: 1})
		mustAcquire(t, l, "first")
		var waiting sync.WaitGroup
		for i := range maxWaiting {
			waiting.Go(func() {
				_, err := l.acquire(context.Background(), fmt.Sprint("org", i))
				wantKind(t, err, fault.Unavailable)
			})
		}
		synctest.Wait()
		began := time.Now()
		_, err := l.acquire(t.Context(), "late")
		wantKind(t, err, fault.Unavailable)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("with a full queue the refusal took %v", waited)
		}
		l.mu.Lock()
		if len(l.orgs) != maxWaiting+1 {
			t.Errorf("%d organizations are remembered, of %d with callers", len(l.orgs), maxWaiting+1)
		}
		l.mu.Unlock()
		waiting.Wait()
		if waited := time.Since(began); waited != maxWait {
			t.Errorf("the wait ended after %v, want %v", waited, maxWait)
		}
	})
}

func TestCanceledCallerLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Concurrency: 1, PerOrg: 1})
		release := mustAcquire(t, l, "a")
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := l.acquire(ctx, "b"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		release()
		if l.callers != 0 || len(l.orgs) != 0 {
			t.Errorf("%d callers, %d organizations, want none", l.callers, len(l.orgs))
		}
	})
}

func TestConcurrencyIsNeverExceeded(t *testing.T) {
	l := newLimiter(Limits{Concurrency: 3, PerOrg: 2})
	var running, most atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				release, err := l.acquire(t.Context(), fmt.Sprint("org", i%2))
				if err != nil {
					continue
				}
				now := running.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				running.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if most.Load() > 3 || most.Load() == 0 {
		t.Errorf("%d ran at once, want 1 to 3", most.Load())
	}
}
