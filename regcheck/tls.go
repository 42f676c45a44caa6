package regcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// expiresSoon is when certificateExpiresSoon begins to warn.
const expiresSoon = 30 * 24 * time.Hour

// handshake does TLS on the first connection. A server that asks for a client certificate says no
// only later: with TLS 1.3 at the first read (RFC 8446 4.4.2.4 leaves it to the server), nginx by an
// HTTP answer. So when asked, the first requests are part of this stage.
func (s *session) handshake(ctx context.Context) outcome {
	c := s.first
	if s.plan.base.Scheme == "http" {
		return skipped("plain HTTP, as the endpoint says")
	}
	if err := c.Handshake(ctx); err != nil {
		s.dropSpare()
		return failed(diagnoseHandshake(c.Seen(), err))
	}
	s.rounds += c.Cost - 1 // connect counted that of TCP
	if err := s.admit(ctx); err != nil {
		return failed(diagnoseHandshake(c.Seen(), err))
	}
	if c.H2() {
		s.dropSpare()
	}
	s.warnTLS(c)
	if c.Asked {
		if f := s.certificateRefused(ctx); f != nil {
			return failed(f)
		}
	}
	return passed("%s", describeConnection(c))
}

// certificateRefused sends the first requests to see what the server makes of our certificate.
func (s *session) certificateRefused(ctx context.Context) *failure {
	o := s.open(ctx)
	if o.err != nil {
		return s.endedInTLS(o.err)
	}
	return certificateRefusedByHTTP(o.bare)
}

// endedInTLS is the failure of a connection to the endpoint that TLS explains; anything else is for the api stage.
func (s *session) endedInTLS(err error) *failure {
	if step, ok := errors.AsType[*wire.StepError](err); ok && step.Step == wire.StepTLS && step.Seen.Home && step.Seen.Unmet() {
		return diagnoseHandshake(step.Seen, step.Err)
	}
	if x, ok := errors.AsType[*wire.ExchangeError](err); ok && x.Conn.Seen().Home {
		return certificateRefused(x)
	}
	return nil
}

// certificateRefused is the failure of a request that the server did not answer because of our client certificate:
// it sent an alert, or ended the connection although it had requested a certificate and got none. With TLS 1.3 that
// happens after the handshake, and a reset may take the place of the alert (RFC 8446 section 4.4.2.4).
func certificateRefused(x *wire.ExchangeError) *failure {
	seen := x.Conn.Seen()
	if alert, sent := x.Conn.Alert(); sent && seen.Asked {
		return diagnoseAlert(seen, alert)
	}
	if seen.Unmet() && !x.Started && x.Conn.Fresh() && wire.IsCutOff(x) {
		return clientCertificate(seen, closedUnmet)
	}
	return nil
}

// closedUnmet is what a server did that reports nothing.
const closedUnmet = "it closed the connection when it got none"

// certificateRefusedByHTTP knows nginx, which completes the handshake and then answers 400 with these words.
func certificateRefusedByHTTP(a *wire.Response) *failure {
	if a.Status != 400 || !a.Conn.Asked {
		return nil
	}
	body := string(a.Body)
	if !strings.Contains(body, "No required SSL certificate") && !strings.Contains(body, "SSL certificate error") {
		return nil
	}
	return clientCertificate(a.Conn.Seen(), "it answered 400 \""+wire.Title(a.Body)+"\"")
}

func (s *session) warnTLS(c *wire.Conn) {
	state := c.State()
	if s.plan.skipVerify {
		s.warn(WarnInsecureSkipVerify, "")
	}
	s.warnExpiry(c.Peer.HostPort(), state)
}

func (s *session) warnExpiry(host string, state tls.ConnectionState) {
	chain := state.PeerCertificates
	if len(state.VerifiedChains) > 0 {
		chain = state.VerifiedChains[0]
	}
	var soonest *x509.Certificate
	for _, c := range chain {
		if soonest == nil || c.NotAfter.Before(soonest.NotAfter) {
			soonest = c
		}
	}
	if soonest == nil || soonest.NotAfter.Sub(s.now()) > expiresSoon || soonest.NotAfter.Before(s.now()) {
		return
	}
	s.warn(WarnCertificateExpiresSoon, "%s at %s is valid until %s.", describeCertificate(soonest), host, day(soonest.NotAfter))
}

func describeConnection(c *wire.Conn) string {
	state := c.State()
	text := tls.VersionName(state.Version)
	if c.H2() {
		text += ", HTTP/2"
	}
	if len(state.PeerCertificates) > 0 {
		leaf := state.PeerCertificates[0]
		text += fmt.Sprintf(", %q issued by %q, valid until %s", name(leaf.Subject), name(leaf.Issuer), leaf.NotAfter.UTC().Format("2006-01-02"))
	}
	if c.Asked && c.Seen().Sent {
		text += ", client certificate sent"
	}
	return text
}
