package regcheck

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// This file turns errors of the network, of TLS and of HTTP into findings: the outermost type that
// says something first. Nothing is decided by an error's text where a type exists.

func isNotFound(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}

// noNameServer reports whether no DNS server could be asked. net.DNSError keeps only the text of a socket's error,
// which begins with the operation.
func noNameServer(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	if !ok {
		return false
	}
	operation, _, _ := strings.Cut(dns.Err, " ")
	return operation == "dial" || operation == "read" || operation == "write"
}

// diagnoseLookup is for the host of the endpoint or of a redirect; it says nothing of addresses.
func (s *session) diagnoseLookup(o origin, err error) *failure {
	words, retryable := describeLookup(err)
	f := fail(CodeHostNotFound, "", "%q %s.", o.Host, words).retry(retryable)
	switch {
	case isNotFound(err):
	case noNameServer(err):
		f.at("").hinting("%s", s.words.dns())
	case wire.IsTimeout(err):
		f.hinting("Try again. If it happens again: %s", s.words.dns())
	default:
		f.hinting("Try again. If it happens again, contact the operator of the DNS zone of %q or of the DNS server that "+program+" uses.", o.Host)
	}
	return f
}

// describeLookup says in words why a name has no address, and whether a retry is worth it.
func describeLookup(err error) (words string, retryable bool) {
	switch {
	case isNotFound(err):
		return "does not exist in the DNS that " + program + " uses", false
	case wire.IsTimeout(err):
		return "could not be resolved: no DNS server answered in time", true
	case noNameServer(err):
		return "could not be resolved: no DNS server can be reached", true
	}
	dns, _ := errors.AsType[*net.DNSError](err)
	return "could not be resolved: the DNS server reported a failure", dns != nil && dns.IsTemporary
}

// forbidden is for every hop; hop says who named the address.
func (s *session) forbidden(err error, hop string) *failure {
	f, ok := errors.AsType[*egress.Forbidden](err)
	if !ok {
		return fail(CodeAddressForbidden, "", "%s leads to an address that was refused.", hop)
	}
	reason, hint := s.words.forbidden(f)
	return fail(CodeAddressForbidden, "", "%s: %s. Nothing was sent there.", hop, reason).hinting("%s", hint)
}

// describeDial says in words why no connection came about, and whether a retry is worth it.
func describeDial(err error) (words string, retryable bool) {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: nothing listens on that port, or a firewall rejects it", true
	case wire.IsReset(err):
		return "the connection was reset", true
	case wire.IsTimeout(err):
		return "nothing answered in time: a firewall may drop the packets, or the host is down", true
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return "there is no route to it from where " + program + " runs", false
	case wire.IsCutOff(err):
		return "the connection was closed at once", true
	default:
		return "the connection failed", false
	}
}

func (s *session) diagnoseDial(p *wire.Peer, err error) *failure {
	if x, ok := errors.AsType[*egress.ProxyError](err); ok {
		return s.diagnoseProxy(p, x)
	}
	words, retryable := describeDial(err)
	f := fail(CodeUnreachable, "", "Tried %s: %s.", where(p), words).retry(retryable)
	if errors.Is(err, syscall.ECONNREFUSED) {
		f.hinting("Start the registry, or correct the port in endpoint: nothing listens on port %d.", p.Port)
	}
	return f
}

func (s *session) diagnoseProxy(p *wire.Peer, x *egress.ProxyError) *failure {
	asked := p.HostPort()
	if x.ByAddress {
		asked += " (" + x.Requested + ")"
	}
	f := fail(CodeUnreachable, "", "Asked the outbound proxy %s for %s: ", wire.CleanText(x.Host), asked).at("")
	switch {
	case x.Status == http.StatusProxyAuthRequired:
		f.seen += "it wants credentials of its own (407)."
	case x.Status != 0:
		f.seen += fmt.Sprintf("it answered %d.", x.Status)
	default:
		words, _ := describeDial(x.Err)
		f.seen += words + "."
	}
	f.retryable = x.Status >= 500 || x.Status == 0
	return f.hinting("%s", s.words.proxy(p.HostPort(), x.ByAddress && x.Status != 0 && x.Status != http.StatusProxyAuthRequired))
}

