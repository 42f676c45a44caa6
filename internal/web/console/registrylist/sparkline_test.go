package registrylist

import (
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

// A day, in UTC as on the page of a registry, is as bad as the worst health in it. The share is that of the time since the first check.
func TestSparkline(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	ago := func(days float64, valid bool) registries.HealthChange {
		health := registries.Failing
		if valid {
			health = registries.Healthy
		}
		return registries.HealthChange{At: now.Add(-time.Duration(days * float64(words.Day))), Health: health}
	}
	unknown := registries.HealthChange{At: now.Add(-2 * words.Day), Health: registries.Unknown}
	for name, test := range map[string]struct {
		changes []registries.HealthChange
		want    Sparkline
	}{
		"never": {nil,
			Sparkline{"no result in 30 days", "", "", "M0 7h30v1h-30z"}},
		"always": {[]registries.HealthChange{ago(90, true)},
			Sparkline{"100 % healthy in 30 days", "", "M0 3h30v5h-30z", ""}},
		"older is not read": {[]registries.HealthChange{ago(40, true), ago(50, false)},
			Sparkline{"100 % healthy in 30 days", "", "M0 3h30v5h-30z", ""}},
		"new": {[]registries.HealthChange{ago(2, false)},
			Sparkline{"0 % healthy in 30 days", "M27 0h3v8h-3z", "", "M0 7h27v1h-27z"}},
		"a minute": {[]registries.HealthChange{ago(4.4993, true), ago(4.5, false), ago(60, true)},
			Sparkline{"99.9 % healthy in 30 days", "M25 0h1v8h-1z", "M0 3h25v5h-25zM26 3h4v5h-4z", ""}},
		"in the future": {[]registries.HealthChange{ago(-1, true), ago(10, false)},
			Sparkline{"0 % healthy in 30 days", "M19 0h11v8h-11z", "", "M0 7h19v1h-19z"}},
		"just now": {[]registries.HealthChange{ago(0, true)},
			Sparkline{"no result in 30 days", "", "", "M0 7h30v1h-30z"}},
		"unknown since": {[]registries.HealthChange{unknown, ago(60, true)},
			Sparkline{"100 % healthy in 30 days", "", "M0 3h28v5h-28z", "M28 7h2v1h-2z"}},
		"half": {[]registries.HealthChange{ago(1, true), ago(2, false)},
			Sparkline{"50 % healthy in 30 days", "M27 0h2v8h-2z", "M29 3h1v5h-1z", "M0 7h27v1h-27z"}},
	} {
		if got := sparkline(test.changes, time.Time{}, now); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
