package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

func fail(reason codes.Reason, format string, args ...any) *codes.Failure {
	return codes.Fail(codes.CodeTLSFailed, reason, format, args...)
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

// certificateAlerts are the alerts that concern a client certificate, if one was requested.
var certificateAlerts = []uint8{40, 42, 43, 44, 45, 46, 48, 49, 51, 116}

// Explain returns why a TLS handshake failed. Field and hint are those of the endpoint's own handshake.
func Explain(c *wire.Handshake, err error) *codes.Failure {
	where := c.Host
	if v, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return explainCertificate(c, v)
	}
	if alert, ok := wire.RemoteAlert(err); ok {
		return ExplainAlert(c, alert)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fail(codes.ReasonNotTLS, "The response of %s was not TLS; it may be a plain HTTP server.", where).
			Hinting("Set {endpoint} to http://%s if the registry does not use TLS; otherwise correct the port.", where+c.Path)
	}
	switch {
	case wire.IsTimeout(err):
		return fail(codes.ReasonTimeout, "%s accepted the connection, but did not finish the handshake in time.", where)
	case wire.IsCutOff(err) && c.Unmet():
		return explainRejection(c, closedUnmet)
	case wire.IsCutOff(err):
		return fail(codes.ReasonProtocol, "%s closed the connection during the handshake; it may be a load balancer without a backend, "+
			"or a port without TLS.", where).Retry(true)
	case errors.Is(err, wire.ErrLongChain):
		return fail(codes.ReasonProtocol, "%s sends more than %d certificates.", where, wire.MaxChain).At("").
			Hinting("Contact the registry operator: the server must send only its own certificate and its intermediates.")
	case strings.Contains(err.Error(), "RSA key larger than"): // crypto/tls has no type for it
		return fail(codes.ReasonProtocol, "%s sent a certificate with an RSA key of more than %d bits.", where, maxRSABits).At("").
			Hinting("Contact the registry operator: the server needs a certificate with a smaller key.")
	default:
		return fail(codes.ReasonProtocol, "%s: %s.", where, c.Text(wire.Innermost(err).Error()))
	}
}

// ExplainAlert returns why a server ended TLS with an alert.
func ExplainAlert(c *wire.Handshake, alert uint8) *codes.Failure {
	words, known := alertNames[alert]
	if words = "the TLS alert \"" + words + "\""; !known {
		words = "an unknown TLS alert"
	}
	switch {
	case alert == 70 || alert == 40 && !c.CertificateRequested:
		return fail(codes.ReasonProtocol, "%s rejected the handshake; {program} offers TLS 1.2 and 1.3.", c.Host).
			Hinting("Contact the registry operator: the server must offer TLS 1.2 or 1.3 with current cipher suites.")
	case c.Unmet() || c.CertificateRequested && slices.Contains(certificateAlerts, alert):
		return explainRejection(c, "it ended the connection with "+words)
	default:
		return fail(codes.ReasonProtocol, "%s ended the handshake with %s.", c.Host, words)
	}
}

// explainRejection is for a server that rejects our client certificate, or requires one. seen is what the server did.
func explainRejection(c *wire.Handshake, seen string) *codes.Failure {
	accepts, names := "", acceptableNames(c)
	if names != "" {
		accepts = " It accepts certificates of: " + names + "."
	}
	if !c.Sent {
		f := fail(codes.ReasonClientCertificateRequired, "%s requires a client certificate; %s.%s", c.Host, seen, accepts)
		if !c.Home {
			f.Hinting("Contact the registry operator: %s must accept connections without a client certificate, since {program} sends the "+
				"one of a definition only to its endpoint.", c.Host)
		} else if names != "" {
			f.Hinting("Set {auth.tls.certificate} to a PEM client certificate issued by %s, {auth.tls.key} to its key{enableTLS}.", names)
		}
		return f
	}
	f := fail(codes.ReasonClientCertificateRejected, "%s requested a client certificate and received %s; %s.%s", c.Host,
		describe(wire.CleanText, c.Leaf), seen, accepts)
	if c.Now.After(c.Leaf.NotAfter) {
		f.Hinting("Set {auth.tls.certificate} to a new client certificate: this one expired on %s.", day(c.Leaf.NotAfter))
	} else if names != "" {
		f.Hinting("Set {auth.tls.certificate} to a PEM client certificate issued by %s, and {auth.tls.key} to its key.", names)
	}
	return f
}

