package clock_test

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/clock"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// machine is a clock that can be set, and the elapsed time.
type machine struct {
	at     time.Time
	uptime time.Duration
}

func (m *machine) clock(hold time.Duration) *clock.Clock {
	return clock.NewFrom(func() time.Time { return m.at }, func() time.Duration { return m.uptime }, hold)
}

func (m *machine) pass(d time.Duration) {
	m.at, m.uptime = m.at.Add(d), m.uptime+d
}

func (m *machine) set(d time.Duration) { m.at = m.at.Add(d) }

func TestClockFollowsAndNeverGoesBack(t *testing.T) {
	const day = 24 * time.Hour
	m := &machine{at: start}
	c := m.clock(0)
	for _, s := range []struct {
		does string
		do   func()
		want time.Time
	}{
		{"a minute passes", func() { m.pass(time.Minute) }, start.Add(time.Minute)},
		{"set forward", func() { m.set(day) }, start.Add(day + time.Minute)},
		{"set back", func() { m.set(-day) }, start.Add(day + time.Minute)},
		{"an hour passes", func() { m.pass(time.Hour) }, start.Add(day + time.Minute + time.Hour/2)},
		{"two days pass", func() { m.pass(2 * day) }, start.Add(2*day + time.Minute + time.Hour)},
		{"a second more", func() { m.pass(time.Second) }, start.Add(2*day + time.Minute + time.Hour + time.Second)},
	} {
		s.do()
		if got := c.Now(); !got.Equal(s.want) {
			t.Errorf("%s: %v, want %v", s.does, got, s.want)
		}
	}
	m.set(-day)
	for seen, want := range map[time.Time]time.Duration{start: day, m.at.Add(2 * day): 2 * day} {
		if got := c.Behind(seen); got != want {
			t.Errorf("behind by %v, want %v", got, want)
		}
	}
}

// TestHoldIgnoresStepsForward: what waits for less than the time of the hold waits in full.
func TestHoldIgnoresStepsForward(t *testing.T) {
	m := &machine{at: start}
	c := m.clock(time.Hour)
	m.set(24 * time.Hour)
	for range 59 {
		c.Now()
		m.pass(time.Minute)
	}
	if got, want := c.Now(), start.Add(59*time.Minute); !got.Equal(want) {
		t.Errorf("within an hour: %v, want %v", got, want)
	}
	m.pass(time.Minute)
	if got := c.Now(); !got.Equal(m.at) {
		t.Errorf("after an hour: %v, want %v", got, m.at)
	}
	m.set(24 * time.Hour)
	before := c.Now()
	m.set(-24 * time.Hour)
	m.pass(2 * time.Hour)
	if got := c.Now(); !got.Equal(before.Add(2*time.Hour)) || !got.Equal(m.at) {
		t.Errorf("after a step that was taken back: %v, want %v", got, m.at)
	}
}

func TestClockInAnyOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := &machine{at: start}
		hold := rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(r, "hold")
		c := m.clock(hold)
		last, step := c.Now(), rapid.Int64Range(-int64(48*time.Hour), int64(48*time.Hour))
		for range rapid.IntRange(1, 50).Draw(r, "steps") {
			if rapid.Bool().Draw(r, "set") {
				m.set(time.Duration(step.Draw(r, "by")))
			}
			passed := time.Duration(rapid.Int64Range(0, int64(30*time.Minute)).Draw(r, "passed"))
			m.pass(passed)
			now := c.Now()
			if now.Sub(last) < passed/2 {
				r.Fatalf("%v passed, and the clock went from %v to %v", passed, last, now)
			}
			if hold == 0 && now.Before(m.at) {
				r.Fatalf("%v is behind the machine's %v", now, m.at)
			}
			last = now
		}
	})
}

func TestClockOfTheMachine(t *testing.T) {
	c := clock.New(0)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			last := c.Now()
			for range 1000 {
				now := c.Now()
				if now.Before(last) || time.Since(now).Abs() > time.Minute || c.Behind(start) > time.Second {
					t.Errorf("from %v to %v, behind by %v", last, now, c.Behind(start))
				}
				last = now
			}
		})
	}
	wait.Wait()
}
