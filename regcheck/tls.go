package regcheck

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// handshake does TLS on the first connection. A server that requests a client certificate rejects it only later: with TLS 1.3
// at the first read (RFC 8446 4.4.2.4 leaves it to the server), nginx by an HTTP response. So if it requests one, the first
// requests are part of this stage.
func (s subject) handshake(ctx context.Context, c connection) (first *opening, out outcome) {
	if s.plan.base.Scheme == "http" {
		return nil, codes.Skipped("the endpoint uses plain HTTP")
	}
	if err := c.first.Handshake(ctx); err != nil {
		c.spare.Drop()
		return nil, codes.Failed(certs.Explain(c.first.Seen(), err))
	}
	s.Wire.Keep(c.first)
	if c.first.H2() {
		c.spare.Drop()
	}
	s.warnTLS(c.first)
	if c.first.CertificateRequested {
		first = s.open(ctx, c)
		if f := s.certificateRejected(first); f != nil {
			return first, codes.Failed(f)
		}
	}
	if text := certs.ClientExpiresSoon(s.plan.tls.Client, s.now()); text != "" {
		s.warn(WarnClientCertificateExpiresSoon, "%s", text)
	}
	return first, codes.Passed("%s", certs.DescribeConnection(c.first))
}

// certificateRejected returns the failure if the first requests show that the server rejects our certificate.
func (s subject) certificateRejected(o *opening) *failure {
	if o.err != nil {
		return s.endedInTLS(o.err)
	}
	return certs.ExplainResponse(o.bare)
}

// endedInTLS is the failure of a connection to the endpoint that TLS explains. The api stage reports any other.
func (s subject) endedInTLS(err error) *failure {
	if step, ok := errors.AsType[*wire.StepError](err); ok && step.Step == wire.StepTLS && step.Seen.Home && step.Seen.Unmet() {
		return certs.Explain(step.Seen, step.Err)
	}
	if x, ok := errors.AsType[*wire.ExchangeError](err); ok && x.Conn.Seen().Home {
		return certs.ExplainExchange(x)
	}
	return nil
}

func (s subject) warnTLS(c *wire.Conn) {
	if s.plan.tls.SkipVerify {
		s.warn(WarnInsecureSkipVerify, "")
	}
	s.served = certs.OfConnection(c)
	if text := certs.ServerExpiresSoon(c, s.now()); text != "" {
		s.warn(WarnCertificateExpiresSoon, "%s", text)
	}
}
