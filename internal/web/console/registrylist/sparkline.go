package registrylist

import (
	"fmt"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

const days = 30

// Sparkline is the health of a registry in the last 30 days: a bar for each, as high as the worst health in it is bad.
type Sparkline struct {
	Text                      string // in place of the bars
	Failing, Healthy, Unknown string // paths of a drawing that is a unit wide for each day
}

// bars are how days of each health are drawn: the first day, and how many.
var bars = map[registries.Health]string{registries.Failing: "M%[1]d 0h%[2]dv8h-%[2]dz", registries.Healthy: "M%[1]d 3h%[2]dv5h-%[2]dz",
	registries.Unknown: "M%[1]d 7h%[2]dv1h-%[2]dz"}

// sparkline returns that of a history, whose newest change is the first.
func sparkline(changes []registries.HealthChange, now time.Time) Sparkline {
	worst := slices.Repeat([]registries.Health{registries.Unknown}, days)
	var healthy, known time.Duration
	end, begin := now, now.Add(-days*words.Day)
	for _, c := range changes {
		if !c.At.Before(end) {
			continue
		}
		from := c.At
		if from.Before(begin) {
			from = begin
		}
		known += end.Sub(from)
		if c.Valid {
			healthy += end.Sub(from)
		}
		mark(worst, int(from.Sub(begin)/words.Day), int((end.Sub(begin)-1)/words.Day), c.Valid)
		if end = from; !from.After(begin) {
			break
		}
	}
	return draw(worst, healthy, known)
}

// mark sets the health of days, unless it is already worse.
func mark(worst []registries.Health, first, last int, valid bool) {
	for i := first; i <= last; i++ {
		if !valid {
			worst[i] = registries.Failing
		} else if worst[i] == registries.Unknown {
			worst[i] = registries.Healthy
		}
	}
}

func draw(worst []registries.Health, healthy, known time.Duration) Sparkline {
	paths := map[registries.Health]string{}
	for from := 0; from < days; {
		to, health := from, worst[from]
		for to < days && worst[to] == health {
			to++
		}
		paths[health] += fmt.Sprintf(bars[health], from, to-from)
		from = to
	}
	return Sparkline{uptime(healthy, known), paths[registries.Failing], paths[registries.Healthy], paths[registries.Unknown]}
}

// uptime is the share of the known time. It is rounded down: only a registry that never failed was healthy all the time.
func uptime(healthy, known time.Duration) string {
	if known <= 0 {
		return "not checked in 30 days"
	}
	thousandths := int(healthy.Seconds() * 1000 / known.Seconds())
	if thousandths%10 == 0 {
		return fmt.Sprintf("%d %% healthy in 30 days", thousandths/10)
	}
	return fmt.Sprintf("%d.%d %% healthy in 30 days", thousandths/10, thousandths%10)
}
