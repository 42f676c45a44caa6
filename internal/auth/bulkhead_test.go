package auth

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

// mustOccupy takes all slots, which must be free.
func mustOccupy(t *testing.T, b *bulkhead) (release func()) {
	t.Helper()
	for range b.workers {
		if _, err := b.enter(t.Context(), hashCaller{}); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for range b.workers {
			b.leave()
		}
	}
}

func isBusy(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Unavailable && f.RetryAfter > 0
}

func TestBulkheadBoundsWorkAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(2, 3, 2*time.Second)
		release := make(chan struct{})
		var running, most, refused atomic.Int64
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				err := b.do(t.Context(), hashCaller{}, admitAlways, func() error {
					most.Store(max(most.Load(), running.Add(1)))
					<-release
					running.Add(-1)
					return nil
				})
				if isBusy(err) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second + 1)
		synctest.Wait()
		if running.Load() != 2 || refused.Load() != 5 {
			t.Errorf("%d run, %d were refused", running.Load(), refused.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if refused.Load() != 8 {
			t.Errorf("%d were refused after the wait", refused.Load())
		}
		close(release)
		wait.Wait()
		if running, waiting := b.load(); most.Load() != 2 || waiting != 0 || running != 0 {
			t.Errorf("%d ran at once; left: %d waiting, %d slots", most.Load(), waiting, running)
		}
	})
}

// TestBulkheadServesInTurns has an attacker fill the queue before others arrive. Sources are served in turns, and
// others displace the attacker's callers.
func TestBulkheadServesInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(1, 8, time.Minute)
		b.holdBack = 0
		release := mustOccupy(t, b)
		var order []string
		var refused []string
		var wait sync.WaitGroup
		arrive := func(name string, c hashCaller) {
			wait.Go(func() {
				if err := b.do(t.Context(), c, admitAlways, func() error { order = append(order, name); return nil }); isBusy(err) {
					refused = append(refused, name)
				} else if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for i := range 9 {
			arrive(fmt.Sprint("attacker", i), hashCaller{share: unknownLogins, source: "attacker", account: fmt.Sprint(i)})
		}
		arrive("user", hashCaller{share: unknownLogins, source: "user", account: "h"})
		arrive("owner", hashCaller{share: knownLogins, source: "attacker", account: "o"})
		arrive("admin", hashCaller{share: administration, source: "org"})
		release()
		wait.Wait()
		if got, want := fmt.Sprint(order), "[owner attacker0 admin user attacker1 attacker2 attacker3 attacker4]"; got != want {
			t.Errorf("served %v, want %v", got, want)
		}
		if got, want := fmt.Sprint(refused), "[attacker8 attacker7 attacker6 attacker5]"; got != want {
			t.Errorf("refused %v, want %v", got, want)
		}
	})
}

// TestRefusedCallersAreHeldBack refuses more callers than are held back at once. All of them get an error in the end.
func TestRefusedCallersAreHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(1, 1, time.Minute)
		const more = 10
		var refused atomic.Int64
		var wait sync.WaitGroup
		for range maxHeldBack + more {
			wait.Go(func() {
				if isBusy(b.refuse(t.Context(), b.busy())) {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := refused.Load(); n != more {
			t.Errorf("%d got an error at once, want %d", n, more)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := refused.Load(); n != maxHeldBack+more || b.heldBack.Load() != 0 {
			t.Errorf("%d got an error after a second; %d are held back", n, b.heldBack.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if began := time.Now(); !isBusy(b.refuse(ctx, b.busy())) || b.refuse(t.Context(), nil) != nil || time.Since(began) != 0 {
			t.Error("a canceled caller, or one that was not refused, is held back")
		}
		wait.Wait()
	})
}

func TestCanceledCallerIsNotHashed(t *testing.T) {
	b := newBulkhead(1, 1, time.Minute)
	release := mustOccupy(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		result <- b.do(ctx, hashCaller{}, admitAlways, func() error { t.Error("hashed for a canceled caller"); return nil })
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	failed := errors.New("failed")
	if err := b.do(t.Context(), hashCaller{}, admitAlways, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestBulkheadLosesNoSlot has callers arrive, cancel and time out at the moments when slots become free.
func TestBulkheadLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(2, 6, 10*time.Millisecond)
		var wait sync.WaitGroup
		for i := range 400 {
			wait.Go(func() {
				time.Sleep(time.Duration(i/7) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%30)*time.Millisecond)
				defer cancel()
				c := hashCaller{share: share(i % int(shares)), source: fmt.Sprint(i % 5), account: fmt.Sprint(i % 11)}
				_ = b.do(ctx, c, admitAlways, func() error { time.Sleep(5 * time.Millisecond); return nil })
			})
		}
		wait.Wait()
		if running, waiting := b.load(); running != 0 || waiting != 0 {
			t.Errorf("left: %d slots, %d waiting", running, waiting)
		}
	})
}
