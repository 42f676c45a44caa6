package auth

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
)

// refusalKinds are the ways to be refused that nobody may tell apart.
var refusalKinds = []string{"unknown organization", "unknown user", "wrong password", "disabled user"}

// TestRefusalsTakeTheSameTime times 1,000 interleaved refusals, 250 of each kind. The statistic: for each pair of
// kinds the share of samples of one that are slower than a sample of the other (the area under the curve of
// the best guess by time alone; Mann and Whitney's U over its maximum). A half tells nothing apart; with 250
// samples a side chance strays by 0.026. The limit is 0.17, because the race detector makes reading a user's row,
// which is some microseconds, some tens of them: without it the shares are 0.48 to 0.53. The same statistic is then asked
// about a service that skips the hash for a kind: it has to find that out, else the test would prove nothing.
func TestRefusalsTakeTheSameTime(t *testing.T) {
	const perKind, limit = 250, 0.17
	honest := timeRefusals(t, perKind, false)
	for i, one := range refusalKinds {
		for j, other := range refusalKinds[:i] {
			share := slowerShare(honest[i], honest[j])
			t.Logf("%s against %s: %.3f", one, other, share)
			if math.Abs(share-0.5) > limit {
				t.Errorf("%s and %s are told apart by time: %.3f of pairs are slower, medians %v and %v", one, other, share, median(honest[i]), median(honest[j]))
			}
		}
	}
	broken := timeRefusals(t, 40, true)
	if share := slowerShare(broken[2], broken[1]); share < 0.5+limit {
		t.Errorf("a skipped hash is not noticed: %.3f, medians %v and %v", share, median(broken[2]), median(broken[1]))
	} else {
		t.Logf("with a skipped hash for unknown users: %.3f", share)
	}
}

// timeRefusals returns the times of refusals by kind. skip makes the mistake that the test is for: it hashes
// next to nothing for a user that does not exist.
func timeRefusals(t *testing.T, perKind int, skip bool) [][]time.Duration {
	t.Helper()
	const hashCost = 4096 // KiB: some milliseconds, about as long as the rest of a sign-in
	w := mustWorld(t, func(c *Config) { c.testHash = HashCost{MemoryKiB: hashCost, Time: 1, Parallelism: 1} })
	mustDisable(t, w, w.mustUser(t, w.org, "disabled@example.com", RoleMember))
	if skip {
		w.passwords.nobody.cost.MemoryKiB = 8
	}
	credentials := []Credentials{{goodEmail, "Nobody", "x"}, {"nobody@example.com", goodOrg, "x"}, {goodEmail, goodOrg, "x"}, {"disabled@example.com", goodOrg, goodPassword}}
	times := make([][]time.Duration, len(credentials))
	for i := range perKind {
		w.clock.move(25 * time.Hour) // no count is left from before
		for kind := range credentials {
			kind = (kind + i) % len(credentials) // each kind comes after each other
			from := audit.Origin{Address: fmt.Sprintf("192.0.2.%d", i%250)}
			began := time.Now()
			_, err := w.Login(t.Context(), from, credentials[kind])
			times[kind] = append(times[kind], time.Since(began))
			wantWrong(t, err)
		}
	}
	return times
}

// slowerShare is the share of pairs in which the sample of a is the slower one.
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

func median(samples []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(samples))[len(samples)/2]
}
