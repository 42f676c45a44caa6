package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/console/words"
)

const (
	timelineDays = 30
	dayHeight    = 24 // of the drawing of a day, in its own units
	minFailing   = 8  // so that a short failure is visible
)

// Timeline shows the health of a registry in the last timelineDays, or since it was stored.
type Timeline struct {
	Days    []Day  // the oldest first
	Uptime  string // the healthy part of the time with a result; empty without one
	Summary string
}

// Day is a day in UTC, or the part of it that the timeline has.
type Day struct {
	Date     time.Time
	Failures int    // periods of failing health
	Healthy  string // the part of the time with a result; empty without one
	State    registries.Health
	Failing  int // the height of its failures in the drawing
}

// Text describes a day.
func (d Day) Text() string {
	date := d.Date.Format(time.DateOnly)
	if d.State == registries.Unknown {
		return date + ": no result"
	}
	return fmt.Sprintf("%s: %s healthy, %s", date, d.Healthy, words.Count(d.Failures, "failure"))
}

// bar is a period of equal health.
type bar struct {
	state    registries.Health
	from, to time.Time
}

// ChangesOf returns the changes of health of a history.
func ChangesOf(history []watch.HistoryEntry) (changes []registries.HealthChange) {
	for _, entry := range history {
		if entry.Counted {
			changes = append(changes, registries.HealthChange{At: entry.Since, Health: entry.Result.Word()})
		}
	}
	return changes
}

// TimelineOf returns the timeline of a registry that was stored at a time, and whose newest change is the first.
func TimelineOf(changes []registries.HealthChange, stored, now time.Time) Timeline {
	begin, what := now.UTC().Truncate(words.Day).AddDate(0, 0, 1-timelineDays), "Last 30 days"
	if last := len(changes) - 1; last >= 0 && changes[last].At.Before(stored) { // by another clock, or copied from another store
		stored = changes[last].At
	}
	if stored.After(begin) {
		begin, what = stored.UTC(), "Since it was stored"
	}
	bars := healthBars(changes, begin, now)
	shown := Timeline{Summary: what + ": " + summarize(bars) + "."}
	if healthy, failing, _ := lengths(bars); healthy+failing > 0 {
		shown.Uptime = words.Share(healthy, healthy+failing)
	}
	for date := begin.Truncate(words.Day); !date.After(now); date = date.AddDate(0, 0, 1) {
		shown.Days = append(shown.Days, dayOf(date, bars))
	}
	return shown
}

// dayOf returns the part of the bars that is on a day.
func dayOf(date time.Time, bars []bar) Day {
	day, next := Day{Date: date, State: registries.Unknown}, date.AddDate(0, 0, 1)
	var part []bar
	for _, one := range bars {
		if one.from = later(one.from, date); one.to.After(next) {
			one.to = next
		}
		if one.from.Before(one.to) {
			part = append(part, one)
		}
	}
	healthy, failing, failures := lengths(part)
	if healthy+failing == 0 {
		return day
	}
	day.Healthy, day.Failures, day.State = words.Share(healthy, healthy+failing), failures, registries.Healthy
	if failing > 0 {
		day.State, day.Failing = registries.Failing, max(int(failing*dayHeight/(healthy+failing)), minFailing)
	}
	return day
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func lengths(bars []bar) (healthy, failing time.Duration, failures int) {
	for _, one := range bars {
		switch length := one.to.Sub(one.from); one.state {
		case registries.Healthy:
			healthy += length
		case registries.Failing:
			failing += length
			failures++
		default:
		}
	}
	return healthy, failing, failures
}

// healthBars returns the periods of equal health, the oldest first. A health lasts until the next check that counted another one.
func healthBars(changes []registries.HealthChange, begin, end time.Time) (bars []bar) {
	add := func(state registries.Health, from time.Time) {
		if last := len(bars) - 1; last >= 0 && bars[last].state == state {
			bars[last].from = from
		} else {
			bars = append(bars, bar{state, from, end})
		}
		end = from
	}
	for _, change := range changes {
		if !change.At.Before(end) {
			continue
		}
		if !change.At.After(begin) {
			add(change.Health, begin)
			break
		}
		add(change.Health, change.At)
	}
	if end.After(begin) {
		add(registries.Unknown, begin)
	}
	slices.Reverse(bars)
	return bars
}

// summarize describes the bars in words.
func summarize(bars []bar) string {
	durations, periods := map[registries.Health]time.Duration{}, map[registries.Health]int{}
	for _, one := range bars {
		durations[one.state] += one.to.Sub(one.from)
		periods[one.state]++
	}
	var parts []string
	for _, state := range []registries.Health{registries.Healthy, registries.Failing, registries.Unknown} {
		if periods[state] == 0 {
			continue
		}
		part := fmt.Sprintf("%s for %s", state, words.Duration(durations[state]))
		if n := periods[state]; state == registries.Failing && n > 1 {
			part += fmt.Sprintf(" in %d periods", n)
		}
		parts = append(parts, part)
	}
	return cmp.Or(strings.Join(parts, ", "), "no result yet")
}
