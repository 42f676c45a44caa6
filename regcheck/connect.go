package regcheck

import (
	"context"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// connect opens TCP. Over TLS with credentials it opens a second connection concurrently: the bare and the authenticated
// request are sent concurrently, and only HTTP/2 carries both on one connection.
func (s subject) connect(ctx context.Context) (c connection, out outcome) {
	p, err := s.Wire.Reach(ctx, s.Home)
	if err != nil {
		return c, codes.Failed(s.forbidden(err, "The endpoint "+s.plan.base.Host))
	}
	if s.plan.login.Type != NoAuth && p.Scheme == "https" {
		c.spare = s.Wire.OpenSpare(ctx, p)
	}
	first, at, err := s.Wire.Dial(ctx, p)
	if err != nil {
		c.spare.Drop()
		return c, codes.Failed(s.diagnoseDial(p, err))
	}
	c.first = first
	if s.plan.base.Scheme == "http" {
		s.Wire.Keep(first)
	}
	if proxy := p.Proxied(); proxy != "" {
		return c, codes.Passed("through the proxy %s", wire.CleanText(proxy))
	}
	return c, codes.Passed("%s", at)
}

// connection is what is open to the endpoint.
type connection struct {
	first *wire.Conn
	spare *wire.Spare // nil if none is needed
}

// awaitSpare waits for the second connection unless the first one carries both requests.
func (c connection) awaitSpare() {
	if c.spare != nil && !c.first.H2() {
		<-c.spare.Done // ends with its context at the latest
	}
}
