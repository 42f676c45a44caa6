package auth

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth/passwordhash"
	"github.com/regwarden/regwarden/internal/service/hashing"
)

// refusalKinds are the kinds of refusals that must not be distinguishable.
var refusalKinds = []string{"unknown organization", "unknown user", "wrong password", "disabled user"}

// TestRefusalsDoTheSameWork counts for each kind of refusal what takes time: hashes, their memory, and audit records.
// It checks that a service that hashes less for unknown users fails the test.
func TestRefusalsDoTheSameWork(t *testing.T) {
	w, credentials := mustRefusalWorld(t, cheap)
	want := refusalWork{hashes: 1, memoryKiB: cheap.MemoryKiB, records: 1}
	for kind, name := range refusalKinds {
		if got := w.workOf(t, credentials[kind]); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if stored, err := passwordhash.Parse(w.user.PasswordHash); err != nil || stored.Cost != w.passwords.hasher.Dummy.Cost {
		t.Errorf("the dummy hash costs %v, a stored one %v, %v", w.passwords.hasher.Dummy.Cost, stored.Cost, err)
	}
	w.passwords.hasher.Dummy.Cost.MemoryKiB = 8
	if got := w.workOf(t, credentials[1]); got == want {
		t.Error("a cheaper hash is not detected")
	}
	if *long {
		t.Run("and take the same time", timeLoginRefusals)
	}
}

type refusalWork struct {
	hashes, records int
	memoryKiB       uint32
}

// workOf returns the work of one refused login.
func (w *world) workOf(t *testing.T, c Credentials) (work refusalWork) {
	t.Helper()
	compute := w.passwords.hasher.Compute
	defer func() { w.passwords.hasher.Compute = compute }()
	w.passwords.hasher.Compute = func(in hashing.Input) ([]byte, error) {
		work.hashes++
		work.memoryKiB += in.MemoryKiB
		return compute(in)
	}
	before := len(w.audits(t, 1000))
	_, err := w.Login(t.Context(), origin, c)
	wantWrong(t, err)
	work.records = len(w.audits(t, 1000)) - before
	return work
}

// mustRefusalWorld returns a world and the credentials of each kind of refusal.
func mustRefusalWorld(t *testing.T, cost passwordhash.Cost) (*world, []Credentials) {
	t.Helper()
	w := mustWorld(t, func(c *Config) { c.hashCost = cost })
	mustDisable(t, w, w.mustUser(t, w.org, "disabled@example.com", RoleMember))
	return w, []Credentials{{Email: goodEmail, Org: "unknown", Password: "x"}, {Email: "unknown@example.com", Org: goodOrg, Password: "x"},
		{Email: goodEmail, Org: goodOrg, Password: "x"}, {Email: "disabled@example.com", Org: goodOrg, Password: goodPassword}}
}

// timeLoginRefusals times 1,000 interleaved refusals, 250 of each kind. For each pair of kinds it computes the share of
// pairs of samples in which the first is slower (Mann and Whitney's U over its maximum; 0.5 if time reveals nothing). The
// limit of 0.17 around that allows for the race detector, without which the shares are 0.48 to 0.53. A pair fails only if
// all rounds show it, since a busy machine can disturb one. The test also checks that it detects a skipped hash.
func timeLoginRefusals(t *testing.T) {
	const perKind, limit, rounds = 250, 0.17, 3
	apart := distinguishable(t, timeRefusals(t, perKind, false), limit)
	for round := 1; len(apart) > 0 && round < rounds; round++ {
		again := distinguishable(t, timeRefusals(t, perKind, false), limit)
		apart = slices.DeleteFunc(apart, func(pair string) bool { return !slices.Contains(again, pair) })
	}
	for _, pair := range apart {
		t.Errorf("%s are distinguishable by time in each of %d rounds", pair, rounds)
	}
	var share float64
	for round := 0; share < 0.5+limit && round < rounds; round++ {
		broken := timeRefusals(t, 40, true)
		share = slowerShare(broken[2], broken[1])
		t.Logf("with a skipped hash for unknown users: %.3f", share)
	}
	if share < 0.5+limit {
		t.Errorf("a skipped hash is not detected")
	}
}

// distinguishable lists the pairs of kinds that differ in time, and which of the two is slower.
func distinguishable(t *testing.T, times [][]time.Duration, limit float64) (pairs []string) {
	t.Helper()
	for i, one := range refusalKinds {
		for j, other := range refusalKinds[:i] {
			share := slowerShare(times[i], times[j])
			t.Logf("%s against %s: %.3f", one, other, share)
			switch {
			case share-0.5 > limit:
				pairs = append(pairs, one+" (slower) and "+other)
			case 0.5-share > limit:
				pairs = append(pairs, one+" and "+other+" (slower)")
			}
		}
	}
	return pairs
}

// timeRefusals returns the times of refusals by kind. With skip, it hashes almost nothing for an unknown user, which
// the test must detect.
func timeRefusals(t *testing.T, perKind int, skip bool) [][]time.Duration {
	t.Helper()
	const hashCost = 4096 // KiB: a few milliseconds, about as long as the rest of a login
	w, credentials := mustRefusalWorld(t, passwordhash.Cost{MemoryKiB: hashCost, Time: 1, Parallelism: 1})
	if skip {
		w.passwords.hasher.Dummy.Cost.MemoryKiB = 8
	}
	times := make([][]time.Duration, len(credentials))
	for i := range perKind {
		w.clock.move(25 * time.Hour) // no earlier failure counts
		for kind := range credentials {
			kind = (kind + i) % len(credentials) // each kind follows each other kind
			from := audit.Origin{Address: fmt.Sprintf("192.0.2.%d", i%250)}
			began := time.Now()
			_, err := w.Login(t.Context(), from, credentials[kind])
			times[kind] = append(times[kind], time.Since(began))
			wantWrong(t, err)
		}
	}
	return times
}

// slowerShare is the share of pairs in which the sample of a is slower.
func slowerShare(a, b []time.Duration) float64 {
	slower := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case x > y:
				slower++
			case x == y:
				slower += 0.5
			}
		}
	}
	return slower / float64(len(a)*len(b))
}
