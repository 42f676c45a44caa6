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

func mustEnter(t *testing.T, g *gate, org, user string) func() {
	t.Helper()
	leave, err := g.enter(t.Context(), org, user)
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
		leave := mustEnter(t, g, "a", "u")
		mustEnter(t, g, "a", "u")
		admitted := make(chan error, 2)
		for range 2 {
			go func() {
				done, err := g.enter(t.Context(), "a", "u")
				if err == nil {
					defer done()
				}
				admitted <- err
			}()
		}
		synctest.Wait()
		_, err := g.enter(t.Context(), "a", "u")
		wantKind(t, err, fault.Limited)
		mustEnter(t, g, "b", "v")() // another organization notices nothing
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
		mustEnter(t, g, "first", "u")
		var waiting sync.WaitGroup
		for i := range maxWaiting {
			waiting.Go(func() {
				_, err := g.enter(context.Background(), fmt.Sprint("org", i), "u")
				wantKind(t, err, fault.Unavailable)
			})
		}
		synctest.Wait()
		began := time.Now()
		_, err := g.enter(t.Context(), "late", "u")
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
		leave := mustEnter(t, g, "a", "u")
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := g.enter(ctx, "b", "v"); !errors.Is(err, context.Canceled) {
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
			mustEnter(t, g, "a", "u")()
		}
		_, err := g.enter(t.Context(), "a", "u")
		wantKind(t, err, fault.Limited)
		mustEnter(t, g, "a", "other")()
		time.Sleep(20 * time.Second)
		mustEnter(t, g, "a", "u")()
		time.Sleep(2 * time.Minute)
		mustEnter(t, g, "a", "other")()
		if len(g.users) != 1 {
			t.Errorf("%d users are remembered, want the one who came last", len(g.users))
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
				leave, err := g.enter(t.Context(), fmt.Sprint("org", i%2), "u")
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
