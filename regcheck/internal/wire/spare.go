package wire

import "context"

// Spare is a second connection that is being opened, for a request that is sent while the first one carries another.
type Spare struct {
	Done   chan struct{} // closed when the connection is available, or when its context has ended
	cancel context.CancelFunc
}

// OpenSpare begins to open a second connection to a peer.
func (w *Client) OpenSpare(ctx context.Context, p *Peer) *Spare {
	ctx, cancel := context.WithCancel(Ahead(ctx))
	s := &Spare{make(chan struct{}), cancel}
	w.Work.Do(func() {
		defer close(s.Done)
		c, err := w.Open(ctx, p)
		if err != nil {
			return // the first connection reports what is wrong
		}
		if ctx.Err() != nil {
			_ = c.Close()
			return
		}
		w.Keep(c)
	})
	return s
}

// Drop ends a second connection that is not needed; nil has none.
func (s *Spare) Drop() {
	if s != nil {
		s.cancel()
	}
}
