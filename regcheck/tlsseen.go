package regcheck

import (
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// withHost is the endpoint as it would be written with another host.
func withHost(s *wire.Handshake, name string) string {
	_, port, err := net.SplitHostPort(s.Host)
	if err != nil || port == "443" {
		return "https://" + name + s.Path
	}
	return "https://" + net.JoinHostPort(name, port) + s.Path
}

// acceptableNames are the CAs of the server's CertificateRequest, at most three.
func acceptableNames(s *wire.Handshake) string {
	var names []string
	for _, raw := range s.Acceptable {
		var rdn pkix.RDNSequence
		if _, err := asn1.Unmarshal(raw, &rdn); err != nil {
			continue
		}
		var n pkix.Name
		n.FillFromRDNSequence(&rdn)
		if names = append(names, strconv.Quote(name(n))); len(names) == 3 {
			break
		}
	}
	if more := len(s.Acceptable) - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func name(n pkix.Name) string {
	if n.CommonName != "" {
		return wire.CleanText(n.CommonName)
	}
	if text := wire.CleanText(n.String()); text != "" {
		return text
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

func describeCertificate(c *x509.Certificate) string {
	if selfSigned(c) {
		return fmt.Sprintf("%q, signed by itself (SHA-256 %s)", name(c.Subject), fingerprint(c))
	}
	return fmt.Sprintf("%q issued by %q (SHA-256 %s)", name(c.Subject), name(c.Issuer), fingerprint(c))
}

func describeLeaf(c *x509.Certificate) string {
	if c == nil {
		return "ours"
	}
	return describeCertificate(c)
}

// selfSigned reports whether subject and issuer are one, and the key fits.
func selfSigned(c *x509.Certificate) bool {
	if string(c.RawSubject) != string(c.RawIssuer) {
		return false
	}
	return c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// certificateNames are the names that count, cleaned, at most ten.
func certificateNames(c *x509.Certificate) []string {
	var names []string
	for _, n := range c.DNSNames {
		names = append(names, wire.CleanText(n))
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
