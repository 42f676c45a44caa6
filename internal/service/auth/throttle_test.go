package auth

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

var rules = throttleRules{free: defaultFreeFailures, maxWait: defaultLoginMaxWait}

func TestWaitsGrowToTheLongest(t *testing.T) {
	for failures, want := range map[int64]time.Duration{0: 0, 4: 0, 5: 2 * time.Second, 6: 4 * time.Second,
		10: 64 * time.Second, 13: 512 * time.Second,
		14: 15 * time.Minute, 1000: 15 * time.Minute} {
		if got := rules.afterPair(failures); got != want {
			t.Errorf("%d failures of a pair: %v, want %v", failures, got, want)
		}
	}
	for failures, want := range map[int64]time.Duration{99: 0, 100: time.Second, 103: 8 * time.Second,
		106: time.Minute, 1 << 40: time.Minute} {
		if got := rules.afterSource(failures); got != want {
			t.Errorf("%d failures of a source: %v, want %v", failures, got, want)
		}
	}
	for failures, want := range map[int64]time.Duration{19: 0, 20: time.Second, 23: 8 * time.Second, 26: time.Minute, 99: time.Minute,
		100: 15 * time.Minute, 1 << 40: 15 * time.Minute} {
		if got := rules.afterShared(failures); got != want {
			t.Errorf("%d failures of all sources: %v, want %v", failures, got, want)
		}
	}
}

// TestSourceIsForgottenAnHourAfterItsFirstFailure: an address shared by many people has failures every hour.
func TestSourceIsForgottenAnHourAfterItsFirstFailure(t *testing.T) {
	first := store.Throttle{Failures: 1, ForgetAt: start} // as counted after the previous row was deleted
	if got := forgetSourceAt(first, 0, start); !got.Equal(start.Add(time.Hour)) {
		t.Errorf("the first failure is forgotten at %v", got)
	}
	second := store.Throttle{Failures: 2, ForgetAt: start.Add(time.Hour)}
	if got := forgetSourceAt(second, 0, start.Add(50*time.Minute)); !got.Equal(second.ForgetAt) {
		t.Errorf("a later failure prolongs it to %v", got)
	}
}

// throttleModel is an account, its owner at one source and attackers there and at others, with the pure rules alone.
type throttleModel struct {
	rules   throttleRules
	now     time.Time
	pairs   map[int]store.Throttle
	shared  store.Throttle
	sources map[int]store.Throttle
}

// try applies the rules like login.go, without a store. It returns how long the source has to wait.
func (m *throttleModel) try(source int, right bool) time.Duration {
	pair, shared := m.live(m.pairs[source]), m.live(m.shared)
	if wait := m.rules.wait(store.Throttles{Pair: pair, Account: shared, Source: m.live(m.sources[source])}, m.now); wait > 0 {
		return wait
	}
	own := ownAllowance(pair)
	if right {
		m.pairs[source] = store.Throttle{SucceededAt: m.now, ForgetAt: m.now.Add(forgetSuccess)}
		if !own {
			m.shared = store.Throttle{}
		}
		return 0
	}
	pair.Failures++
	wait := m.rules.afterPair(pair.Failures)
	pair.BlockedUntil, pair.ForgetAt = blockedUntil(wait, m.now), forgetPairAt(pair, wait, m.now)
	m.pairs[source] = pair
	if !own {
		shared.Failures++
		wait = m.rules.afterShared(shared.Failures)
		shared.BlockedUntil, shared.ForgetAt = blockedUntil(wait, m.now), forgetSharedAt(shared, wait, m.now)
		m.shared = shared
		m.failAnywhere(source)
	}
	return 0
}

// failAnywhere counts a failure of a source with any account except the model's own.
func (m *throttleModel) failAnywhere(source int) {
	t := m.live(m.sources[source])
	t.Failures++
	t.BlockedUntil, t.ForgetAt = blockedUntil(m.rules.afterSource(t.Failures), m.now), forgetSourceAt(t, 0, m.now)
	m.sources[source] = t
}

func (m *throttleModel) live(t store.Throttle) store.Throttle {
	if !t.ForgetAt.After(m.now) {
		return store.Throttle{}
	}
	return t
}

