package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

func (w *world) tryFrom(t *testing.T, address, email string, password secret.String) error {
	t.Helper()
	_, err := w.Login(t.Context(), audit.Origin{Address: address}, Credentials{Email: email, Org: goodOrg, Password: password})
	return err
}

func wantWait(t *testing.T, err error) time.Duration {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Limited || f.Code != fault.CodeTooManyRequests || f.RetryAfter <= 0 {
		t.Fatalf("got %v, want to wait", err)
	}
	return f.RetryAfter
}

func wantWrong(t *testing.T, err error) {
	t.Helper()
	wantFault(t, err, fault.CodeAuthenticationFailed, "")
}

// TestThrottle runs the same attempts for an existing and an unknown name: all responses are the same.
func TestThrottle(t *testing.T) {
	for _, email := range []string{goodEmail, "unknown@example.com"} {
		t.Run(email, func(t *testing.T) {
			w := mustWorld(t, nil)
			const here, there = "2001:db8:1:2::5", "198.51.100.7"
			for i := range 5 {
				wantWrong(t, w.tryFrom(t, fmt.Sprintf("2001:db8:1:2::%d", i),
					[]string{email, " " + strings.ToUpper(email), strings.ReplaceAll(email, "@", "\uff20")}[i%3], "wrong"))
			}
			before := len(w.audits(t, 1000))
			release := mustOccupy(t, w.passwords.bulk) // a throttled attempt must not need a slot
			for range 20 {
				if wait := wantWait(t, w.tryFrom(t, here, email, goodPassword)); wait != 2*time.Second {
					t.Errorf("wait %v", wait)
				}
			}
			release()
			if after := len(w.audits(t, 1000)); after != before {
				t.Errorf("%d records of refused attempts", after-before)
			}
			wantWrong(t, w.tryFrom(t, there, email, "wrong"))
			w.clock.move(2 * time.Second)
			wantWrong(t, w.tryFrom(t, here, email, "wrong"))
			if wait := wantWait(t, w.tryFrom(t, here, email, "wrong")); wait != 4*time.Second {
				t.Errorf("wait %v", wait)
			}
			w.clock.move(time.Hour)
			wantWrong(t, w.tryFrom(t, here, email, "wrong")) // the failures were deleted
		})
	}
}

// TestOwnerIsNotLockedOut has a botnet guess until the alert, and the owner log in.
func TestOwnerIsNotLockedOut(t *testing.T) {
	var log strings.Builder
	w := mustWorld(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	const home = "192.0.2.10"
	if err := w.tryFrom(t, home, goodEmail, goodPassword); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		w.clock.move(time.Minute)
		wantWrong(t, w.tryFrom(t, fmt.Sprintf("198.51.100.%d", i), goodEmail, "wrong"))
		if i%10 == 0 {
			if err := w.tryFrom(t, home, goodEmail, goodPassword); err != nil {
				t.Fatalf("the owner is refused: %v", err)
			}
		}
	}
	alerts := 0
	for _, record := range w.audits(t, 1000) {
		if record.Action == audit.LoginAlert {
			alerts++
			if record.Object != w.user.UID || record.OrgUID != w.org.UID {
				t.Errorf("audit record: %+v", record)
			}
		}
	}
	if wait := wantWait(t, w.tryFrom(t, "203.0.113.1", goodEmail, goodPassword)); wait != defaultLoginMaxWait || alerts != 1 {
		t.Errorf("a new source waits %v; %d alerts", wait, alerts)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), w.user.UID) {
		t.Errorf("logged: %s", log.String())
	}
	if err := w.tryFrom(t, home, goodEmail, goodPassword); err != nil {
		t.Errorf("the owner is refused: %v", err)
	}
	w.clock.move(defaultLoginMaxWait)
	if err := w.tryFrom(t, "203.0.113.1", goodEmail, goodPassword); err != nil {
		t.Errorf("the owner at a new address is locked out: %v", err)
	}
}

