package instance

import (
	"testing"
	"time"
)

// Pauses grow with the time waited: most conditions send requests, which take the processor time of what is waited for.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

// reportTime is left to report a wait that did not end.
const reportTime = 10 * time.Second

// Await waits until so returns true. It has no time limit of its own, so that no test depends on the speed of the machine: what never
// happens is reported shortly before the time limit of the test binary.
func Await(t testing.TB, what string, so func() bool) {
	t.Helper()
	var deadline time.Time
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		deadline, _ = limited.Deadline()
	}
	for began := time.Now(); !so(); {
		if !deadline.IsZero() && time.Until(deadline) < reportTime {
			t.Fatalf("this did not happen: %s", what)
		}
		time.Sleep(min(max(time.Since(began)/10, shortestPause), longestPause))
	}
}
