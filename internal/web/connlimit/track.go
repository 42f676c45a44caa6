package connlimit

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Tracked is a connection in a Table.
type Tracked interface{ Entry() *Entry }

// entryKey is the key of the Entry in the context of a connection.
type entryKey struct{}

// Track makes the entries of a server's connections follow its requests: an entry works while a handler runs, except for the time in
// which the handler waits for the body. A connection that always has another request ready takes turns.
func Track(s *http.Server, turns *Turns) {
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, entryKey{}, entryOf(conn))
	}
	before := s.ConnState
	s.ConnState = func(conn net.Conn, state http.ConnState) {
		if before != nil {
			before(conn, state)
		}
		switch e := entryOf(conn); {
		case e == nil:
		case state == http.StateIdle: // the response was sent, and the next request is read after this function
			e.SetWorking(false)
			e.next(turns)
		case state == http.StateClosed || state == http.StateHijacked:
			e.endTurn()
		}
	}
	handler := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e, _ := r.Context().Value(entryKey{}).(*Entry); e != nil {
			e.SetWorking(true)
			e.handling.Store(true)
			defer e.handling.Store(false)
		}
		handler.ServeHTTP(w, r)
	})
}

// entryOf returns the entry of a connection or of the one below its TLS, nil if it has none.
func entryOf(conn net.Conn) *Entry {
	if outer, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = outer.NetConn()
	}
	if tracked, ok := conn.(Tracked); ok {
		return tracked.Entry()
	}
	return nil
}

// ReadDeadline is called with each read deadline of the connection. A handler sets one to wait for the client, and removes it when the
// body has arrived.
func (e *Entry) ReadDeadline(t time.Time) {
	if e.handling.Load() {
		e.SetWorking(t.IsZero())
	}
}
