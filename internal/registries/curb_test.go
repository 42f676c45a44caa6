package registries

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/store"
)

// Whatever changes how often: within a day from the first alert there are no more than so many, the last of them says so,
// nothing is lost in silence for ever, and a registry that changes seldom is told of as ever.
func TestCurbKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row, at := store.Watched{}, dawn
		var told []time.Time
		silentUntil, untold := time.Time{}, int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "checks") {
			at = at.Add(time.Duration(rapid.IntRange(1, 8*60).Draw(t, "minutes")) * time.Minute / time.Duration(rapid.SampledFrom([]int{1, 60}).Draw(t, "pace")))
			wanted := rapid.SampledFrom([]alerts.Kind{"", alerts.RegistryValid, alerts.RegistryNotValid}).Draw(t, "wanted")
			counted := wanted != "" || rapid.Bool().Draw(t, "counted")
			n := curb(&row, wanted, counted, at)
			silent := at.Before(silentUntil)
			switch {
			case n.changed != (wanted != ""):
				t.Fatalf("changed %t, wanted %q", n.changed, wanted)
			case silent && n.kind != "":
				t.Fatalf("told at %v in spite of the silence until %v", at, silentUntil)
			case !silent && wanted != "" && n.kind != wanted:
				t.Fatalf("%q told as %q", wanted, n.kind)
			case !silent && wanted == "" && (n.kind != "") != (counted && untold > 0):
				t.Fatalf("told %q of %d untold changes", n.kind, untold)
			}
			if n.kind == "" {
				if wanted != "" {
					untold++
				}
				continue
			}
			if n.untold != untold {
				t.Fatalf("%d were not told of, it says %d", untold, n.untold)
			}
			told, untold = append(told, at), 0
			if len(told) > 2*toldMost && told[len(told)-1].Sub(told[len(told)-1-2*toldMost]) < toldWithin {
				t.Fatalf("more than %d within a day", 2*toldMost)
			}
			if !n.until.IsZero() {
				silentUntil = n.until
			}
		}
	})
}

func TestTheLastOfManyAlertsSaysSo(t *testing.T) {
	row, kinds := store.Watched{}, []alerts.Kind{alerts.RegistryNotValid, alerts.RegistryValid}
	end := dawn.Add(toldWithin)
	for i := range 30 {
		n := curb(&row, kinds[i%2], true, dawn.Add(time.Duration(i)*time.Minute))
		if (n.kind != "") != (i < toldMost) || n.until.IsZero() != (i != toldMost-1) || !n.until.IsZero() && !n.until.Equal(end) {
			t.Errorf("alert %d: %+v", i, n)
		}
	}
	if n := curb(&row, "", true, end.Add(-time.Second)); n.kind != "" {
		t.Errorf("told before the end: %+v", n)
	}
	row.State = store.Verdict{Code: "RegistryAuthFailed"}
	if n := curb(&row, "", false, end); n.kind != "" {
		t.Errorf("told of a check that does not count: %+v", n)
	}
	if n := curb(&row, "", true, end); n.kind != alerts.RegistryNotValid || n.untold != 10 || n.changed {
		t.Errorf("how it ended: %+v", n)
	}
	if n := curb(&row, "", true, end.Add(time.Minute)); n.kind != "" || row.Told != 1 || row.Untold != 0 {
		t.Errorf("told again: %+v, %+v", n, row)
	}
	row = store.Watched{ToldSince: dawn.Add(9000 * time.Hour), Told: toldMost}
	if n := curb(&row, alerts.RegistryValid, true, dawn); n.kind == "" {
		t.Error("a wrong clock silences for ever")
	}
}
