package regcheck

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// maxCertificates bounds a bundle: the whole public web trusts about 150 roots.
const maxCertificates = 500

func (t TLS) read(p *plan, found *problems) {
	ca, certificate, key := strings.TrimSpace(t.CA), strings.TrimSpace(t.Certificate), strings.TrimSpace(t.Key.Reveal())
	if tooLong("auth.tls.ca", ca, found) || tooLong("auth.tls.certificate", certificate, found) || tooLong("auth.tls.key", key, found) {
		return
	}
	if !t.Enabled {
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
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("contains a certificate that cannot be parsed")
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

func readKey(text string, found *problems) crypto.Signer {
	key, err := parseKey([]byte(text))
	if err != nil {
		found.add("auth.tls.key", "%s", err)
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
		return parseKeyBlock(block.Bytes)
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
