package auth

import (
	"testing"
	"time"

	serverclock "github.com/regwarden/regwarden/internal/clock"
)

const day = 24 * time.Hour

// machine is a clock that is set forward and back while time passes.
type machine struct {
	clock
	uptime time.Duration
}

func (m *machine) pass(d time.Duration) {
	m.move(d)
	m.uptime += d
}

// withClocks makes a service use the clocks of a server.
func withClocks(m *machine) func(*Config) {
	elapsed := func() time.Duration { return m.uptime }
	return func(c *Config) {
		c.Now, c.WaitNow = serverclock.NewFrom(m.now, elapsed, 0).Now, serverclock.NewFrom(m.now, elapsed, time.Hour).Now
	}
}

// TestClockSetForwardAndBack: what has expired stays expired.
func TestClockSetForwardAndBack(t *testing.T) {
	m := &machine{clock: clock{at: start}}
	w := mustWorld(t, withClocks(m))
	tokens := w.mustLogin(t)
	_, key := w.mustKey(t, w.principal(t), NewAPIKey{Name: "key", ExpiresAt: m.now().Add(time.Hour)})
	use := func() (token, apiKey error) {
		_, apiKey = w.Authenticate(t.Context(), Presented{APIKey: key})
		return w.authenticate(t, tokens.Authorization), apiKey
	}
	if token, apiKey := use(); token != nil || apiKey != nil {
		t.Fatalf("before: %v, %v", token, apiKey)
	}
	m.move(day)
	if token, apiKey := use(); token == nil || apiKey == nil {
		t.Fatalf("a day later: %v, %v", token, apiKey)
	}
	m.move(-day)
	for range 3 {
		if token, apiKey := use(); token == nil || apiKey == nil {
			t.Errorf("after the clock was set back: %v, %v", token, apiKey)
		}
		m.pass(time.Hour)
	}
	w.mustLogin(t) // the service still works
}

// TestWaitSurvivesSettingTheClock: a wait after failed logins ends after the time that it takes, however the clock is set.
func TestWaitSurvivesSettingTheClock(t *testing.T) {
	m := &machine{clock: clock{at: start}}
	w := mustWorld(t, withClocks(m))
	fail := func() error { return w.tryFrom(t, "192.0.2.9", goodEmail, "wrong") }
	for range 12 {
		_ = fail()
		m.pass(time.Minute)
	}
	_ = fail()
	before := wantWait(t, fail())
	if before < time.Minute {
		t.Fatalf("a wait of %v", before)
	}
	for _, set := range []time.Duration{day, -day, -day, day} {
		m.move(set)
		if wait := wantWait(t, fail()); (wait - before).Abs() > time.Second {
			t.Errorf("a wait of %v became %v when the clock was set by %v", before, wait, set)
		}
		if err := w.sweeper().Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m.pass(before + time.Second)
	if err := w.tryFrom(t, "192.0.2.9", goodEmail, goodPassword); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}
