// Package certs reads the certificates and keys of a definition, and explains what TLS makes of them and of a server's
// certificates.
package certs

import (
	"crypto"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// Limits of what a definition may make us compute: the time of an RSA operation grows with the cube of the key size, a
// signature cannot be interrupted, and a key of the size of our PEM limit would take hours.
const (
	maxCertificates   = 500 // of a bundle: the whole public web trusts about 150 roots
	maxCertificateDER = 64 << 10
	maxKeyDER         = 16 << 10 // RSA with 8192 bits takes 4.7 KiB
	maxRSABits        = 8192     // the limit of crypto/tls for servers
)

// Parse reads a PEM bundle. One bad block makes all of it unusable, since the rest might be the wrong half. Its error is a
// problem of a field, as is that of ParseKey.
func Parse(text []byte) ([]*x509.Certificate, error) {
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

// ParseKey reads the first private key of a PEM text.
func ParseKey(text []byte) (crypto.Signer, error) {
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
			continue // "EC PARAMETERS" precedes some keys
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

// Pair joins a key with its certificate, which comes first in the result as TLS requires. It returns nil if none of the
// chain belongs to the key.
func Pair(chain []*x509.Certificate, key crypto.Signer) *tls.Certificate {
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
		return nil
	}
	return pair
}