// where lists what was tried.
func where(p *wire.Peer) string {
	var all []string
	for i, a := range p.Addresses {
		if i == 3 {
			all = append(all, fmt.Sprintf("and %d more", len(p.Addresses)-i))
			break
		}
		all = append(all, a.String())
	}
	if len(all) == 1 && all[0] == p.HostPort() || len(all) == 0 {
		return p.HostPort()
	}
	return p.HostPort() + " (" + strings.Join(all, ", ") + ")"
}

// alertNames are the alerts of RFC 8446 section 6.
var alertNames = map[uint8]string{
	0: "close notify", 10: "unexpected message", 20: "bad record MAC", 22: "record overflow", 40: "handshake failure",
	42: "bad certificate", 43: "unsupported certificate", 44: "certificate revoked", 45: "certificate expired",
	46: "certificate unknown", 47: "illegal parameter", 48: "unknown CA", 49: "access denied", 50: "decode error",
	51: "decrypt error", 70: "protocol version", 71: "insufficient security", 80: "internal error",
	86: "inappropriate fallback", 90: "user canceled", 109: "missing extension", 110: "unsupported extension",
	112: "unrecognized name", 113: "bad certificate status response", 115: "unknown PSK identity",
	116: "certificate required", 120: "no application protocol",
}

// certificateAlerts are those that concern a client certificate, if one was requested.
var certificateAlerts = []uint8{40, 42, 43, 44, 45, 46, 48, 49, 51, 116}

// diagnoseHandshake is the failure of a TLS handshake with any host. Field and code are the
// endpoint's; a token service takes words and hint.
func diagnoseHandshake(c *wire.Handshake, err error) *failure {
	where := c.Host
	if v, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return diagnoseCertificate(c, v)
	}
	if alert, ok := wire.RemoteAlert(err); ok {
		return diagnoseAlert(c, alert)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fail(CodeTLSFailed, ReasonNotTLS, "%s answered something that is not TLS; a plain HTTP server does so.", where).
			hinting("Write http://%s into endpoint if the registry is meant to be reached without TLS; else correct the port.", where+c.Path)
	}
	switch {
	case wire.IsTimeout(err):
		return fail(CodeTLSFailed, ReasonTimeout, "%s accepted the connection, but did not finish the handshake in time.", where)
	case wire.IsCutOff(err) && c.Unmet():
		return clientCertificate(c, closedUnmet)
	case wire.IsCutOff(err):
		return fail(CodeTLSFailed, ReasonProtocol, "%s closed the connection during the handshake: a load balancer without a backend does so, or a port that is not for TLS.", where).retry(true)
	case errors.Is(err, wire.ErrLongChain):
		return fail(CodeTLSFailed, ReasonProtocol, "%s sends more than %d certificates.", where, wire.MaxChain).at("").
			hinting("Let the server send its own certificate and its intermediates only.")
	case strings.Contains(err.Error(), "RSA key larger than"): // crypto/tls has no type for it
		return fail(CodeTLSFailed, ReasonProtocol, "%s sent a certificate with an RSA key of more than %d bits.", where, maxRSABits).at("").
			hinting("Give the server a certificate with a smaller key.")
	default:
		return fail(CodeTLSFailed, ReasonProtocol, "%s: %s.", where, wire.CleanText(wire.Innermost(err).Error()))
	}
}

