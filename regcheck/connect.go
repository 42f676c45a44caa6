package regcheck

import "context"

// connect opens TCP. Over TLS with credentials a second connection is opened at the same time: the
// bare and the authenticated request travel together, and only HTTP/2 carries both on one.
func (s *session) connect(ctx context.Context) outcome {
	p, err := s.wire.reach(ctx, s.plan.base.origin)
	if err != nil {
		return failed(s.forbidden(err, "The endpoint "+s.plan.base.Host))
	}
	s.spare = s.openSpare(ctx, p)
	raw, at, err := s.wire.dial(ctx, p)
	if err != nil {
		s.dropSpare()
		return failed(s.diagnoseDial(p, err))
	}
	s.rounds++
	s.first = &conn{peer: p, raw: raw, wire: s.wire}
	if s.plan.base.Scheme == "http" {
		if err := s.admit(ctx); err != nil {
			return failed(fail(CodeNotOCI, "", "%s: %s.", p.HostPort(), cleanText(err.Error())))
		}
	}
	if proxy := p.Proxied(); proxy != "" {
		return passed("through the proxy %s", cleanText(proxy))
	}
	return passed("%s", at)
}

// admit puts HTTP onto the first connection and keeps it for the requests.
func (s *session) admit(ctx context.Context) error {
	c := s.first
	if err := c.speak(ctx); err != nil {
		_ = c.raw.Close()
		return err
	}
	s.wire.keep(c)
	return nil
}

// spareConn is the second connection on its way.
type spareConn struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (s *session) openSpare(ctx context.Context, p *peer) *spareConn {
	if s.plan.auth == NoAuth || p.Scheme != "https" {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	spare := &spareConn{cancel, make(chan struct{})}
	s.wire.work.do(func() {
		defer close(spare.done)
		c, err := s.wire.open(ctx, p)
		if err != nil {
			return // the first connection tells what is wrong
		}
		if ctx.Err() != nil {
			c.close()
			return
		}
		s.wire.keep(c)
	})
	return spare
}

// dropSpare ends a second connection that is not needed.
func (s *session) dropSpare() {
	if s.spare != nil {
		s.spare.cancel()
	}
}
