package fingerprints

import (
	"fmt"
	"sync"
	"testing"
)

// TestFingerprints fills one set with a million texts: nearly all are found, no other is, and when it is full the newest remain.
func TestFingerprints(t *testing.T) {
	f := New()
	text := func(n int) ID { return f.IDOf(fmt.Sprint("token ", n)) }
	const live, sample = 1_000_000, 10
	count := func(from int) (found int) {
		for i := 0; i < live; i += sample {
			if f.Has(text(from + i)) {
				found += sample
			}
		}
		return found
	}
	for i := range live {
		f.Add(text(i))
	}
	if found := count(0); found < live*995/1000 {
		t.Errorf("%d of %d are found", found, live)
	}
	for i := range live {
		f.Add(text(live + i))
	}
	if found := count(live); found < live*995/1000 {
		t.Errorf("%d of the newest %d are found after two lifetimes", found, live)
	}
	if found := count(2 * live); found != 0 {
		t.Errorf("%d are found that were never added", found)
	}
	if New().IDOf("token") == f.IDOf("token") {
		t.Error("two processes have the same key")
	}
}

// TestFingerprintsConcurrently reads a text while others are added to its group: it is always found, until eight newer ones displace it.
func TestFingerprintsConcurrently(t *testing.T) {
	f := New()
	for range 200 {
		first := f.IDOf("first")
		f.Add(first)
		var wait sync.WaitGroup
		for way := 1; way < groupSize; way++ {
			wait.Go(func() {
				other := first
				other[0] ^= byte(way)
				f.Add(other)
			})
			wait.Go(func() {
				if !f.Has(first) {
					t.Error("not found")
				}
			})
		}
		wait.Wait()
		clear(f.slots)
	}
}
