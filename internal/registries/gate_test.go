package registries

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

func mustEnter(t *testing.T, g *gate, org string) func() {
	t.Helper()
	leave, err := g.enter(t.Context(), org)
	if err != nil {
		t.Fatalf("enter for %s: %v", org, err)
	}
	return leave
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != kind || f.RetryAfter <= 0 {
		t.Fatalf("got %v, want kind %d with a time to come back", err, kind)
	}
}

func TestAnOrganizationHasItsOwnPlacesAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limits{Concurrency: 10, PerOrg: 2}, time.Now)
		leave := mustEnter(t, g, "a")
		mustEnter(t, g, "a")
		admitted := make(chan error, 2)
		for range 2 {
			go func() {
				done, err := g.enter(t.Context(), "a")
				if err == nil {
					defer done()
				}
				admitted <- err
			}()
		}
		synctest.Wait()
		_, err := g.enter(t.Context(), "a")
		wantKind(t, err, fault.Limited)
		mustEnter(t, g, "b")() // another organization notices nothing
		leave()
		for range 2 {
			if err := <-admitted; err != nil {
				t.Errorf("waiting validation: %v", err)
			}
		}
	})
}

func TestAFullQueueAndALongWaitAreUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limits{Concurrency: 1, PerOrg: 1, PerMinute: 1000}, time.Now)
		mustEnter(t, g, "first")
		var waiting sync.WaitGroup
		for i := range maxWaiting {
			waiting.Go(func() {
				_, err := g.enter(context.Background(), fmt.Sprint("org", i))
				wantKind(t, err, fault.Unavailable)
			})
		}
		synctest.Wait()
		began := time.Now()
		_, err := g.enter(t.Context(), "late")
		wantKind(t, err, fault.Unavailable)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("with a full queue the answer took %v", waited)
		}
		waiting.Wait()
		if waited := time.Since(began); waited != maxWait {
			t.Errorf("the wait ended after %v, want %v", waited, maxWait)
		}
	})
}

func TestAClientThatGoesAwayLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limits{Concurrency: 1, PerOrg: 1}, time.Now)
		leave := mustEnter(t, g, "a")
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := g.enter(ctx, "b"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		leave()
		if g.inside != 0 || len(g.orgs) != 0 {
			t.Errorf("%d inside, %d organizations, want none", g.inside, len(g.orgs))
		}
	})
}

func TestAUserHasAnAllowancePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limits{PerMinute: 3}, time.Now)
		for range 3 {
			if wait, reserved := g.reserve("u", 0); wait != 0 || !reserved {
				t.Errorf("within the allowance: wait %v, reserved %t", wait, reserved)
			}
		}
		for _, step := range []struct {
			user         string
			within, wait time.Duration
			reserved     bool
		}{
			{"u", 0, 20 * time.Second, false}, {"other", 0, 0, true}, {"u", 20 * time.Second, 20 * time.Second, true}, {"u", 30 * time.Second, 10 * time.Second, false},
		} {
			if wait, reserved := g.reserve(step.user, step.within); wait != step.wait || reserved != step.reserved {
				t.Errorf("%s within %v: wait %v, reserved %t, want %v, %t", step.user, step.within, wait, reserved, step.wait, step.reserved)
			}
		}
		time.Sleep(2 * time.Minute)
		g.reserve("other", 0)
		if len(g.users) != 1 {
			t.Errorf("%d users are remembered, want the one who came last", len(g.users))
		}
	})
}

// Terraform validates ten registries concurrently, one after the other, however many there are.
func TestTenConcurrentCallersAreNeverRefused(t *testing.T) {
	db := mustKeep(t).db
	synctest.Test(t, func(t *testing.T) {
		s := &Service{db: db, gate: newGate(Limits{}, time.Now)}
		began := time.Now()
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				for range 20 {
					if err := s.awaitAllowance(t.Context(), "u"); err != nil {
						t.Errorf("after %v: %v", time.Since(began), err)
					}
				}
			})
		}
		callers.Wait()
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("200 validations with 120 per minute took %v, want 40s", took)
		}
	})
}

// The waiting itself is bounded: in time for a user, in number for all users.
func TestWaitingForAnAllowanceIsBounded(t *testing.T) {
	db := mustKeep(t).db
	synctest.Test(t, func(t *testing.T) {
		s := &Service{db: db, gate: newGate(Limits{PerMinute: 60}, time.Now)}
		began := time.Now()
		var refused atomic.Int32
		var callers sync.WaitGroup
		ask := func(user string, n int) {
			for range n {
				callers.Go(func() {
					if err := s.awaitAllowance(context.Background(), user); err != nil {
						wantKind(t, err, fault.Limited)
						refused.Add(1)
					}
				})
				synctest.Wait()
			}
		}
		ask("u", 80)
		if _, waiting := s.Load(); refused.Load() != 10 || waiting != 10 {
			t.Errorf("of 80 validations at once %d are refused and %d wait, want 10 of each", refused.Load(), waiting)
		}
		for i := range 8 {
			ask(fmt.Sprint("u", i), 70)
		}
		if _, waiting := s.Load(); waiting != maxWaiting {
			t.Errorf("%d validations wait, want %d", waiting, maxWaiting)
		}
		callers.Wait()
		if _, waiting := s.Load(); waiting != 0 || time.Since(began) > maxWait {
			t.Errorf("after %v %d validations wait", time.Since(began), waiting)
		}
	})
}

func TestConcurrencyIsNeverExceeded(t *testing.T) {
	g := newGate(Limits{Concurrency: 3, PerOrg: 2, PerMinute: 100_000}, time.Now)
	var running, most atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				leave, err := g.enter(t.Context(), fmt.Sprint("org", i%2))
				if err != nil {
					continue
				}
				now := running.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				running.Add(-1)
				leave()
			}
		})
	}
	all.Wait()
	if most.Load() > 3 || most.Load() == 0 {
		t.Errorf("%d ran at once, want 1 to 3", most.Load())
	}
}
