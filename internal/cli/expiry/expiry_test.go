package expiry

import (
	"testing"
	"time"
)

// Days left are whole days; what has expired has a negative number.
func TestDays(t *testing.T) {
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	for left, want := range map[time.Duration]int{time.Hour: 0, 25 * time.Hour: 1, -time.Hour: -1, -25 * time.Hour: -2} {
		if got := days(now.Add(left), now); got != want {
			t.Errorf("%v: %d, want %d", left, got, want)
		}
	}
}
