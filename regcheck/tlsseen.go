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
)

// tlsSeen is what there is to say about a handshake when it failed.
type tlsSeen struct {
	host       string // host:port
	path       string // of the endpoint as written, with its slash; "" for other hosts
	home       bool   // the endpoint's own origin, which the client certificate is for
	asked      bool   // the server requested a client certificate
	sent       bool   // and got one
	leaf       *x509.Certificate
	acceptable [][]byte
	now        time.Time
}

func (c *conn) seen() *tlsSeen {
	p := c.wire.plan
	s := &tlsSeen{host: c.peer.HostPort(), home: c.peer.Origin == p.base.origin, asked: c.asked, acceptable: c.acceptable, now: c.wire.now()}
	if s.home && p.endpointPath != "" {
		s.path = "/" + p.endpointPath
	}
	if s.home && p.clientCert != nil {
		s.sent, s.leaf = true, p.clientCert.Leaf
	}
	return s
}

// unmet reports whether the server requested a client certificate and got none.
func (s *tlsSeen) unmet() bool { return s.asked && !s.sent }

// withHost is the endpoint as it would be written with another host.
func (s *tlsSeen) withHost(name string) string {
	_, port, err := net.SplitHostPort(s.host)
	if err != nil || port == "443" {
		return "https://" + name + s.path
	}
	return "https://" + net.JoinHostPort(name, port) + s.path
}

// acceptableNames are the CAs of the server's CertificateRequest, at most three.
func (s *tlsSeen) acceptableNames() string {
	var names []string
	for _, raw := range s.acceptable {
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
	if more := len(s.acceptable) - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func name(n pkix.Name) string {
	if n.CommonName != "" {
		return cleanText(n.CommonName)
	}
	if text := cleanText(n.String()); text != "" {
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

// selfSigned tells that subject and issuer are one, and the key fits.
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
		names = append(names, cleanText(n))
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
