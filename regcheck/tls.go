package regcheck

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// handshake does TLS on the first connection. A server that requests a client certificate rejects it only later: with TLS 1.3
// at the first read (RFC 8446 4.4.2.4 leaves it to the server), nginx by an HTTP response. So if it requests one, the first
// requests are part of this stage.
func (s *session) handshake(ctx context.Context) outcome {
	c := s.first
	if s.plan.base.Scheme == "http" {
		return skipped("the endpoint uses plain HTTP")
	}
	if err := c.Handshake(ctx); err != nil {
		s.dropSpare()
		return failed(diagnoseTLS(certs.Explain(c.Seen(), err)))
	}
	s.Rounds += c.Cost - 1 // connect counted that of TCP
	s.Wire.Keep(c)
	if c.H2() {
		s.dropSpare()
	}
	s.warnTLS(c)
	if c.CertificateRequested {
		if f := s.certificateRejected(ctx); f != nil {
			return failed(f)
		}
	}
	return passed("%s", certs.DescribeConnection(c))
}

// certificateRejected sends the first requests to see whether the server accepts our certificate.
func (s *session) certificateRejected(ctx context.Context) *failure {
	o := s.open(ctx)
	if o.err != nil {
		return s.endedInTLS(o.err)
	}
	return diagnoseTLS(certs.ExplainResponse(o.bare))
}

// endedInTLS is the failure of a connection to the endpoint that TLS explains. The api stage reports any other.
func (s *session) endedInTLS(err error) *failure {
	if step, ok := errors.AsType[*wire.StepError](err); ok && step.Step == wire.StepTLS && step.Seen.Home && step.Seen.Unmet() {
		return diagnoseTLS(certs.Explain(step.Seen, step.Err))
	}
	if x, ok := errors.AsType[*wire.ExchangeError](err); ok && x.Conn.Seen().Home {
		return diagnoseTLS(certs.ExplainExchange(x))
	}
	return nil
}

func (s *session) warnTLS(c *wire.Conn) {
	if s.plan.skipVerify {
		s.warn(WarnInsecureSkipVerify, "")
	}
	if first := certs.ExpiresFirst(c); first != nil {
		s.expires = first.NotAfter
	}
	if expiry := certs.ExpiresSoon(c, s.now()); expiry != "" {
		s.warn(WarnCertificateExpiresSoon, "%s", expiry)
	}
}
