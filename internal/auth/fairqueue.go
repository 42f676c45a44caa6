package auth

import "slices"

// share is a part of the hash slots and of the queue. What one share does not use is available to the others.
type share int

// Shares.
const (
	knownLogins    share = iota // from a source with an earlier success with the account
	unknownLogins               // from any other source
	administration              // passwords of users that administrators create or change
	shares
)

// shareTurns is the order in which waiting shares get free slots.
var shareTurns = []share{knownLogins, unknownLogins, knownLogins, administration}

// hashCaller has the properties that determine the position of a caller in the queue.
type hashCaller struct {
	share   share
	source  string // client address; the organization for administration
	account string
}

// waiter is a caller waiting for a slot.
type waiter struct {
	hashCaller
	behind  int       // number of waiting callers of the same source and account at arrival
	granted chan bool // true: the caller has the slot; false: the caller was displaced
}

// fairQueue holds waiting callers. The shares take turns, and within a share the sources take turns. Within a source,
// callers are ordered by the number of waiting callers of their account, then by arrival. It is not safe for concurrent
// use.
type fairQueue struct {
	limit  int
	turn   int // index into shareTurns
	shares [shares]sourceRing
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
func (q *fairQueue) push(c hashCaller) (added, displaced *waiter) {
	if q.length() >= q.limit {
		if displaced = q.displaceable(c); displaced == nil {
			return nil, nil
		}
		q.remove(displaced)
	}
	return q.shares[c.share].push(c), displaced
}

// displaceable returns the waiter that a new caller displaces from the full queue, nil for none. A share below its
// reservation displaces a waiter of the share that most exceeds its own. Otherwise a source displaces a waiter of the
// source with the most waiters in its share, if it has fewer itself, the new caller included.
func (q *fairQueue) displaceable(c hashCaller) *waiter {
	ring := &q.shares[c.share]
	if ring.length < q.reserved(c.share) {
		return q.largest().longest().last()
	}
	longest := ring.longest()
	if longest == nil || len(longest.waiters) <= ring.waiting(c.source)+1 {
		return nil
	}
	return longest.last()
}

// reserved is the number of queue positions guaranteed to a share. They add up to the limit.
func (q *fairQueue) reserved(s share) int {
	quarter := q.limit / 4
	if s == knownLogins {
		return q.limit - 2*quarter
	}
	return quarter
}

// largest returns the share that most exceeds its reservation.
func (q *fairQueue) largest() *sourceRing {
	most := knownLogins
	for s := range shares {
		if q.shares[s].length-q.reserved(s) > q.shares[most].length-q.reserved(most) {
			most = s
		}
	}
	return &q.shares[most]
}

// pop removes and returns the next waiter, nil if the queue is empty.
func (q *fairQueue) pop() *waiter {
	for range shareTurns {
		ring := &q.shares[shareTurns[q.turn]]
		q.turn = (q.turn + 1) % len(shareTurns)
		if ring.length > 0 {
			return ring.pop()
		}
	}
	return nil
}

// remove removes a waiter and reports whether it was queued.
func (q *fairQueue) remove(w *waiter) bool { return q.shares[w.share].remove(w) }

func (q *fairQueue) length() (n int) {
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

func (r *sourceRing) push(c hashCaller) *waiter {
	i := r.find(c.source)
	if i < 0 {
		i = len(r.sources)
		r.sources = append(r.sources, &sourceWaiters{source: c.source})
	}
	r.length++
	return r.sources[i].push(c)
}

func (s *sourceWaiters) push(c hashCaller) *waiter {
	w := &waiter{hashCaller: c, granted: make(chan bool, 1)}
	for _, other := range s.waiters {
		if other.account == c.account {
			w.behind++
		}
	}
	at := len(s.waiters)
	for at > 0 && s.waiters[at-1].behind > w.behind {
		at--
	}
	s.waiters = slices.Insert(s.waiters, at, w)
	return w
}

func (s *sourceWaiters) last() *waiter { return s.waiters[len(s.waiters)-1] }

// pop serves the first source and moves it to the end. The ring must not be empty.
func (r *sourceRing) pop() *waiter {
	first := r.sources[0]
	w := first.waiters[0]
	r.remove(w)
	if len(first.waiters) > 0 {
		r.sources = append(slices.Delete(r.sources, 0, 1), first)
	}
	return w
}

func (r *sourceRing) remove(w *waiter) bool {
	i := r.find(w.source)
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
