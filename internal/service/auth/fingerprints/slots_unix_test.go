//go:build unix

package fingerprints

import (
	"runtime"
	"testing"
)

// TestMemoryIsNotOfTheHeap checks that a set does not let the heap grow.
func TestMemoryIsNotOfTheHeap(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	set := New()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes of the heap for %d slots", grown, len(set.slots))
	}
}
