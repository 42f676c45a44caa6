package regcheck

import (
	"crypto"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// Bounds of what a definition may make us compute: the time of an RSA operation grows with the cube of
// the key, a signature can't be broken off, and a key of the size of our PEM limit would take hours.
const (
	maxCertificates   = 500 // of a bundle: the whole public web trusts about 150 roots
	maxCertificateDER = 64 << 10
	maxKeyDER         = 16 << 10 // RSA with 8192 bits takes 4.7 KiB
	maxRSABits        = 8192     // what crypto/tls takes from servers
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
	certificates, err := parseCertificates([]byte(text))
	if err != nil {
		found.add(field, "%s", err)
	}
	return certificates
}

// parseCertificates reads a PEM bundle whole: one bad block makes it unusable, since what is left
// might be the wrong half.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certificates []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if strings.Contains(block.Type, "PRIVATE KEY") {
			return nil, errors.New("contains a private key, which belongs into auth.tls.key")
		}
		if block.Type != "CERTIFICATE" && block.Type != "X509 CERTIFICATE" && block.Type != "TRUSTED CERTIFICATE" {
			return nil, errors.New("contains a PEM block that is no certificate")
		}
		certificate, err := parseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if certificates = append(certificates, certificate); len(certificates) > maxCertificates {
			return nil, errors.New("contains more than 500 certificates")
		}
	}
	if len(certificates) == 0 {
		return nil, errors.New("contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
	}
	if strings.Contains(string(text), "-----BEGIN") {
		return nil, errors.New("contains a PEM block that is cut off or damaged")
	}
	return certificates, nil
}

func parseCertificate(der []byte) (*x509.Certificate, error) {
	if len(der) > maxCertificateDER {
		return nil, errors.New("contains a certificate larger than 64 KiB")
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, errors.New("contains a certificate that cannot be parsed")
	}
	if err := boundRSA(certificate.PublicKey); err != nil {
		return nil, err
	}
	return certificate, nil
}

func boundRSA(public crypto.PublicKey) error {
	if key, ok := public.(*rsa.PublicKey); ok && key.N.BitLen() > maxRSABits {
		return errors.New("contains an RSA key of more than 8192 bits")
	}
	return nil
}

func readKey(text string, found *problems) crypto.Signer {
	key, err := parseKey([]byte(text))
	if err != nil {
		found.add("auth.tls.key", "%s", err)
		return nil
	}
	return key
}

func parseKey(text []byte) (crypto.Signer, error) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("contains no private key in PEM form (-----BEGIN PRIVATE KEY-----)")
		}
		text = rest
		if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
			return nil, errors.New("is encrypted; decrypt it first, for example with openssl pkey")
		}
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue // "EC PARAMETERS" stands before some keys
		}
		if len(block.Bytes) > maxKeyDER {
			return nil, errors.New("contains a private key larger than 16 KiB, which no key in use is")
		}
		key, err := parseKeyBlock(block.Bytes)
		if err != nil {
			return nil, err
		}
		return key, boundRSA(key.Public())
	}
}

func parseKeyBlock(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("is of a kind that cannot sign")
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errors.New("contains a private key that cannot be parsed")
}

// readPair finds the certificate of the key and puts it first, as TLS wants it.
func readPair(chain []*x509.Certificate, keyText string, found *problems) *tls.Certificate {
	key := readKey(keyText, found)
	if key == nil || len(chain) == 0 {
		return nil
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	pair := &tls.Certificate{PrivateKey: key}
	for _, c := range chain {
		if pair.Leaf == nil && ok && public.Equal(c.PublicKey) {
			pair.Leaf = c
			pair.Certificate = append([][]byte{c.Raw}, pair.Certificate...)
			continue
		}
		pair.Certificate = append(pair.Certificate, c.Raw)
	}
	if pair.Leaf == nil {
		found.add("auth.tls.key", "does not belong to auth.tls.certificate")
		return nil
	}
	return pair
}
