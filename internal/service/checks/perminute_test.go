package checks

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
)

// Terraform validates any number of registries, ten at a time.
func TestTenConcurrentCallersAreNeverRefused(t *testing.T) {
	db := registriestest.New(t, nil).DB
	synctest.Test(t, func(t *testing.T) {
		l := newPerMinute(db, 0, time.Now)
		began := time.Now()
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				for range 20 {
					if err := l.await(t.Context(), "u"); err != nil {
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

// Waiting is limited: its time for a user, and the number of callers for all users.
func TestWaitingIsLimited(t *testing.T) {
	db := registriestest.New(t, nil).DB
	synctest.Test(t, func(t *testing.T) {
		l := newPerMinute(db, 60, time.Now)
		began := time.Now()
		var refused atomic.Int32
		var callers sync.WaitGroup
		ask := func(user string, n int) {
			for range n {
				callers.Go(func() {
					if err := l.await(context.Background(), user); err != nil {
						wantKind(t, err, fault.Limited)
						refused.Add(1)
					}
				})
				synctest.Wait()
			}
		}
		ask("u", 80)
		if waiting := l.load(); refused.Load() != 10 || waiting != 10 {
			t.Errorf("of 80 validations at once %d are refused and %d wait, want 10 of each", refused.Load(), waiting)
		}
		for i := range 12 {
			before := l.load()
			ask(fmt.Sprint("u", i), 70)
			if waiting := l.load(); waiting > maxWaiting || waiting == before && before < maxWaiting-1 {
				t.Errorf("%d validations wait, want at most %d, and one more user's than %d", waiting, maxWaiting, before)
			}
		}
		callers.Wait()
		if waiting := l.load(); waiting != 0 || time.Since(began) > maxWait {
			t.Errorf("after %v %d validations wait", time.Since(began), waiting)
		}
	})
}