func diagnoseAlert(c *wire.Handshake, alert uint8) *failure {
	words, known := alertNames[alert]
	if words = "the TLS alert \"" + words + "\""; !known {
		words = "an unknown TLS alert"
	}
	switch {
	case alert == 70 || alert == 40 && !c.Asked:
		return fail(CodeTLSFailed, ReasonProtocol, "%s refused the handshake; "+program+" offers TLS 1.2 and 1.3.", c.Host).
			hinting("Let the server offer TLS 1.2 or 1.3 with current cipher suites.")
	case c.Unmet() || c.Asked && slices.Contains(certificateAlerts, alert):
		return clientCertificate(c, "it ended the connection with "+words)
	default:
		return fail(CodeTLSFailed, ReasonProtocol, "%s ended the handshake with %s.", c.Host, words)
	}
}

// clientCertificate is a server's refusal of our certificate, or of a connection without one.
func clientCertificate(c *wire.Handshake, seen string) *failure {
	accepts := ""
	if names := acceptableNames(c); names != "" {
		accepts = " It accepts certificates of: " + names + "."
	}
	if !c.Sent {
		f := fail(CodeTLSFailed, ReasonClientCertificateRequired, "%s requires a client certificate; %s.%s", c.Host, seen, accepts)
		if !c.Home {
			f.hinting("Let %s accept connections without a client certificate: "+program+" sends the client certificate of a definition to its endpoint only.", c.Host)
		} else if accepts != "" {
			f.hinting("Put a client certificate issued by %s into auth.tls.certificate, its key into auth.tls.key, and set auth.tls.enabled to true.", acceptableNames(c))
		}
		return f
	}
	f := fail(CodeTLSFailed, ReasonClientCertificateRejected, "%s asked for a client certificate and got %s; %s.%s", c.Host, describeLeaf(c.Leaf), seen, accepts)
	if c.Leaf != nil && c.Now.After(c.Leaf.NotAfter) {
		f.hinting("The client certificate expired on %s: put a new one into auth.tls.certificate.", day(c.Leaf.NotAfter))
	} else if accepts != "" {
		f.hinting("Put a client certificate issued by %s into auth.tls.certificate, and its key into auth.tls.key.", acceptableNames(c))
	}
	return f
}

// diagnoseCertificate tells the cases apart that crypto/x509 gives one type for.
func diagnoseCertificate(c *wire.Handshake, v *tls.CertificateVerificationError) *failure {
	served := v.UnverifiedCertificates
	if len(served) == 0 {
		return fail(CodeTLSFailed, ReasonProtocol, "%s sent no certificate.", c.Host)
	}
	if name, ok := errors.AsType[x509.HostnameError](v.Err); ok {
		return diagnoseName(c, name, served[0])
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](v.Err); ok {
		return diagnoseInvalid(c, invalid, served)
	}
	leaf, top := served[0], served[len(served)-1]
	switch {
	case selfSigned(leaf):
		return fail(CodeTLSFailed, ReasonSelfSigned, "%s served %s.", c.Host, describeCertificate(leaf)).
			hinting("Put the certificate with the SHA-256 fingerprint %s into auth.tls.ca and set auth.tls.enabled to true; compare the fingerprint on the server first.", fingerprint(leaf))
	case len(served) == 1 && len(leaf.IssuingCertificateURL) > 0:
		return fail(CodeTLSFailed, ReasonMissingIntermediate, "%s served only %s, and not the certificate of its issuer, which is at %s.",
			c.Host, describeCertificate(leaf), wire.CleanText(leaf.IssuingCertificateURL[0])).
			hinting("Let the server send its whole chain; until then put the certificate of %q, found at %s, into auth.tls.ca in PEM form and set auth.tls.enabled to true.",
				name(leaf.Issuer), wire.CleanText(leaf.IssuingCertificateURL[0]))
	case selfSigned(top):
		return fail(CodeTLSFailed, ReasonUnknownAuthority, "%s served %s; its chain ends at %s.", c.Host, describeCertificate(leaf), describeCertificate(top)).
			hinting("Put the CA certificate %q with the SHA-256 fingerprint %s into auth.tls.ca and set auth.tls.enabled to true.", name(top.Subject), fingerprint(top))
	default:
		return fail(CodeTLSFailed, ReasonUnknownAuthority, "%s served %s; the chain ends at issuer %q, which is not trusted and was not sent.",
			c.Host, describeCertificate(leaf), name(top.Issuer)).
			hinting("Put the CA certificate of %q into auth.tls.ca and set auth.tls.enabled to true.", name(top.Issuer))
	}
}

