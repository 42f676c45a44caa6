package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/source"
)

const maxPEM = 256 << 10 // bytes of a field

// Certificates are the settings of TLS of a check.
type Certificates struct {
	Roots      []*x509.Certificate
	Client     *tls.Certificate
	SkipVerify bool
	Ignored    []string // members of auth.tls that have no effect because it is not enabled
}

// Read reads the settings, and notes all problems. parseKey parses a key, which is only recognized otherwise.
func (t TLS) Read(parseKey bool, note source.Note) (c Certificates) {
	ca, certificate, key := strings.TrimSpace(t.CA), strings.TrimSpace(t.Certificate), strings.TrimSpace(t.Key.Reveal())
	for _, text := range []struct{ member, value string }{{"ca", ca}, {"certificate", certificate}, {"key", key}} {
		if len(text.value) > maxPEM {
			note("auth.tls."+text.member, message.Of("must be at most %d bytes", maxPEM))
			return c
		}
	}
	if !t.Enabled {
		c.Ignored = t.given()
		return c
	}
	c.SkipVerify = t.InsecureSkipVerify
	c.Roots, c.Client = certs.Read(ca, certificate, key, parseKey, func(member string, problem message.Text) {
		note("auth.tls."+member, problem)
	})
	return c
}

// given returns the members that have a value, other than enabled.
func (t TLS) given() (names []string) {
	for _, member := range []struct {
		name  string
		given bool
	}{{"ca", t.CA != ""}, {"certificate", t.Certificate != ""}, {"key", t.Key != ""}, {"insecureSkipVerify", t.InsecureSkipVerify}} {
		if member.given {
			names = append(names, "auth.tls."+member.name)
		}
	}
	return names
}
