package cputime

import (
	"testing"
	"time"
)

// A process that sleeps uses no processor time, one that computes does.
func TestUsed(t *testing.T) {
	before := Used()
	time.Sleep(200 * time.Millisecond)
	if slept := Used() - before; slept > 100*time.Millisecond {
		t.Errorf("%v while it slept", slept)
	}
	before = Used()
	for began := time.Now(); Used()-before < 50*time.Millisecond; {
		if time.Since(began) > 30*time.Second {
			t.Fatal("no processor time for 30 seconds of computing")
		}
	}
}
