package changehistory

import (
	"fmt"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

// TestPositionsAreBounded adds more changes than positions are stored: the oldest ones are unknown then.
func TestPositionsAreBounded(t *testing.T) {
	h := New(10)
	h.Settle(0, nil, store.Change{})
	first, stored := h.Position(), Position(0)
	for i := range int64(MaxPositions + 10) {
		h.AddNumbered([]store.Change{{Seq: i + 1, Subject: fmt.Sprint(i % 5), At: time.Unix(0, 0)}}, func(store.Change) bool { return true })
		if i == 100 {
			stored = h.Position()
		}
	}
	const of = "unchanged"
	if len(h.order) != MaxPositions || len(h.numbers) != MaxPositions || h.CurrentAt(first, of) || !h.CurrentAt(stored, of) {
		t.Errorf("%d positions", len(h.order))
	}
}

// TestSubjectsAreBounded adds more subjects than are stored: everything read before is out of date then.
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
