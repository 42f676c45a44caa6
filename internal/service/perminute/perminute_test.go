package perminute

import (
	"fmt"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	l, now := New(3), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for range 3 {
		if wait, reserved := l.Reserve("u", 0, now); wait != 0 || !reserved {
			t.Errorf("within the limit: wait %v, reserved %t", wait, reserved)
		}
	}
	for _, step := range []struct {
		holder       string
		within, wait time.Duration
		reserved     bool
	}{
		{"u", 0, 20 * time.Second, false}, {"other", 0, 0, true}, {"u", 20 * time.Second, 20 * time.Second, true},
		{"u", 30 * time.Second, 10 * time.Second, false},
	} {
		if wait, reserved := l.Reserve(step.holder, step.within, now); wait != step.wait || reserved != step.reserved {
			t.Errorf("%s within %v: wait %v, reserved %t, want %v, %t", step.holder, step.within, wait, reserved, step.wait, step.reserved)
		}
	}
	now = now.Add(2 * time.Minute)
	l.Reserve("other", 0, now)
	if len(l.fullAt) != 1 {
		t.Errorf("%d holders are remembered, want only the last one", len(l.fullAt))
	}
	for i := range maxHolders {
		l.Reserve(fmt.Sprint(i), 0, now)
	}
	if n := len(l.fullAt); n > maxHolders {
		t.Errorf("%d holders are remembered", n)
	}
}
