package regcheck

import (
	"context"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// connect opens TCP. Over TLS with credentials it opens a second connection concurrently: the bare and the authenticated
// request are sent concurrently, and only HTTP/2 carries both on one connection.
func (s *session) connect(ctx context.Context) outcome {
	p, err := s.Wire.Reach(ctx, s.Home)
	if err != nil {
		return failed(s.forbidden(err, "The endpoint "+s.plan.base.Host))
	}
	s.spare = s.openSpare(ctx, p)
	c, at, err := s.Wire.Dial(ctx, p)
	if err != nil {
		s.dropSpare()
		return failed(s.diagnoseDial(p, err))
	}
	s.Rounds++
	s.first = c
	if s.plan.base.Scheme == "http" {
		s.Wire.Keep(c)
	}
	if proxy := p.Proxied(); proxy != "" {
		return passed("through the proxy %s", wire.CleanText(proxy))
	}
	return passed("%s", at)
}

// spareConn is a second connection that is being opened.
type spareConn struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (s *session) openSpare(ctx context.Context, p *wire.Peer) *spareConn {
	if s.plan.auth == NoAuth || p.Scheme != "https" {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	spare := &spareConn{cancel, make(chan struct{})}
	s.Wire.Work.Do(func() {
		defer close(spare.done)
		c, err := s.Wire.Open(ctx, p)
		if err != nil {
			return // the first connection reports what is wrong
		}
		if ctx.Err() != nil {
			_ = c.Close()
			return
		}
		s.Wire.Keep(c)
	})
	return spare
}

// dropSpare ends a second connection that is not needed.
func (s *session) dropSpare() {
	if s.spare != nil {
		s.spare.cancel()
	}
}
