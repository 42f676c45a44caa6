package connlimit

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// readyTime is how long a read takes at most if the data is there already.
	readyTime = 50 * time.Microsecond
	// readyRequests is the number of requests in a row that were there already, after which a connection takes turns. A client that
	// sends its next request after a response seldom has one.
	readyRequests = 4
	// longestTurn is the time after which a request that still runs leaves its slot to another one.
	longestTurn = 50 * time.Millisecond
)

// Turns are what connections take that always have another request ready, so that few of them run at the same time, whatever their
// number. It is safe for concurrent use.
type Turns struct {
	slots *Slots
	ends  time.Duration // after it began
}

// NewTurns returns turns for n requests at the same time.
func NewTurns(n int) *Turns { return &Turns{newSlots(n, 0), longestTurn} }

// begin waits for the turn of a source. The returned function ends it.
func (t *Turns) begin(source string) (end func()) {
	t.slots.Acquire(context.Background(), source) // a turn ends soon
	var ended atomic.Bool
	release := func() {
		if !ended.Swap(true) {
			t.slots.Release(source)
		}
	}
	timer := time.AfterFunc(t.ends, release)
	return func() {
		timer.Stop()
		release()
	}
}

// Received is called after each read of the connection that returned data, with the time that it took.
func (e *Entry) Received(took time.Duration) {
	if took > readyTime {
		e.waited.Store(true)
	}
}

// next waits for the turn of the connection's next request, if it takes turns. That of a proxy takes none: it has requests of many clients.
func (e *Entry) next(turns *Turns) {
	if len(e.prefixes) == 0 {
		return
	}
	e.endTurn()
	if e.waited.Swap(false) {
		e.ready = 0
		return
	}
	if e.ready++; e.ready < readyRequests {
		return
	}
	e.end = turns.begin(e.prefixes[0].String())
}

func (e *Entry) endTurn() {
	if e.end != nil {
		e.end()
		e.end = nil
	}
}