func diagnoseName(c *wire.Handshake, err x509.HostnameError, leaf *x509.Certificate) *failure {
	names := certificateNames(leaf)
	if len(names) == 0 {
		return fail(CodeTLSFailed, ReasonHostnameMismatch, "%s served %s, which lists no names at all; the common name is not looked at any more.", c.Host, describeCertificate(leaf)).
			hinting("Give the server a certificate with %q among its subject alternative names.", err.Host)
	}
	f := fail(CodeTLSFailed, ReasonHostnameMismatch, "%s served a certificate for %s, not for %q.", c.Host, strings.Join(names, ", "), err.Host)
	if plain := firstPlainName(names); plain != "" {
		f.hinting("Write one of the certificate's names into endpoint, such as %s, or give the server a certificate for %q.", withHost(c, plain), err.Host)
	}
	return f
}

func diagnoseInvalid(c *wire.Handshake, err x509.CertificateInvalidError, served []*x509.Certificate) *failure {
	guilty := err.Cert
	if guilty == nil {
		guilty = served[0]
	}
	which := "The certificate " + describeCertificate(guilty)
	if err.Reason != x509.Expired {
		return fail(CodeTLSFailed, ReasonUnknownAuthority, "%s at %s cannot be used for this: %s.", which, c.Host, wire.CleanText(err.Error()))
	}
	clock := c.Now.UTC().Format("2006-01-02 15:04")
	if c.Now.Before(guilty.NotBefore) {
		return fail(CodeTLSFailed, ReasonNotYetValid, "%s at %s is valid from %s; the clock here says %s UTC.", which, c.Host, day(guilty.NotBefore), clock)
	}
	f := fail(CodeTLSFailed, ReasonExpired, "%s at %s was valid until %s; the clock here says %s UTC.", which, c.Host, day(guilty.NotAfter), clock)
	if !contains(served, guilty) {
		f.at("auth.tls.ca").hinting("The certificate %q in auth.tls.ca has expired: put its successor there.", name(guilty.Subject))
	}
	return f
}

// diagnoseRequest is a request to the endpoint, or to where it redirects, that got no answer.
func (s *session) diagnoseRequest(err error) *failure {
	if r, ok := errors.AsType[*wire.RedirectError](err); ok {
		return s.diagnoseRedirect(r)
	}
	return s.diagnoseUnanswered("GET "+s.base.String(), err)
}

func (s *session) diagnoseUnanswered(what string, err error) *failure {
	if x, ok := errors.AsType[*wire.ExchangeError](err); ok && x.Conn.SawTLS() {
		return fail(CodeNotOCI, ReasonHTTPSRequired, "%s was answered with TLS, which plain HTTP cannot read.", what).
			hinting("Write %s into endpoint.", s.plan.endpointAt("https://"+s.base.HostPort()))
	} else if ok {
		if f := certificateRefused(x); f != nil {
			return f
		}
	}
	step, isStep := errors.AsType[*wire.StepError](err)
	switch {
	case isStep && step.Step == wire.StepEgress:
		return s.forbidden(err, "The endpoint "+step.Origin.Host)
	case wire.IsTimeout(err):
		return fail(CodeUnavailable, "", "%s got no whole answer in time.", what)
	case isStep:
		words, _ := describeDial(err)
		return fail(CodeUnavailable, "", "%s needed another connection: %s.", what, words)
	case wire.IsCutOff(err):
		return fail(CodeUnavailable, "", "%s: the connection was closed before an answer came.", what)
	default:
		return fail(CodeNotOCI, "", "%s was answered with something that is not HTTP, or with headers of more than %d KiB: %s.",
			what, s.limits.Header>>10, wire.CleanText(wire.Innermost(err).Error()))
	}
}

