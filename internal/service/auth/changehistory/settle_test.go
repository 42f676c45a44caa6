package changehistory

import (
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

func change(seq int64, subject string) store.Change {
	return store.Change{Seq: seq, Subject: subject, At: time.Unix(0, 0)}
}

func always(store.Change) bool { return true }

// TestAChangeIsKnownFromItsOwnPosition checks the bounds: what was read at a change, or in its epoch, has it.
func TestAChangeIsKnownFromItsOwnPosition(t *testing.T) {
	h := New(10)
	h.AddNumbered([]store.Change{change(1, "a")}, always)
	if h.Position() != 0 {
		t.Error("there is a position before the first poll ended")
	}
	h.Settle(h.Epoch(), nil, change(1, "a"))
	before, epoch := h.Position(), h.Epoch()
	h.AddNumbered([]store.Change{change(2, "a")}, always)
	if h.CurrentAt(before, "a") || h.Current(epoch, "a") || !h.CurrentAt(before, "b") || !h.Current(epoch, "b") {
		t.Error("what was read before a change")
	}
	if !h.CurrentAt(h.Position(), "a") || !h.Current(h.Epoch(), "a") {
		t.Error("what was read after a change is out of date")
	}
	before, epoch = h.Position(), h.Epoch()
	h.AddNumbered([]store.Change{change(3, store.ChangedAll)}, always)
	if h.CurrentAt(before, "b") || h.Current(epoch, "b") || h.Position() != 0 || !h.Current(h.Epoch(), "b") {
		t.Error("what was read before everything changed")
	}
	h.Settle(h.Epoch(), nil, change(3, store.ChangedAll))
	before, epoch = h.Position(), h.Epoch()
	if h.Clear(); before == 0 || h.CurrentAt(before, "b") || h.Current(epoch, "b") || !h.Current(h.Epoch(), "b") {
		t.Error("what was read before the history was cleared")
	}
}

// TestHoldEndsWithItsChange checks that no position is given out until a change of the process itself is in the list.
func TestHoldEndsWithItsChange(t *testing.T) {
	h := New(10)
	h.Settle(h.Epoch(), nil, change(1, "a"))
	own := h.Hold()
	h.AddNumbered([]store.Change{change(2, "a")}, always)
	if h.Position() != 0 {
		t.Error("there is a position before the change is in the list")
	}
	h.AddNumbered([]store.Change{change(3, own)}, always)
	if h.Position() != positionOf(change(3, own)) {
		t.Error("there is no position after the change")
	}
}

// TestUnnumberedChangesSettle checks when a change without a number gets one: with the end of a poll that began after it.
func TestUnnumberedChangesSettle(t *testing.T) {
	h := New(10)
	h.Settle(h.Epoch(), nil, change(1, "a"))
	began := h.Epoch()
	h.Add([]string{"late"})
	h.AddNumbered([]store.Change{change(2, "a")}, always)
	h.Settle(began, nil, change(2, "a"))
	if h.CurrentAt(h.Position(), "late") {
		t.Error("a change after the begin of the poll has a number")
	}
	h.Settle(h.Epoch(), []store.Change{change(0, "late")}, change(2, "a"))
	if h.CurrentAt(h.Position(), "late") {
		t.Error("a change in the queue has a number")
	}
	h.Add([]string{"last"})
	h.Settle(h.Epoch(), nil, change(2, "a"))
	if !h.CurrentAt(h.Position(), "late") || !h.CurrentAt(h.Position(), "last") {
		t.Error("a change before the poll has no number")
	}
}

// TestTheFirstPollKnowsTheQueue checks that nothing is up to date whose change waits in the queue, and that a poll from before a reset
// gives no position.
func TestTheFirstPollKnowsTheQueue(t *testing.T) {
	h := New(10)
	h.Settle(h.Epoch(), []store.Change{change(0, "waits")}, change(7, "a"))
	if h.CurrentAt(h.Position(), "waits") || !h.CurrentAt(h.Position(), "b") {
		t.Error("the first poll")
	}
	began := h.Epoch()
	h.Clear()
	if h.Settle(began, nil, change(8, "a")); h.Position() != 0 {
		t.Error("a poll from before the reset gave a position")
	}
	if h.Settle(h.Epoch(), nil, change(8, "a")); h.Position() == 0 {
		t.Error("a poll after the reset gave no position")
	}
}

// TestTheOlderHalfIsForgotten checks the bounds of what is forgotten, with positions and without.
func TestTheOlderHalfIsForgotten(t *testing.T) {
	for _, settled := range []bool{false, true} {
		h := New(4)
		if settled {
			h.Settle(h.Epoch(), nil, change(0, ""))
		}
		positions, epochs := []Position{h.Position()}, []uint64{h.Epoch()}
		for i, subject := range []string{"a", "b", "c", "d", "e"} {
			h.AddNumbered([]store.Change{change(int64(i+1), subject)}, always)
			positions, epochs = append(positions, h.Position()), append(epochs, h.Epoch())
		}
		if len(h.changed) != 2 || !h.Current(epochs[3], "x") || h.Current(epochs[2], "x") {
			t.Errorf("%d subjects", len(h.changed))
		}
		if settled && (!h.CurrentAt(positions[3], "x") || h.CurrentAt(positions[2], "x") || h.CurrentAt(positions[3], "e")) {
			t.Error("positions")
		}
	}
}
