package changehistory

import (
	"fmt"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestPositionsAreBounded adds more changes than positions are stored: the oldest ones are unknown then.
func TestPositionsAreBounded(t *testing.T) {
	h := New(10)
	h.Settle(0, nil, store.Change{})
	first, stored := h.Position(), Position(0)
	for i := range int64(MaxPositions + 10) {
		h.AddNumbered([]store.Change{{Seq: i + 1, Subject: fmt.Sprint(i % 5), At: time.Unix(0, 0)}},
			func(store.Change) bool { return true })
		if i == 100 {
			stored = h.Position()
		}
	}
	const of = "unchanged"
	if len(h.order) != MaxPositions || len(h.numbers) != MaxPositions || h.CurrentAt(first, of) || !h.CurrentAt(stored, of) {
		t.Errorf("%d positions", len(h.order))
	}
}

// TestOldSubjectsAreForgotten adds more numbered subjects than are stored: only what was read before the older ones changed is out of date.
func TestOldSubjectsAreForgotten(t *testing.T) {
	h := New(100)
	h.Settle(0, nil, store.Change{})
	var positions []Position
	var epochs []uint64
	for i := range 1000 {
		h.AddNumbered([]store.Change{{Seq: int64(i + 1), Subject: fmt.Sprint(i), At: time.Unix(0, 0)}},
			func(store.Change) bool { return true })
		positions, epochs = append(positions, h.Position()), append(epochs, h.Epoch())
		recent := max(0, i-40)
		if !h.CurrentAt(positions[recent], "unchanged") || !h.Current(epochs[recent], "unchanged") {
			t.Fatalf("after %d changes, what was read %d changes ago is out of date", i+1, i-recent)
		}
		if recent < i && (h.CurrentAt(positions[recent], fmt.Sprint(i)) || h.Current(epochs[recent], fmt.Sprint(i))) {
			t.Fatalf("change %d is not known", i+1)
		}
	}
	if len(h.changed) > 100 || h.CurrentAt(positions[0], "unchanged") || h.Current(epochs[0], "unchanged") {
		t.Errorf("%d subjects", len(h.changed))
	}
}

// TestSubjectsAreBounded adds more subjects without a number than are stored: everything read before is out of date then.
func TestSubjectsAreBounded(t *testing.T) {
	h := New(3)
	for i := range 100 {
		before := h.Epoch()
		h.Add([]string{fmt.Sprint(i)})
		if len(h.changed) > 3 || i == 3 && h.Current(before, "another") {
			t.Fatalf("%d subjects after %d", len(h.changed), i)
		}
	}
}