func (s *session) diagnoseRedirect(r *wire.RedirectError) *failure {
	from, to := wire.ShowURL(r.From), wire.ShowURL(r.To)
	switch r.Kind {
	case wire.RedirectAway:
		return fail(CodeRedirected, "", "%s redirects to %s; credentials are not sent to another origin.", from, to).
			hinting("If %s is the registry, write %s into endpoint%s.", to, redirectEndpoint(r.To), emptyBasePath(s.plan, r.To))
	case wire.RedirectLoop:
		return fail(CodeRedirected, ReasonLoop, "Following the redirects came to %s, which redirects to %s: in a circle, or more than %d.", from, to, s.limits.Redirects)
	case wire.RedirectInsecure:
		return fail(CodeRedirected, "", "%s redirects from https to plain http at %s, which is not followed.", from, to).
			hinting("Correct the redirect on the server: its external URL must begin with https://.")
	case wire.RedirectInvalid:
		return fail(CodeRedirected, "", "%s redirects to a place that cannot be used: %s.", from, wire.CleanText(errorText(r.Err))).
			hinting("Correct the redirect on the server, or set endpoint to the address that serves the API.")
	}
	return s.diagnoseTarget(r)
}

// diagnoseTarget is the target of a followed redirect that failed: by its own code, reason and field.
func (s *session) diagnoseTarget(r *wire.RedirectError) *failure {
	from, to := wire.ShowURL(r.From), wire.ShowURL(r.To)
	var f *failure
	step, isStep := errors.AsType[*wire.StepError](r.Err)
	switch {
	case isStep && step.Step == wire.StepEgress:
		return s.forbidden(r.Err, "A redirect of "+from)
	case isStep && step.Step == wire.StepResolve:
		f = s.diagnoseLookup(step.Origin, r.Err)
	case isStep && step.Step == wire.StepTLS:
		f = diagnoseHandshake(step.Seen, step.Err)
	case isStep:
		f = s.diagnoseDial(&wire.Peer{Target: &egress.Target{Origin: step.Origin}}, r.Err)
	default:
		f = s.diagnoseUnanswered("GET "+to, r.Err)
	}
	f.seen = from + " redirects to " + to + ". " + f.seen
	switch f.field { // the hints for these are about the endpoint's own host
	case "endpoint":
		f.hinting("Contact the registry operator: correct the redirect of %s, or repair what is at %s.", from, to)
	case "auth.tls.certificate":
		f.hinting("Write %s into endpoint, with a client certificate in auth.tls.certificate: it is sent to the endpoint only.", redirectEndpoint(r.To))
	}
	return f
}

func errorText(err error) string {
	if err == nil {
		return "it is no URL"
	}
	return err.Error()
}

// redirectEndpoint is what to write into endpoint to get to a redirect's target.
func redirectEndpoint(to *url.URL) string {
	path := strings.TrimRight(trimV2(strings.Trim(to.Path, "/")), "/")
	bare := url.URL{Scheme: to.Scheme, Host: to.Host}
	if path != "" {
		bare.Path = "/" + path
	}
	return wire.CleanText(bare.String())
}

// emptyBasePath reminds of a base path that the target has already.
func emptyBasePath(p *plan, to *url.URL) string {
	if p.base.path == "" || trimV2(strings.Trim(to.Path, "/")) == "" {
		return ""
	}
	return " and leave basePath empty"
}

func contains(all []*x509.Certificate, one *x509.Certificate) bool {
	for _, c := range all {
		if c.Equal(one) {
			return true
		}
	}
	return false
}
