package connlimit

import (
	"context"
	"slices"
	"testing"
	"time"
)

// acquire reports whether there is a slot soon.
func acquire(t *testing.T, s *Slots, source string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	return s.Acquire(ctx, source)
}

func TestSlotsAreLeftToOtherSources(t *testing.T) {
	s := newSlots(18, 8)
	for i := range 2 {
		if !acquire(t, s, "a") {
			t.Fatalf("slot %d of a source is refused", i+1)
		}
	}
	if acquire(t, s, "a") {
		t.Error("a source that has 2 of 18 slots gets a third one; 16 are not more than 8 times 2")
	}
	if !acquire(t, s, "b") {
		t.Error("another source gets none")
	}
	s.Release("a")
	if !acquire(t, s, "a") {
		t.Error("a source gets no slot in place of one that it returned")
	}
}

func TestWaitingSourcesTakeTurns(t *testing.T) {
	s := newSlots(1, 0)
	if !acquire(t, s, "holder") {
		t.Fatal("no slot")
	}
	var got []string
	granted := map[string][]<-chan struct{}{}
	for _, source := range []string{"a", "a", "a", "b", "c", "b"} {
		granted[source] = append(granted[source], s.request(source))
	}
	for last := "holder"; len(got) < 6; got = append(got, last) {
		s.Release(last)
		last = nextGranted(t, granted)
	}
	if want := []string{"a", "b", "c", "a", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("the slot went to %v, want %v", got, want)
	}
	s.Release("a")
	if s.free != 1 || len(s.held)+len(s.waiting)+len(s.turns) > 0 {
		t.Errorf("after the last release: %d free, %v held, %v waiting, turns %v", s.free, s.held, s.waiting, s.turns)
	}
}

// nextGranted returns the source that was granted a slot, and forgets that grant.
func nextGranted(t *testing.T, granted map[string][]<-chan struct{}) string {
	t.Helper()
	for source, channels := range granted {
		for i, channel := range channels {
			select {
			case <-channel:
				granted[source] = slices.Delete(channels, i, i+1)
				return source
			default:
			}
		}
	}
	t.Fatal("no slot was granted")
	return ""
}

func TestSlotThatNoLongerIsAwaitedGoesToTheNext(t *testing.T) {
	s := newSlots(1, 0)
	if !acquire(t, s, "holder") || acquire(t, s, "a") {
		t.Fatal("want one slot")
	}
	next := s.request("b")
	s.Release("holder")
	select {
	case <-next:
	default:
		t.Error("the slot went to a source that gave up")
	}
}