// explainCertificate distinguishes the cases for which crypto/x509 has one type.
func explainCertificate(c *wire.Handshake, v *tls.CertificateVerificationError) *codes.Failure {
	served := v.UnverifiedCertificates
	if len(served) == 0 {
		return fail(codes.ReasonProtocol, "%s sent no certificate.", c.Host)
	}
	if name, ok := errors.AsType[x509.HostnameError](v.Err); ok {
		return explainHostname(c, name, served[0])
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](v.Err); ok {
		return explainInvalid(c, invalid, served)
	}
	leaf, top := served[0], served[len(served)-1]
	switch {
	case selfSigned(leaf):
		return fail(codes.ReasonSelfSigned, "%s served %s.", c.Host, describe(c.Text, leaf)).
			Hinting("Set {auth.tls.ca} to the PEM certificate with the SHA-256 fingerprint %s{enableTLS}. First compare the fingerprint "+
				"with that of the server.", fingerprint(leaf))
	case len(served) == 1 && len(leaf.IssuingCertificateURL) > 0:
		return fail(codes.ReasonMissingIntermediate, "%s served only %s, without the certificate of its issuer, which is at %s.",
			c.Host, describe(c.Text, leaf), c.Text(leaf.IssuingCertificateURL[0])).
			Hinting("Contact the registry operator: the server must send its whole certificate chain. Until then set {auth.tls.ca} to "+
				"the PEM certificate of %q from %s{enableTLS}.",
				name(c.Text, leaf.Issuer), c.Text(leaf.IssuingCertificateURL[0]))
	case selfSigned(top):
		return fail(codes.ReasonUnknownAuthority, "%s served %s; its chain ends at %s.", c.Host, describe(c.Text, leaf),
			describe(c.Text, top)).
			Hinting("Set {auth.tls.ca} to the PEM CA certificate %q with the SHA-256 fingerprint %s{enableTLS}.", name(c.Text, top.Subject),
				fingerprint(top))
	default:
		return fail(codes.ReasonUnknownAuthority, "%s served %s; the chain ends at issuer %q, which is not trusted and was not sent.",
			c.Host, describe(c.Text, leaf), name(c.Text, top.Issuer)).
			Hinting("Set {auth.tls.ca} to the PEM CA certificate of %q{enableTLS}.", name(c.Text, top.Issuer))
	}
}

func explainHostname(c *wire.Handshake, err x509.HostnameError, leaf *x509.Certificate) *codes.Failure {
	names, host := subjectNames(c.Text, leaf), c.Text(err.Host)
	if len(names) == 0 {
		return fail(codes.ReasonHostnameMismatch, "%s served %s, which has no subject alternative names; clients ignore the common name.",
			c.Host, describe(c.Text, leaf)).
			Hinting("Install a certificate on the server that has the subject alternative name %q.", host)
	}
	f := fail(codes.ReasonHostnameMismatch, "%s served a certificate for %s, not for %q.", c.Host, strings.Join(names, ", "), host)
	if plain := firstPlainName(names); plain != "" {
		f.Hinting("Set {endpoint} to a name of the certificate, such as %s, or install a certificate for %q on the server.",
			withHost(c, plain), host)
	}
	return f
}

func explainInvalid(c *wire.Handshake, err x509.CertificateInvalidError, served []*x509.Certificate) *codes.Failure {
	invalid := err.Cert
	if invalid == nil {
		invalid = served[0]
	}
	which := "The certificate " + describe(c.Text, invalid)
	if err.Reason != x509.Expired {
		return fail(codes.ReasonUnknownAuthority, "%s at %s cannot be used for this: %s.", which, c.Host, c.Text(err.Error()))
	}
	clock := c.Now.UTC().Format("2006-01-02 15:04")
	if c.Now.Before(invalid.NotBefore) {
		return fail(codes.ReasonNotYetValid, "%s at %s is valid from %s; the local clock shows %s UTC.", which, c.Host,
			day(invalid.NotBefore), clock)
	}
	f := fail(codes.ReasonExpired, "%s at %s was valid until %s; the local clock shows %s UTC.", which, c.Host,
		day(invalid.NotAfter), clock)
	if !slices.ContainsFunc(served, invalid.Equal) {
		f.At("auth.tls.ca").Hinting("Set {auth.tls.ca} to the successor of the certificate %q, which has expired.",
			name(c.Text, invalid.Subject))
	}
	return f
}

// ExplainExchange returns the failure of a request without a response because of the client certificate: the server sent an
// alert, or it requested a certificate, got none and closed the connection. TLS 1.3 servers do this after the handshake,
// possibly with a reset (RFC 8446 section 4.4.2.4). It returns nil for other causes.
func ExplainExchange(x *wire.ExchangeError) *codes.Failure {
	seen := x.Conn.Seen()
	if alert, sent := x.Conn.Alert(); sent && seen.CertificateRequested {
		return ExplainAlert(seen, alert)
	}
	if seen.Unmet() && !x.Started && x.Conn.Fresh() && wire.IsCutOff(x) {
		return explainRejection(seen, closedUnmet)
	}
	return nil
}

// closedUnmet describes a server that sends no alert.
const closedUnmet = "it closed the connection without one"

// ExplainResponse returns the failure of a request that nginx rejects for its client certificate: nginx completes the
// handshake and then responds 400 with these words. It returns nil for any other response.
func ExplainResponse(a *wire.Response) *codes.Failure {
	if a.Status != 400 || !a.Conn.CertificateRequested {
		return nil
	}
	body := string(a.Body)
	if !strings.Contains(body, "No required SSL certificate") && !strings.Contains(body, "SSL certificate error") {
		return nil
	}
	return explainRejection(a.Conn.Seen(), "it returned 400 \""+a.Title()+"\"")
}

// withHost returns the endpoint with another host.
func withHost(s *wire.Handshake, name string) string {
	_, port, err := net.SplitHostPort(s.Host)
	if err != nil || port == "443" {
		return "https://" + name + s.Path
	}
	return "https://" + net.JoinHostPort(name, port) + s.Path
}
