package views

import (
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
	Days    []Day // the oldest first
	Summary string
}

// Day is a day in UTC, or the part of it that the timeline has.
type Day struct {
	Date     time.Time
	Failures int // periods of failing health
	Healthy  int // percent of the time with a result; 0 without one
	State    registries.Health
	Failing  int // the height of its failures in the drawing
}

// Text describes a day.
func (d Day) Text() string {
	date := d.Date.Format(time.DateOnly)
	if d.State == registries.Unknown {
		return date + ": no result"
	}
	return fmt.Sprintf("%s: %d%% healthy, %s", date, d.Healthy, words.Count(d.Failures, "failure"))
}

// bar is a period of equal health.
type bar struct {
	state    registries.Health
	from, to time.Time
}

// TimelineOf returns the timeline of a history, whose newest entry is the first, of a registry that was stored at a time.
func TimelineOf(history []watch.HistoryEntry, stored, now time.Time) Timeline {
	begin, what := now.UTC().Truncate(words.Day).AddDate(0, 0, 1-timelineDays), "Last 30 days"
	if last := len(history) - 1; last >= 0 && history[last].Since.Before(stored) { // by another clock, or copied from another store
		stored = history[last].Since
	}
	if stored.After(begin) {
		begin, what = stored.UTC(), "Since it was stored"
	}
	bars := healthBars(history, begin, now)
	shown := Timeline{Summary: summarize(what, bars)}
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
	day.Healthy, day.Failures, day.State = uptime(healthy, failing), failures, registries.Healthy
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

// uptime returns the healthy part of the time with a result, in percent. It rounds down, so that 100 means no failure.
func uptime(healthy, failing time.Duration) int {
	return int(healthy * 100 / (healthy + failing))
}

// healthBars returns the periods of equal health, the oldest first. A health lasts until the next check that counted another one.
func healthBars(history []watch.HistoryEntry, begin, end time.Time) (bars []bar) {
	add := func(state registries.Health, from time.Time) {
		if last := len(bars) - 1; last >= 0 && bars[last].state == state {
			bars[last].from = from
		} else {
			bars = append(bars, bar{state, from, end})
		}
		end = from
	}
	for _, entry := range history {
		if !entry.Counted || !entry.Since.Before(end) {
			continue
		}
		state := registries.Failing
		if entry.Result.Valid {
			state = registries.Healthy
		}
		if !entry.Since.After(begin) {
			add(state, begin)
			break
		}
		add(state, entry.Since)
	}
	if end.After(begin) {
		add(registries.Unknown, begin)
	}
	slices.Reverse(bars)
	return bars
}

// summarize describes the bars in words.
func summarize(what string, bars []bar) string {
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
	if len(parts) == 0 {
		parts = []string{"no result yet"}
	}
	text := what + ": " + strings.Join(parts, ", ") + "."
	healthy, failing := durations[registries.Healthy], durations[registries.Failing]
	if healthy+failing == 0 {
		return text
	}
	return fmt.Sprintf("Uptime %d%%. %s", uptime(healthy, failing), text)
}
