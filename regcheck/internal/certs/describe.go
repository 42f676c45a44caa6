package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// DescribeConnection returns a connection in words: versions, server certificate, whether a client certificate was sent.
func DescribeConnection(c *wire.Conn) string {
	state := c.State()
	text := tls.VersionName(state.Version)
	if c.H2() {
		text += ", HTTP/2"
	}
	if len(state.PeerCertificates) > 0 {
		leaf := state.PeerCertificates[0]
		text += fmt.Sprintf(", %q issued by %q, valid until %s", name(c.Text, leaf.Subject), name(c.Text, leaf.Issuer),
			leaf.NotAfter.UTC().Format("2006-01-02"))
	}
	if c.CertificateRequested && c.Seen().Sent {
		text += ", client certificate sent"
	}
	return text
}

// acceptableNames returns the CAs of the server's CertificateRequest, at most three.
func acceptableNames(s *wire.Handshake) string {
	var names []string
	for _, raw := range s.Acceptable {
		var rdn pkix.RDNSequence
		if _, err := asn1.Unmarshal(raw, &rdn); err != nil {
			continue
		}
		var n pkix.Name
		n.FillFromRDNSequence(&rdn)
		if names = append(names, strconv.Quote(name(s.Text, n))); len(names) == 3 {
			break
		}
	}
	if more := len(s.Acceptable) - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func name(text func(string) string, n pkix.Name) string {
	if n.CommonName != "" {
		return text(n.CommonName)
	}
	if shown := text(n.String()); shown != "" {
		return shown
	}
	return "(no name)"
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}

func describe(text func(string) string, c *x509.Certificate) string {
	if selfSigned(c) {
		return fmt.Sprintf("%q, self-signed (SHA-256 %s)", name(text, c.Subject), fingerprint(c))
	}
	return fmt.Sprintf("%q issued by %q (SHA-256 %s)", name(text, c.Subject), name(text, c.Issuer), fingerprint(c))
}

// selfSigned reports whether subject and issuer are the same and the certificate's own key signed it.
func selfSigned(c *x509.Certificate) bool {
	if string(c.RawSubject) != string(c.RawIssuer) {
		return false
	}
	return c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// subjectNames returns the subject alternative names, as text shows them, at most ten.
func subjectNames(text func(string) string, c *x509.Certificate) []string {
	var names []string
	for _, n := range c.DNSNames {
		names = append(names, text(n))
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) > 10 {
		names = append(names[:10], fmt.Sprintf("%d more", len(names)-10))
	}
	return names
}

func firstPlainName(names []string) string {
	for _, n := range names {
		if host, problem := egress.ReadHost(n); problem == "" && host == n {
			return n
		}
	}
	return ""
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
