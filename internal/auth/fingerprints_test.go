package auth

import (
	"fmt"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/secret"
)

// TestFingerprints fills one table with a million texts: nearly all are found, no other is, and when it is full the newest remain.
func TestFingerprints(t *testing.T) {
	f := newFingerprints()
	text := func(n int) credentialID { return f.idOf(secret.String(fmt.Sprint("token ", n))) }
	const live = 1_000_000
	count := func(from int) (found int) {
		for i := range live {
			if f.has(text(from + i)) {
				found++
			}
		}
		return found
	}
	for i := range live {
		f.add(text(i))
	}
	if found := count(0); found < live*98/100 {
		t.Errorf("%d of %d are found", found, live)
	}
	for i := range live {
		f.add(text(live + i))
	}
	if found := count(live); found < live*98/100 {
		t.Errorf("%d of the newest %d are found after two lifetimes", found, live)
	}
	if found := count(2 * live); found != 0 {
		t.Errorf("%d are found that were never added", found)
	}
	if newFingerprints().idOf("token") == f.idOf("token") {
		t.Error("two processes have the same key")
	}
}

// TestFingerprintsConcurrently reads a text while others are added to its set: it is always found, until eight newer ones displace it.
func TestFingerprintsConcurrently(t *testing.T) {
	f := newFingerprints()
	for range 200 {
		first := f.idOf("first")
		f.add(first)
		var wait sync.WaitGroup
		for way := 1; way < fingerprintWays; way++ {
			wait.Go(func() {
				other := first
				other[0] ^= byte(way)
				f.add(other)
			})
			wait.Go(func() {
				if !f.has(first) {
					t.Error("not found")
				}
			})
		}
		wait.Wait()
		clear(f.slots)
	}
}
