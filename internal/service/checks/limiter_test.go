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
	return mustAcquireFor(t, l, org, "u")
}

func mustAcquireFor(t *testing.T, l *limiter, org, user string) func() {
	t.Helper()
	release, err := l.acquire(t.Context(), org, user)
	if err != nil {
		t.Fatalf("acquire for %s of %s: %v", user, org, err)
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
		mustAcquireFor(t, l, "a", "other")
		admitted := make(chan error, 2)
		for range 2 {
			go func() {
				done, err := l.acquire(t.Context(), "a", "u")
				if err == nil {
					defer done()
				}
				admitted <- err
			}()
		}
		synctest.Wait()
		_, err := l.acquire(t.Context(), "a", "u")
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

// A user with many slow validations, and a long queue, leaves slots to others of the organization, and place in the queue.
func TestUsersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{})
		refused := make(chan error, l.perOrgAll)
		releases := make(chan func(), l.perOrgAll)
		for range l.perOrgAll {
			go func() {
				release, err := l.acquire(context.Background(), "a", "greedy")
				if err != nil {
					refused <- err
					return
				}
				releases <- release
			}()
		}
		synctest.Wait()
		if running, waiting := l.load(); running != 6 || waiting != 10 {
			t.Errorf("%d of one user run and %d wait, want 6 and 10", running, waiting)
		}
		_, err := l.acquire(t.Context(), "a", "greedy")
		wantKind(t, err, fault.Limited)
		for _, user := range []string{"first", "second"} {
			defer mustAcquireFor(t, l, "a", user)()
		}
		synctest.Wait()
		served := make(chan string, 2)
		for _, user := range []string{"third", "fourth"} {
			go func() {
				defer mustAcquireFor(t, l, "a", user)()
				served <- user
			}()
		}
		synctest.Wait()
		if running, waiting := l.load(); running != 8 || waiting != 8 {
			t.Errorf("%d run and %d wait, want 8 of each: the greedy user's last callers are displaced", running, waiting)
		}
		for len(refused) > 0 {
			wantKind(t, <-refused, fault.Limited)
		}
		(<-releases)()
		synctest.Wait()
		if len(served) != 2 {
			t.Errorf("%d users are served by the first free slot, want both, one after the other", len(served))
		}
		time.Sleep(maxWait) // the greedy user's callers that wait
	})
}

func TestFullQueueAndLongWaitAreUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Concurrency: 1, PerOrg: 1})
		mustAcquire(t, l, "first")
		var waiting sync.WaitGroup
		for i := range maxWaiting {
			waiting.Go(func() {
				_, err := l.acquire(context.Background(), fmt.Sprint("org", i), "u")
				wantKind(t, err, fault.Unavailable)
			})
		}
		synctest.Wait()
		began := time.Now()
		_, err := l.acquire(t.Context(), "late", "u")
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
		if _, err := l.acquire(ctx, "b", "u"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		release()
		if running, waiting := l.load(); running+waiting+len(l.orgs)+len(l.users) != 0 {
			t.Errorf("%d run, %d wait, %d organizations, %d users, want none", running, waiting, len(l.orgs), len(l.users))
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
				release, err := l.acquire(t.Context(), fmt.Sprint("org", i%2), fmt.Sprint("u", i))
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