// TestAttackersCannotLockOutTheOwner runs any number of attackers at other sources, and at the owner's source with
// other accounts. The owner, at a source with a login within 90 days, logs in at once. No wait exceeds the maximum, no
// refused attempt prolongs one, and all attackers together get few attempts.
func TestAttackersCannotLockOutTheOwner(t *testing.T) {
	const owner = 0
	rapid.Check(t, func(r *rapid.T) {
		m := &throttleModel{now: start, pairs: map[int]store.Throttle{}, sources: map[int]store.Throttle{},
			rules: throttleRules{free: rapid.Int64Range(1, 100).Draw(r, "free"),
				maxWait: rapid.SampledFrom([]time.Duration{time.Second, time.Minute, defaultLoginMaxWait, 24 * time.Hour}).Draw(r,
					"longest")}}
		m.try(owner, true)
		lastSuccess, guesses, begun := start, int64(0), start
		r.Repeat(map[string]func(*rapid.T){
			"attack": func(r *rapid.T) {
				source := rapid.IntRange(1, 50).Draw(r, "source")
				for range rapid.IntRange(1, 200).Draw(r, "tries") {
					before := m.shared
					wait := m.try(source, false)
					if wait == 0 {
						guesses++
						continue
					}
					if wait > m.rules.maxWait {
						r.Fatalf("a wait of %v", wait)
					}
					if again := m.try(source, true); again != wait || m.shared != before {
						r.Fatalf("a refused attempt changed the wait from %v to %v", wait, again)
					}
				}
			},
			"attack other accounts": func(r *rapid.T) {
				source := rapid.IntRange(owner, 50).Draw(r, "source")
				for range rapid.IntRange(1, 200).Draw(r, "tries") {
					m.failAnywhere(source)
				}
			},
			"wait": func(r *rapid.T) {
				m.now = m.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 15 * time.Minute, time.Hour,
					25 * time.Hour}).Draw(r, "how long"))
			},
			"owner logs in": func(r *rapid.T) {
				if m.now.Sub(lastSuccess) >= forgetSuccess {
					r.Skip("the last login is so long ago that the source has no allowance")
				}
				if wait := m.try(owner, true); wait != 0 {
					r.Fatalf("the owner has to wait %v", wait)
				}
				lastSuccess = m.now
			},
			"owner logs in from another source": func(r *rapid.T) { // slow at worst, never locked out
				if wait := m.try(100, true); wait > m.rules.maxWait {
					r.Fatalf("the owner at another source has to wait %v", wait)
				}
				guesses, begun = 0, m.now // a success may have reset the count
			},
			"": func(r *rapid.T) {
				days := int64(m.now.Sub(begun)/(24*time.Hour)) + 1
				perDay := int64(24*time.Hour/m.rules.maxWait) + alertAfter + 1
				if m.rules.maxWait >= 15*time.Minute && guesses > days*perDay {
					r.Fatalf("%d guesses in %d days", guesses, days)
				}
			},
		})
	})
}

// TestOneSourceHasFewTries has a source try invented accounts at any times: it gets few attempts per hour, and causes
// no wait of another source and no wait longer than the shared maximum.
func TestOneSourceHasFewTries(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rules := throttleRules{free: rapid.Int64Range(1, 100).Draw(r, "free"),
			maxWait: rapid.SampledFrom([]time.Duration{15 * time.Minute, 24 * time.Hour}).Draw(r, "longest")}
		var source store.Throttle
		now, tries, hours := start, int64(0), int64(1)
		for range rapid.IntRange(1, 3000).Draw(r, "attempts") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, time.Minute}).Draw(r, "pause"))
			if !source.ForgetAt.After(now) {
				source = store.Throttle{}
			}
			wait := rules.wait(store.Throttles{Source: source}, now)
			if own := rules.wait(store.Throttles{Pair: store.Throttle{SucceededAt: start}, Source: source}, now); own != 0 {
				r.Fatalf("an account with an earlier success has to wait %v", own)
			}
			if longest := rules.maxWait / sharedWaitShare; wait > longest {
				r.Fatalf("a wait of %v, the longest is %v", wait, longest)
			}
			if wait > 0 {
				continue
			}
			if tries++; source.Failures == 0 && tries > 1 {
				hours++
			}
			source.Failures++
			source.BlockedUntil, source.ForgetAt = blockedUntil(rules.afterSource(source.Failures), now), forgetSourceAt(source, 0, now)
			if source.ForgetAt.Sub(now) > forgetSource {
				r.Fatalf("forgotten only after %v", source.ForgetAt.Sub(now))
			}
		}
		if most := sourceFree*rules.free + 6 + int64(forgetSource/time.Minute); tries > hours*most {
			r.Fatalf("%d attempts in %d hours", tries, hours)
		}
	})
}

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
	w := mustWorld(t, nil)
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
	for i := range 2 * sourceFree {
		wantWrong(t, w.tryFrom(t, fmt.Sprintf("2001:db8:1:2::%d", i), fmt.Sprintf("invented%d@example.com", i), "wrong"))
	}
	before := len(w.audits(t, 1000))
	for _, email := range []string{"grace@example.com", "invented@example.com"} {
		if wait := wantWait(t, w.tryFrom(t, shared, email, goodPassword)); wait != firstSharedWait {
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
	w.clock.move(firstSharedWait)
	if err := w.tryFrom(t, shared, "grace@example.com", goodPassword); err != nil {
		t.Errorf("the first login after the wait: %v", err)
	}
	wantWait(t, w.tryFrom(t, shared, "invented@example.com", "wrong")) // that was the one attempt; a success resets nothing
	w.clock.move(forgetSource)
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
	if err := w.Sweeper.Sweep(t.Context()); err != nil {
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
