package connlimit

import (
	"testing"
	"time"
)

// readyEntry returns an entry whose next request takes a turn.
func readyEntry(address string, turns *Turns) *Entry {
	e := NewEntry(networksOf(address), func() {})
	for range readyRequests - 1 {
		e.next(turns)
	}
	return e
}

// longTurns are turns for one request, which end by the requests of a test alone.
func longTurns() *Turns {
	turns := NewTurns(1)
	turns.ends = time.Hour
	return turns
}

// nextOf calls next, and returns a channel that is closed when it returns.
func nextOf(e *Entry, turns *Turns) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.next(turns)
	}()
	return done
}

func isClosed(done <-chan struct{}, within time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(within):
		return false
	}
}

func freeSlots(t *Turns) int {
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	return t.slots.free
}

func TestConnectionsWithRequestsReadyTakeTurns(t *testing.T) {
	turns := longTurns()
	first, second := readyEntry("192.0.2.1", turns), readyEntry("192.0.2.2", turns)
	if freeSlots(turns) != 1 {
		t.Fatal("a connection takes a turn before it has had some requests ready")
	}
	first.next(turns)
	if freeSlots(turns) != 0 {
		t.Fatal("a connection with requests ready takes no turn")
	}
	turns.ends = longestTurn // the first connection may take a turn again before the second one waits
	turn := nextOf(second, turns)
	again := nextOf(first, turns) // ends its turn
	if !isClosed(turn, enough) {
		t.Fatal("the turn of the second connection does not come")
	}
	second.endTurn()
	if !isClosed(again, enough) {
		t.Error("the first connection has no other turn")
	}
	first.endTurn()
	if freeSlots(turns) != 1 {
		t.Error("a turn is left after all requests")
	}
}

func TestConnectionThatWaitsForItsClientTakesNoTurn(t *testing.T) {
	turns := longTurns()
	e := readyEntry("192.0.2.1", turns)
	e.next(turns)
	e.Received(readyTime + 1)
	e.next(turns)
	if freeSlots(turns) != 1 {
		t.Error("the connection keeps its turn")
	}
	e.Received(1) // the data was there
	for range readyRequests {
		e.next(turns)
	}
	if freeSlots(turns) != 0 {
		t.Error("a connection whose reads do not wait takes no turn")
	}
}

// A request that runs for long, as a check does, does not keep others from their turns.
func TestTurnEnds(t *testing.T) {
	turns := NewTurns(1)
	readyEntry("192.0.2.1", turns).next(turns)
	if other := readyEntry("192.0.2.2", turns); !isClosed(nextOf(other, turns), enough) {
		t.Error("the turn does not end")
	}
}

// A proxy sends the requests of many clients, one after the other, on each of its connections.
func TestConnectionOfProxyTakesNoTurn(t *testing.T) {
	turns := NewTurns(1)
	e := NewEntry(nil, func() {})
	for range 2 * readyRequests {
		e.next(turns)
	}
	if freeSlots(turns) != 1 {
		t.Error("the connection of a proxy takes a turn")
	}
}