// TestSourceIsThrottled guesses at invented accounts from one source. Then the source has to wait for any account
// except one that logged in from there before; other sources do not. Attempts during the wait write nothing.
func TestSourceIsThrottled(t *testing.T) {
	w := mustWorld(t, func(c *Config) { c.LoginFreeFailures = 2 })
	const shared, other = "2001:db8:1:2::5", "198.51.100.7"
	w.mustUser(t, w.org, "grace@example.com", RoleMember)
	if err := w.tryFrom(t, shared, goodEmail, goodPassword); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * 20 {
		wantWrong(t, w.tryFrom(t, fmt.Sprintf("2001:db8:1:2::%d", i), fmt.Sprintf("invented%d@example.com", i), "wrong"))
	}
	before := len(w.audits(t, 1000))
	for _, email := range []string{"grace@example.com", "invented@example.com"} {
		if wait := wantWait(t, w.tryFrom(t, shared, email, goodPassword)); wait != time.Second {
			t.Errorf("%s waits %v", email, wait)
		}
	}
	if after := len(w.audits(t, 1000)); after != before {
		t.Errorf("%d records of refused attempts", after-before)
	}
	wantWrong(t, w.tryFrom(t, shared, goodEmail, "wrong"))
	for _, address := range []string{shared, other} {
		if err := w.tryFrom(t, address, goodEmail, goodPassword); err != nil {
			t.Errorf("the owner from %s: %v", address, err)
		}
	}
	replica := &world{service: w.mustSecond(t), clock: w.clock, dir: w.dir}
	wantWait(t, replica.tryFrom(t, shared, "grace@example.com", goodPassword))
	w.clock.move(time.Second)
	if err := w.tryFrom(t, shared, "grace@example.com", goodPassword); err != nil {
		t.Errorf("the first login after the wait: %v", err)
	}
	wantWait(t, w.tryFrom(t, shared, "invented@example.com", "wrong")) // that was the one attempt; a success resets nothing
	w.clock.move(time.Hour)
	wantWrong(t, w.tryFrom(t, shared, "invented@example.com", "wrong"))
	wantWrong(t, w.tryFrom(t, shared, "invented@example.com", "wrong"))
}

// TestOneTryAfterAWait makes many attempts at the end of a wait. One is hashed.
func TestOneTryAfterAWait(t *testing.T) {
	w := mustWorld(t, nil)
	for range 7 {
		w.clock.move(time.Minute)
		wantWrong(t, w.tryFrom(t, "192.0.2.1", goodEmail, "wrong"))
	}
	w.clock.move(time.Minute)
	hashed := 0
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 30 {
		wait.Go(func() {
			err := w.tryFrom(t, "192.0.2.1", goodEmail, "wrong")
			if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.CodeAuthenticationFailed {
				mu.Lock()
				hashed++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if hashed != 1 {
		t.Errorf("%d attempts after one wait", hashed)
	}
}

func TestThrottleStateIsStoredSharedAndSwept(t *testing.T) {
	w := mustWorld(t, nil)
	for range 5 {
		wantWrong(t, w.tryFrom(t, "192.0.2.1", goodEmail, "wrong"))
	}
	replica := &world{service: w.mustSecond(t), clock: w.clock, dir: w.dir}
	wantWait(t, replica.tryFrom(t, "192.0.2.1", goodEmail, goodPassword))

	w.mustSetPassword(t, w.user, goodPassword)
	if err := replica.tryFrom(t, "192.0.2.1", goodEmail, goodPassword); err != nil {
		t.Errorf("a new password does not end the wait: %v", err)
	}
	wantWrong(t, w.tryFrom(t, "192.0.2.9", "my password by mistake", "x"))
	w.clock.move(3 * time.Hour)
	if err := w.sweeper().Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.mustWrite(t, func(tx *store.Tx) error {
		left, err := tx.Throttling.DeleteBefore(t.Context(), start.Add(365*24*time.Hour), 100)
		if left != 1 { // the success
			t.Errorf("%d rows are left", left)
		}
		return err
	})
}

func TestWrongCurrentPasswordsAreThrottled(t *testing.T) {
	w := mustWorld(t, nil)
	w.clock.move(2 * time.Minute) // for a minute after a change the new password is checked too
	p := w.mustPrincipal(t, w.mustLogin(t))
	change := func(current secret.String) error {
		return w.ChangePassword(t.Context(), p, origin, current, "another fine password of mine")
	}
	for range 5 {
		wantFault(t, change("wrong"), fault.CodeInvalidRequest, "")
	}
	wantWait(t, change(goodPassword))
	w.clock.move(2 * time.Second)
	if err := change(goodPassword); err != nil {
		t.Error(err)
	}
}

// TestAllowancesInUseAreNotSwept: a sweep would otherwise allow a user more operations.
func TestAllowancesInUseAreNotSwept(t *testing.T) {
	w := mustWorld(t, nil)
	for i, ended := range []bool{true, false, true} {
		w.mustWrite(t, func(tx *store.Tx) error {
			_, reserved, err := tx.Allowances.Reserve(t.Context(), w.user.UID, 1, 90*time.Minute, 0, w.clock.now())
			if reserved != ended {
				t.Errorf("operation %d: reserved %t", i, reserved)
			}
			return err
		})
		w.clock.move(time.Hour)
		if err := w.sweeper().Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
