package registrylist

import (
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/views"
)

const sparkDays = 30

// Sparkline is the timeline of a registry in a row: a bar for each day, as high as the worst health in it is bad.
type Sparkline struct {
	Text                      string // in place of the bars
	Failing, Healthy, Unknown string // paths of a drawing that is a unit wide for each day
}

// sparkBars are how days of each health are drawn: the first day, and how many.
var sparkBars = map[registries.Health]string{registries.Failing: "M%[1]d 0h%[2]dv8h-%[2]dz", registries.Healthy: "M%[1]d 3h%[2]dv5h-%[2]dz",
	registries.Unknown: "M%[1]d 7h%[2]dv1h-%[2]dz"}

// sparkline returns that of a registry that was stored at a time, and whose newest change is the first.
func sparkline(changes []registries.HealthChange, stored, now time.Time) Sparkline {
	timeline := views.TimelineOf(changes, stored, now)
	text := "no result in 30 days"
	if timeline.Uptime != "" {
		text = timeline.Uptime + " healthy in 30 days"
	}
	paths, days := map[registries.Health]string{}, timeline.Days
	for from := 0; from < len(days); {
		to, state := from, days[from].State
		for to < len(days) && days[to].State == state {
			to++
		}
		paths[state] += fmt.Sprintf(sparkBars[state], sparkDays-len(days)+from, to-from)
		from = to
	}
	return Sparkline{text, paths[registries.Failing], paths[registries.Healthy], paths[registries.Unknown]}
}
