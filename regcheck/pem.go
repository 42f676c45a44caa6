package regcheck

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/certs"
)

func (t TLS) read(p *plan, found *problems) {
	ca, certificate, key := strings.TrimSpace(t.CA), strings.TrimSpace(t.Certificate), strings.TrimSpace(t.Key.Reveal())
	if tooLong("auth.tls.ca", ca, found) || tooLong("auth.tls.certificate", certificate, found) || tooLong("auth.tls.key", key, found) {
		return
	}
	if !t.Enabled {
		p.ignoredTLS = t.given()
		return
	}
	p.skipVerify = t.InsecureSkipVerify
	if ca != "" {
		p.roots = append(p.roots, readCertificates("auth.tls.ca", ca, found)...)
	}
	var chain []*x509.Certificate
	if certificate != "" {
		chain = readCertificates("auth.tls.certificate", certificate, found)
	}
	switch {
	case key == "":
		// Public clients put the registry's own or its CA's certificate here.
		p.roots = append(p.roots, chain...)
	case certificate == "":
		found.add("auth.tls.key", "is given without auth.tls.certificate, to which it must belong")
		readKey(key, found)
	default:
		p.clientCert = readPair(chain, key, found)
	}
}

// given lists the members that have a value, other than enabled.
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

func tooLong(field, text string, found *problems) bool {
	if len(text) <= maxPEM {
		return false
	}
	found.add(field, "is longer than %d bytes", maxPEM)
	return true
}

func readCertificates(field, text string, found *problems) []*x509.Certificate {
	certificates, err := certs.Parse([]byte(text))
	if err != nil {
		found.add(field, "%s", err)
	}
	return certificates
}

func readKey(text string, found *problems) crypto.Signer {
	key, err := certs.ParseKey([]byte(text))
	if err != nil {
		found.add("auth.tls.key", "%s", err)
		return nil
	}
	return key
}

func readPair(chain []*x509.Certificate, keyText string, found *problems) *tls.Certificate {
	key := readKey(keyText, found)
	if key == nil || len(chain) == 0 {
		return nil
	}
	pair := certs.Pair(chain, key)
	if pair == nil {
		found.add("auth.tls.key", "does not belong to auth.tls.certificate")
	}
	return pair
}
