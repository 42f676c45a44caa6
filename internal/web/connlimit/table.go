package connlimit

import (
	"container/ring"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Table has the open connections, and decides which one is closed when there are too many. It is safe for concurrent use.
//
// Each step costs the same whatever the number of connections: every network has a queue of its connections for each state, and is
// itself in a queue of the networks with as many.
type Table struct {
	limit, perSource int

	mu       sync.Mutex
	open     int
	networks map[netip.Prefix]*network
	rankings [levels][states]ranking
	counts   Counts
}

// Counts has the connections that were refused or closed, by the limit that they reached.
type Counts struct{ RefusedInAll, RefusedOfSource, ClosedInAll, ClosedOfSource int64 }

// Networks returns the networks of an address to which limits apply, the smallest first. The first one is the source.
func Networks(addr netip.Addr) []netip.Prefix {
	bits := []int{32, 24}
	if addr.Is6() {
		bits = []int{64, 56, 48}
	}
	networks := make([]netip.Prefix, len(bits))
	for i, n := range bits {
		networks[i], _ = addr.Prefix(n) // fails only for more bits than an address has
	}
	return networks
}

// levels is the largest number of networks of a connection.
const levels = 3

// state is what a connection is doing.
type state int

const (
	waiting state = iota // for its client: for a request, a part of one, or room for the response
	working              // on a request
	states
)

// network has the connections of a source, or of a network of sources.
type network struct {
	prefix netip.Prefix
	conns  [states]queue // those that are longest in their state first
	rank   [states]ring.Ring
}

func (n *network) size() int { return n.conns[waiting].n + n.conns[working].n }

// Entry is a connection in a Table.
type Entry struct {
	table    *Table
	close    func()
	prefixes []netip.Prefix // none: exempt from the limits per source, and never closed for others
	networks [levels]*network
	places   [levels]ring.Ring
	state    state
	removed  bool
	handling atomic.Bool // a handler runs; see Track

	waited atomic.Bool // a read since the last response waited for the client
	ready  int         // responses in a row after which it did not
	end    func()      // ends the turn of the running request
}

// NewEntry returns the entry of a connection from the networks, none for a proxy. closeConn closes it.
func NewEntry(networks []netip.Prefix, closeConn func()) *Entry {
	return &Entry{prefixes: networks, close: closeConn}
}

// NewTable returns a table for at most limit connections, perSource of one source.
func NewTable(limit, perSource int) *Table {
	return &Table{limit: limit, perSource: perSource, networks: map[netip.Prefix]*network{}}
}

// Add adds a connection, which waits for its client. If there are too many, another one is closed in its place. It reports false if none
// can be closed.
func (t *Table) Add(e *Entry) bool {
	victim, ok := t.add(e)
	if victim != nil {
		victim.close()
	}
	return ok
}

func (t *Table) add(e *Entry) (victim *Entry, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if full := t.fullSource(e.prefixes); full != nil {
		if victim, ok = full.conns[waiting].first().(*Entry); !ok {
			t.counts.RefusedOfSource++
			return nil, false
		}
		t.counts.ClosedOfSource++
	} else if t.open >= t.limit {
		if victim = t.victim(); victim == nil {
			t.counts.RefusedInAll++
			return nil, false
		}
		t.counts.ClosedInAll++
	}
	if victim != nil {
		t.remove(victim)
	}
	t.insert(e)
	return victim, true
}

// fullSource returns the source if it has as many connections as it may have.
func (t *Table) fullSource(networks []netip.Prefix) *network {
	if len(networks) == 0 {
		return nil
	}
	source := t.networks[networks[0]]
	if source == nil || source.size() < t.perSource {
		return nil
	}
	return source
}

// reserve is the number of connections up to which a network is not compared with others of its level.
func (t *Table) reserve(level int) int { return max(t.limit/128, 1) << (2 * level) }

// victim returns the connection to close when the table is full, nil for none: of the source with the most waiting connections over its
// reserve the one that waits longest, else that of the larger network, else that of the source with the most. Only if no connection
// waits, it is one that works on a request, of a network over its reserve.
func (t *Table) victim() *Entry {
	for level := range levels {
		if most := t.rankings[level][waiting].first(t.reserve(level)); most != nil {
			return most.conns[waiting].first().(*Entry)
		}
	}
	if most := t.rankings[0][waiting].first(0); most != nil {
		return most.conns[waiting].first().(*Entry)
	}
	for level := range levels {
		if most := t.rankings[level][working].first(t.reserve(level)); most != nil {
			return most.conns[working].first().(*Entry)
		}
	}
	return nil
}

func (t *Table) insert(e *Entry) {
	e.table = t
	for level, prefix := range e.prefixes {
		if t.networks[prefix] == nil {
			t.networks[prefix] = &network{prefix: prefix}
		}
		e.networks[level] = t.networks[prefix]
		e.places[level].Value = e
	}
	t.open++
	t.enter(e, waiting)
}

// enter adds e to the queues of a state.
func (t *Table) enter(e *Entry, s state) {
	e.state = s
	for level, n := range e.networks[:len(e.prefixes)] {
		n.rank[s].Value = n
		n.conns[s].push(&e.places[level])
		t.rankings[level][s].move(&n.rank[s], n.conns[s].n-1, n.conns[s].n)
	}
}

// leave removes e from the queues of its state.
func (t *Table) leave(e *Entry) {
	for level, n := range e.networks[:len(e.prefixes)] {
		n.conns[e.state].remove(&e.places[level])
		t.rankings[level][e.state].move(&n.rank[e.state], n.conns[e.state].n+1, n.conns[e.state].n)
	}
}

func (t *Table) remove(e *Entry) {
	if e.removed {
		return
	}
	e.removed = true
	t.open--
	t.leave(e)
	for _, n := range e.networks[:len(e.prefixes)] {
		if n.size() == 0 {
			delete(t.networks, n.prefix)
		}
	}
}

// Remove removes a connection that was closed.
func (e *Entry) Remove() {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	e.table.remove(e)
}

// SetWorking sets whether the connection is working on a request or waiting for its client.
func (e *Entry) SetWorking(is bool) {
	next := waiting
	if is {
		next = working
	}
	if len(e.prefixes) == 0 {
		return
	}
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	if e.removed || e.state == next {
		return
	}
	e.table.leave(e)
	e.table.enter(e, next)
}

// Load returns the number of open connections, and those that were refused or closed.
func (t *Table) Load() (open int, counts Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open, t.counts
}

// queue has elements in the order in which they were pushed. The zero value is empty.
type queue struct {
	head ring.Ring
	n    int
}

func (q *queue) push(element *ring.Ring) {
	q.head.Prev().Link(element)
	q.n++
}

func (q *queue) remove(element *ring.Ring) {
	element.Prev().Unlink(1)
	q.n--
}

// first returns the value of the first element, nil if there is none.
func (q *queue) first() any { return q.head.Next().Value }

// ranking has the networks of one level by their number of connections in one state.
type ranking struct {
	sizes []*queue // of networks, by number of connections
	most  int
}

// move puts a network whose number of connections changed by one into its new queue. Networks without a connection are in none.
func (r *ranking) move(rank *ring.Ring, from, to int) {
	for len(r.sizes) <= max(from, to) {
		r.sizes = append(r.sizes, &queue{})
	}
	if from > 0 {
		r.sizes[from].remove(rank)
	}
	if to > 0 {
		r.sizes[to].push(rank)
	}
	if to > r.most || from == r.most && r.sizes[from].n == 0 {
		r.most = to
	}
}

// first returns a network with the most connections if they are more than some, else nil.
func (r *ranking) first(some int) *network {
	if r.most <= some {
		return nil
	}
	return r.sizes[r.most].first().(*network)
}
