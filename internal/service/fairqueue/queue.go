package fairqueue

import (
	"slices"
	"time"
)

// Caller has the properties that determine the position of a caller in the queue.
type Caller struct {
	Share   int    // a part of the slots and of the queue. What one share does not use is available to the others
	Source  string // sources of a share take turns
	Account string // of a source, such as a user; those with few waiting callers are first
	Long    bool   // holds its slot for long; one slot is for the other callers
}

// waiter is a caller waiting for a slot.
type waiter struct {
	Caller
	behind  int       // number of waiting callers of the same source and account at arrival
	granted chan bool // true: the caller has the slot; false: the caller was displaced
}

// queue holds waiting callers. The shares take turns, and within a share the sources take turns. Within a source,
// callers are ordered by the number of waiting callers of their account, then by arrival. It is not safe for concurrent
// use.
type queue struct {
	limit  int
	turns  []int
	turn   int // index into turns
	shares []sourceRing
}

func newQueue(limit int, turns []int) queue {
	return queue{limit: limit, turns: turns, shares: make([]sourceRing, slices.Max(turns)+1)}
}

// sourceRing holds the waiting callers of one share by source, in the order of the sources' next turns.
type sourceRing struct {
	sources []*sourceWaiters
	length  int
}

type sourceWaiters struct {
	source  string
	waiters []*waiter
}

// push adds a caller. If the queue is full, it displaces another caller or returns nil for added.
func (q *queue) push(c Caller) (added, displaced *waiter) {
	if q.length() >= q.limit {
		if displaced = q.displaceable(c); displaced == nil {
			return nil, nil
		}
		q.remove(displaced)
	}
	return q.shares[c.Share].push(c), displaced
}

// displaceable returns the waiter that a new caller displaces from the full queue, nil for none. A share below its
// reservation displaces a waiter of the share that most exceeds its own. Otherwise a source displaces a waiter of the
// source with the most waiters in its share, if it has fewer itself, the new caller included; and an account one of its
// source.
func (q *queue) displaceable(c Caller) *waiter {
	ring := &q.shares[c.Share]
	if ring.length < q.reserved(c.Share) {
		return q.largest().longest().last()
	}
	if longest := ring.longest(); longest != nil && len(longest.waiters) > ring.waiting(c.Source)+1 {
		return longest.last()
	}
	if i := ring.find(c.Source); i >= 0 && ring.sources[i].last().behind > ring.sources[i].behind(c.Account) {
		return ring.sources[i].last()
	}
	return nil
}

// reserved is the number of queue positions guaranteed to a share. They add up to the limit: the first share has what remains.
func (q *queue) reserved(share int) int {
	part := func(s int) (n int) {
		for _, turn := range q.turns {
			if turn == s {
				n += q.limit / len(q.turns)
			}
		}
		return n
	}
	if share > 0 {
		return part(share)
	}
	rest := q.limit
	for s := 1; s < len(q.shares); s++ {
		rest -= part(s)
	}
	return rest
}

// largest returns the share that most exceeds its reservation.
func (q *queue) largest() *sourceRing {
	most := 0
	for s := range q.shares {
		if q.shares[s].length-q.reserved(s) > q.shares[most].length-q.reserved(most) {
			most = s
		}
	}
	return &q.shares[most]
}

// pop removes and returns the next waiter that may run, nil if there is none. Of the sources of a share, the one that held least is
// first, and then the one whose turn it is.
func (q *queue) pop(mayRun func(Caller) bool, held map[string]time.Duration) *waiter {
	for range q.turns {
		ring := &q.shares[q.turns[q.turn]]
		q.turn = (q.turn + 1) % len(q.turns)
		if next := ring.pop(mayRun, held); next != nil {
			return next
		}
	}
	return nil
}

// remove removes a waiter and reports whether it was queued.
func (q *queue) remove(w *waiter) bool { return q.shares[w.Share].remove(w) }

func (q *queue) length() (n int) {
	for s := range q.shares {
		n += q.shares[s].length
	}
	return n
}

func (r *sourceRing) find(source string) int {
	return slices.IndexFunc(r.sources, func(s *sourceWaiters) bool { return s.source == source })
}

func (r *sourceRing) waiting(source string) int {
	if i := r.find(source); i >= 0 {
		return len(r.sources[i].waiters)
	}
	return 0
}

func (r *sourceRing) push(c Caller) *waiter {
	i := r.find(c.Source)
	if i < 0 {
		i = len(r.sources)
		r.sources = append(r.sources, &sourceWaiters{source: c.Source})
	}
	r.length++
	return r.sources[i].push(c)
}

func (s *sourceWaiters) push(c Caller) *waiter {
	w := &waiter{Caller: c, behind: s.behind(c.Account), granted: make(chan bool, 1)}
	at := len(s.waiters)
	for at > 0 && s.waiters[at-1].behind > w.behind {
		at--
	}
	s.waiters = slices.Insert(s.waiters, at, w)
	return w
}

// behind returns the number of waiting callers of an account.
func (s *sourceWaiters) behind(account string) (n int) {
	for _, other := range s.waiters {
		if other.Account == account {
			n++
		}
	}
	return n
}

func (s *sourceWaiters) last() *waiter { return s.waiters[len(s.waiters)-1] }

// pop serves a source that has a waiter that may run, and moves it to the end.
func (r *sourceRing) pop(mayRun func(Caller) bool, held map[string]time.Duration) (w *waiter) {
	i := -1
	for at, s := range r.sources {
		if i >= 0 && held[s.source] >= held[r.sources[i].source] {
			continue
		}
		if first := slices.IndexFunc(s.waiters, func(w *waiter) bool { return mayRun(w.Caller) }); first >= 0 {
			i, w = at, s.waiters[first]
		}
	}
	if w == nil {
		return nil
	}
	served := r.sources[i]
	r.remove(w)
	if len(served.waiters) > 0 {
		r.sources = append(slices.Delete(r.sources, i, i+1), served)
	}
	return w
}

func (r *sourceRing) remove(w *waiter) bool {
	i := r.find(w.Source)
	if i < 0 {
		return false
	}
	s := r.sources[i]
	at := slices.Index(s.waiters, w)
	if at < 0 {
		return false
	}
	r.length--
	if s.waiters = slices.Delete(s.waiters, at, at+1); len(s.waiters) == 0 {
		r.sources = slices.Delete(r.sources, i, i+1)
	}
	return true
}

// longest returns the source with the most waiters, nil if the ring is empty.
func (r *sourceRing) longest() (longest *sourceWaiters) {
	for _, s := range r.sources {
		if longest == nil || len(s.waiters) > len(longest.waiters) {
			longest = s
		}
	}
	return longest
}
