package connlimit

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// handshakeReserve is the reserve of the slots of handshakes: one source may hold a ninth of them, and eight sources half.
	handshakeReserve = 8
	// lateTime is how long a handshake may take while a source without one waits. Most take less, also with slow clients.
	lateTime = 500 * time.Millisecond
)

// errHandshakes ends a handshake for which there was no slot in time.
var errHandshakes = errors.New("too many TLS handshakes in progress")

// Sourced is a connection that knows its source. The source of one that is exempt from the limits per source is "".
type Sourced interface{ Source() string }

// Handshakes is a listener whose connections have completed their TLS handshake. It returns those that failed, too, because net/http
// responds to plain HTTP.
//
// From the first message of the client until its end, a handshake costs processor time and some 50 KiB, most of it the stack that ML-KEM
// needs. So the number of handshakes in progress is limited. One that waits costs a quarter. Of those that take longer than lateTime, the
// oldest is closed when a source without one waits: otherwise clients that say nothing more would keep the others out.
type Handshakes struct {
	net.Listener
	config  *tls.Config
	timeout time.Duration
	slots   *Slots

	mu   sync.Mutex
	held []*handshake // those with a slot, the oldest first

	accepted chan acceptance
	done     chan struct{}
	close    sync.Once
}

// acceptance is a result of Accept.
type acceptance struct {
	conn net.Conn
	err  error
}

// NewHandshakes returns a listener of TLS connections over the connections of l, which may be Sourced. It limits the handshakes in
// progress at the same time, and the time of each.
func NewHandshakes(l net.Listener, config *tls.Config, limit int, timeout time.Duration) *Handshakes {
	h := &Handshakes{Listener: l, config: config.Clone(), timeout: timeout, slots: newSlots(limit, handshakeReserve),
		accepted: make(chan acceptance), done: make(chan struct{})}
	h.config.GetConfigForClient = h.begin
	h.slots.wanted = h.makeRoom
	go h.serve()
	return h
}

// serve accepts connections until Close.
func (h *Handshakes) serve() {
	for {
		conn, err := h.Listener.Accept()
		if err == nil {
			go h.handshake(conn)
		} else if !h.offer(acceptance{err: err}) { // net/http decides whether it tries again
			return
		}
	}
}

// offer returns what Accept is to return, and reports false after Close.
func (h *Handshakes) offer(a acceptance) bool {
	select {
	case h.accepted <- a:
		return true
	case <-h.done:
		return false
	}
}

// Accept waits for the end of the next handshake.
func (h *Handshakes) Accept() (net.Conn, error) {
	select {
	case a := <-h.accepted:
		return a.conn, a.err
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (h *Handshakes) Close() error {
	h.close.Do(func() { close(h.done) })
	return h.Listener.Close()
}

// handshakeKey is the key of the handshake in its context.
type handshakeKey struct{}

// handshake is one in progress.
type handshake struct {
	conn  net.Conn
	end   time.Time
	holds string      // source whose slot it holds, "" for none
	began time.Time   // when it got the slot
	late  *time.Timer // ends after lateTime; nil without a slot
}

func (h *Handshakes) handshake(raw net.Conn) {
	state := &handshake{conn: raw, end: time.Now().Add(h.timeout)}
	_ = raw.SetDeadline(state.end) // a closed connection fails the handshake
	conn := tls.Server(raw, h.config)
	_ = conn.HandshakeContext(context.WithValue(context.Background(), handshakeKey{}, state)) // net/http gets the error, too
	h.finish(state)
	_ = raw.SetDeadline(time.Time{})
	if !h.offer(acceptance{conn: conn}) {
		_ = raw.Close()
	}
}

// begin waits for a slot after the first message of a client. It does not change the configuration.
func (h *Handshakes) begin(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	state, _ := hello.Context().Value(handshakeKey{}).(*handshake)
	conn, ok := hello.Conn.(Sourced)
	if !ok || conn.Source() == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(hello.Context(), time.Until(state.end)/2) // the handshake needs time, too
	defer cancel()
	if !h.slots.Acquire(ctx, conn.Source()) {
		return nil, errHandshakes
	}
	h.hold(state, conn.Source())
	return nil, nil
}

func (h *Handshakes) hold(state *handshake, source string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	state.holds, state.began = source, time.Now()
	state.late = time.AfterFunc(lateTime, func() {
		if h.slots.wantedByAny() {
			h.makeRoom(false)
		}
	})
	h.held = append(h.held, state)
}

// makeRoom closes the oldest handshake that is late, which releases its slot. Its source is the last one to get another slot. For a source
// that was never late, it may be one that is not late yet, of a source that was.
func (h *Handshakes) makeRoom(neverLate bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(h.held, func(state *handshake) bool {
		return time.Since(state.began) >= lateTime || neverLate && h.slots.isLast(state.holds)
	})
	if at >= 0 {
		h.slots.putLast(h.held[at].holds)
		_ = h.held[at].conn.Close()
		h.held = slices.Delete(h.held, at, at+1)
	}
}

// finish releases the slot of a handshake, if it holds one.
func (h *Handshakes) finish(state *handshake) {
	if state.holds == "" {
		return
	}
	state.late.Stop()
	h.mu.Lock()
	h.held = slices.DeleteFunc(h.held, func(other *handshake) bool { return other == state })
	h.mu.Unlock()
	h.slots.Release(state.holds)
}
