package fairqueue

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
func mustOccupy(t *testing.T, b *Limiter) (release func()) {
	t.Helper()
	for range b.Workers {
		if _, err := b.enter(t.Context(), Caller{}); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for range b.Workers {
			b.leave(Caller{}, time.Now())
		}
	}
}

// do runs work in a slot and returns its error.
func do(ctx context.Context, b *Limiter, c Caller, work func() error) error {
	release, _, err := b.Acquire(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	return work()
}

func isBusy(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Unavailable && f.RetryAfter > 0
}

func TestLimiterBoundsWorkAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Workers: 2, Queue: 3, Wait: 2 * time.Second, Turns: testTurns})
		release := make(chan struct{})
		var running, most, refused atomic.Int64
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				err := do(t.Context(), b, Caller{}, func() error {
					now := running.Add(1)
					for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
					}
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
		if running, waiting := b.Load(); most.Load() != 2 || waiting != 0 || running != 0 {
			t.Errorf("%d ran at once; left: %d waiting, %d slots", most.Load(), waiting, running)
		}
	})
}

// TestLimiterServesInTurns has an attacker fill the queue before others arrive. Sources are served in turns, and
// others displace the attacker's callers.
func TestLimiterServesInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Workers: 1, Queue: 8, Wait: time.Minute, Turns: testTurns})
		b.HoldBack = 0
		release := mustOccupy(t, b)
		var order []string
		var refused []string
		var wait sync.WaitGroup
		arrive := func(name string, c Caller) {
			wait.Go(func() {
				if err := do(t.Context(), b, c, func() error { order = append(order, name); return nil }); isBusy(err) {
					refused = append(refused, name)
				} else if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for i := range 9 {
			arrive(fmt.Sprint("attacker", i), Caller{Share: second, Source: "attacker", Account: fmt.Sprint(i)})
		}
		arrive("user", Caller{Share: second, Source: "user", Account: "h"})
		arrive("owner", Caller{Share: first, Source: "attacker", Account: "o"})
		arrive("admin", Caller{Share: third, Source: "org"})
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
		b := New(Config{Workers: 1, Queue: 1, Wait: time.Minute, Turns: testTurns})
		const more = 10
		var refused atomic.Int64
		var wait sync.WaitGroup
		for range maxHeldBack + more {
			wait.Go(func() {
				if isBusy(b.Refuse(t.Context(), b.busy())) {
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
		if began := time.Now(); !isBusy(b.Refuse(ctx, b.busy())) || b.Refuse(t.Context(), nil) != nil || time.Since(began) != 0 {
			t.Error("a canceled caller, or one that was not refused, is held back")
		}
		wait.Wait()
	})
}

func TestCanceledCallerDoesNotRun(t *testing.T) {
	b := New(Config{Workers: 1, Queue: 1, Wait: time.Minute, Turns: testTurns})
	release := mustOccupy(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		result <- do(ctx, b, Caller{}, func() error { t.Error("ran for a canceled caller"); return nil })
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	failed := errors.New("failed")
	if err := do(t.Context(), b, Caller{}, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestLimiterLosesNoSlot has callers arrive, cancel and time out at the moments when slots become free.
func TestLimiterLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Workers: 2, Queue: 6, Wait: 10 * time.Millisecond, Turns: testTurns})
		var wait sync.WaitGroup
		for i := range 400 {
			wait.Go(func() {
				time.Sleep(time.Duration(i/7) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%30)*time.Millisecond)
				defer cancel()
				c := Caller{Share: i % 3, Source: fmt.Sprint(i % 5), Account: fmt.Sprint(i % 11)}
				_ = do(ctx, b, c, func() error { time.Sleep(5 * time.Millisecond); return nil })
			})
		}
		wait.Wait()
		if running, waiting := b.Load(); running != 0 || waiting != 0 {
			t.Errorf("left: %d slots, %d waiting", running, waiting)
		}
	})
}

// TestLimiterReservesSlotsForOtherSources has one source try to take all slots. The next caller of another one runs at once, and the
// source gets a slot again when it leaves one.
func TestLimiterReservesSlotsForOtherSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Workers: 2, PerSource: 1, Queue: 8, Wait: time.Minute})
		var running []string
		release := map[string]chan bool{}
		var wait sync.WaitGroup
		arrive := func(name, source, account string) {
			release[name] = make(chan bool)
			wait.Go(func() {
				err := do(t.Context(), b, Caller{Source: source, Account: account}, func() error {
					running = append(running, name)
					<-release[name]
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		arrive("attack1", "attacker", "1")
		arrive("attack2", "attacker", "1")
		arrive("attack3", "attacker", "1")
		arrive("colleague", "attacker", "2")
		arrive("user1", "user", "3")
		arrive("user2", "user", "3")
		if got, want := fmt.Sprint(running), "[attack1 user1]"; got != want {
			t.Errorf("%s run, want %s", got, want)
		}
		for _, name := range []string{"user1", "user2", "attack1", "attack2", "colleague", "attack3"} {
			close(release[name])
			synctest.Wait()
		}
		if got, want := fmt.Sprint(running), "[attack1 user1 user2 attack2 colleague attack3]"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
		wait.Wait()
		if running, waiting := b.Load(); running != 0 || waiting != 0 || len(b.sources) != 0 {
			t.Errorf("left: %d slots, %d waiting, %d sources", running, waiting, len(b.sources))
		}
	})
}

// TestLimiterByTime has four sources wait that hold a slot for seconds. They leave one slot to other callers, and of those that wait, the
// source is first that held its slot least.
func TestLimiterByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Workers: 2, Queue: 20, Wait: time.Minute, ByTime: true})
		var order []string
		var wait sync.WaitGroup
		arrive := func(c Caller, holds time.Duration) {
			wait.Go(func() {
				err := do(t.Context(), b, c, func() error {
					order = append(order, c.Source)
					time.Sleep(holds)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for range 2 {
			for i := range 4 {
				arrive(Caller{Source: fmt.Sprint("long", i), Long: true}, time.Duration(5-i)*time.Second)
			}
		}
		for range 3 {
			began := time.Now()
			arrive(Caller{Source: "short"}, time.Second)
			time.Sleep(time.Second)
			synctest.Wait()
			if order[len(order)-1] != "short" || time.Since(began) != time.Second {
				t.Errorf("served %s", order)
			}
		}
		if running, waiting := b.Load(); running != 1 || waiting != 7 {
			t.Errorf("%d run, %d wait", running, waiting)
		}
		wait.Wait()
		if got, want := fmt.Sprint(order), "[long0 short short short long1 long2 long3 long3 long2 long1 long0]"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
		if b.long != 0 || len(b.sources) != 0 {
			t.Errorf("left: %d, %v", b.long, b.sources)
		}
	})
}
