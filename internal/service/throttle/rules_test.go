package throttle

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

const longest = 15 * time.Minute

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var rules = Rules{Free: 5, MaxWait: longest}

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
	rules   Rules
	now     time.Time
	pairs   map[int]store.Throttle
	shared  store.Throttle
	sources map[int]store.Throttle
}

// try applies the rules like Attempt, without a store. It returns how long the source has to wait.
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
			rules: Rules{Free: rapid.Int64Range(1, 100).Draw(r, "free"),
				MaxWait: rapid.SampledFrom([]time.Duration{time.Second, time.Minute, longest, 24 * time.Hour}).Draw(r,
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
					if wait > m.rules.MaxWait {
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
				if wait := m.try(100, true); wait > m.rules.MaxWait {
					r.Fatalf("the owner at another source has to wait %v", wait)
				}
				guesses, begun = 0, m.now // a success may have reset the count
			},
			"": func(r *rapid.T) {
				days := int64(m.now.Sub(begun)/(24*time.Hour)) + 1
				perDay := int64(24*time.Hour/m.rules.MaxWait) + AlertAfter + 1
				if m.rules.MaxWait >= 15*time.Minute && guesses > days*perDay {
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
		rules := Rules{Free: rapid.Int64Range(1, 100).Draw(r, "free"),
			MaxWait: rapid.SampledFrom([]time.Duration{15 * time.Minute, 24 * time.Hour}).Draw(r, "longest")}
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
			if most := rules.MaxWait / sharedWaitShare; wait > most {
				r.Fatalf("a wait of %v, the longest is %v", wait, most)
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
		if most := sourceFree*rules.Free + 6 + int64(forgetSource/time.Minute); tries > hours*most {
			r.Fatalf("%d attempts in %d hours", tries, hours)
		}
	})
}
