package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Role is whose certificate it is.
type Role string

// Roles.
const (
	Server Role = "server"
	CA     Role = "ca" // issued that of the server, directly or not
	Client Role = "client"
)

// Certificate is one that a connection needs.
type Certificate struct {
	Role        Role
	Subject     string // its common name, or else its first alternative name, or its whole name; cleaned
	Fingerprint string // SHA-256, in hexadecimal with colons
	NotAfter    time.Time
}

// OfConnection describes the certificates of the endpoint: that of the server, and those of CAs on the path that was verified, or
// else those that the server sent.
func OfConnection(c *wire.Conn) (list []Certificate) {
	role := Server
	for _, one := range path(c) {
		list, role = append(list, certificate(role, c.Text, one)), CA
	}
	return list
}

func path(c *wire.Conn) []*x509.Certificate {
	state := c.State()
	if len(state.VerifiedChains) > 0 {
		return state.VerifiedChains[0]
	}
	return state.PeerCertificates
}

// OfClient describes the certificate of a definition. It returns nothing for nil.
func OfClient(pair *tls.Certificate) []Certificate {
	if pair == nil {
		return nil
	}
	return []Certificate{certificate(Client, wire.CleanText, pair.Leaf)}
}

func certificate(role Role, text func(string) string, c *x509.Certificate) Certificate {
	subject := name(text, c.Subject)
	if names := subjectNames(text, c); c.Subject.CommonName == "" && len(names) > 0 {
		subject = names[0]
	}
	return Certificate{role, subject, fingerprint(c), c.NotAfter}
}

// First returns when the first of the certificates expires, the zero time for none.
func First(list []Certificate) (at time.Time) {
	for _, c := range list {
		if at.IsZero() || c.NotAfter.Before(at) {
			at = c.NotAfter
		}
	}
	return at
}

// expiresSoon is the remaining validity below which there is a sentence.
const expiresSoon = 30 * 24 * time.Hour

// ServerExpiresSoon returns a sentence about the certificate of the endpoint that expires first, "" if none does within 30 days.
func ServerExpiresSoon(c *wire.Conn, now time.Time) string {
	all := path(c)
	if len(all) == 0 {
		return ""
	}
	first := slices.MinFunc(all, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	if first.NotAfter.Sub(now) > expiresSoon || first.NotAfter.Before(now) {
		return ""
	}
	return fmt.Sprintf("%s at %s is valid until %s.", describe(c.Text, first), c.Text(c.Peer.HostPort()), day(first.NotAfter))
}

// ClientExpiresSoon returns a sentence about the certificate of a definition, "" if it does not expire within 30 days or is nil. A
// certificate that has expired may be one that the server does not require.
func ClientExpiresSoon(pair *tls.Certificate, now time.Time) string {
	switch {
	case pair == nil || pair.Leaf.NotAfter.Sub(now) > expiresSoon:
		return ""
	case pair.Leaf.NotAfter.Before(now):
		return fmt.Sprintf("%s expired on %s.", describe(wire.CleanText, pair.Leaf), day(pair.Leaf.NotAfter))
	}
	return fmt.Sprintf("%s is valid until %s.", describe(wire.CleanText, pair.Leaf), day(pair.Leaf.NotAfter))
}
