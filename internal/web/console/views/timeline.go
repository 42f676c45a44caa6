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
	timelineSpan  = 30 * 24 * time.Hour
	timelineWidth = 720 // the width of the drawing, in its own units
	minBarWidth   = 4   // so that a short failure is visible
)

// Timeline shows the health of a registry over timelineSpan.
type Timeline struct {
	Bars    []Bar // those of failures are the last, which are drawn above the others
	Summary string
}

// Bar is a period of equal health.
type Bar struct {
	State    registries.Health
	From, To time.Time
	X, Width int
}

// Title describes a bar.
func (b Bar) Title() string {
	const format = "2006-01-02 15:04"
	return fmt.Sprintf("%s from %s to %s UTC", b.State, b.From.UTC().Format(format), b.To.UTC().Format(format))
}

// TimelineOf returns the timeline of a history, whose newest entry is the first.
func TimelineOf(history []watch.HistoryEntry, now time.Time) Timeline {
	bars := healthBars(history, now)
	for i := range bars {
		one := &bars[i]
		from, to := position(one.From, now), position(one.To, now)
		one.Width = max(to-from, minBarWidth)
		one.X = min(from, timelineWidth-one.Width)
	}
	shown := Timeline{Summary: summarize(bars)}
	for _, state := range []registries.Health{registries.Unknown, registries.Healthy, registries.Failing} {
		for _, one := range bars {
			if one.State == state {
				shown.Bars = append(shown.Bars, one)
			}
		}
	}
	return shown
}

func position(at, now time.Time) int {
	return timelineWidth - int(now.Sub(at)*timelineWidth/timelineSpan)
}

// healthBars returns the periods of equal health, the oldest first. A health lasts until the next check that counted another one.
func healthBars(history []watch.HistoryEntry, now time.Time) (bars []Bar) {
	begin, end := now.Add(-timelineSpan), now
	add := func(state registries.Health, from time.Time) {
		if last := len(bars) - 1; last >= 0 && bars[last].State == state {
			bars[last].From = from
		} else {
			bars = append(bars, Bar{State: state, From: from, To: end})
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
func summarize(bars []Bar) string {
	if len(bars) == 1 {
		return fmt.Sprintf("Last 30 days: %s.", bars[0].State)
	}
	durations, periods := map[registries.Health]time.Duration{}, map[registries.Health]int{}
	for _, one := range bars {
		durations[one.State] += one.To.Sub(one.From)
		periods[one.State]++
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
	return "Last 30 days: " + strings.Join(parts, ", ") + "."
}
