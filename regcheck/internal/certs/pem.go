// Package certs reads the certificates and keys of a definition, and explains TLS failures.
package certs

import (
	"crypto"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// Limits of the computation for a definition: the time of an RSA operation grows with the cube of the key size and cannot be
// interrupted. A key as large as the PEM limit would take hours.
const (
	maxCertificates   = 500 // of a bundle: the whole public web trusts about 150 roots
	maxCertificateDER = 64 << 10
	maxKeyDER         = 16 << 10 // RSA with 8192 bits takes 4.7 KiB
	maxRSABits        = 8192     // the limit of crypto/tls for servers
)

// Read reads the PEM texts of a definition; empty ones are not given. A certificate without a key is trusted like ca, since public
// clients set it to the certificate of the registry or of its CA. note is called with the member of each problem. Unless parseKey,
// the key is only recognized by its PEM block, and there is no pair: computing with an RSA key takes milliseconds.
func Read(ca, certificate, key string, parseKey bool, note func(member string, problem message.Text)) (
	roots []*x509.Certificate, pair *tls.Certificate,
) {
	roots = readCertificates("ca", ca, note)
	chain := readCertificates("certificate", certificate, note)
	if key == "" {
		return append(roots, chain...), nil
	}
	if certificate == "" {
		note("key", "requires {auth.tls.certificate}")
	}
	var signer crypto.Signer
	_, err := keyBlock([]byte(key))
	if err == nil && parseKey {
		signer, err = ParseKey([]byte(key))
	}
	switch {
	case err != nil:
		note("key", message.Of("%s", err.Error()))
	case signer != nil && len(chain) > 0:
		if pair = Pair(chain, signer); pair == nil {
			note("key", "does not match {auth.tls.certificate}")
		}
	}
	return roots, pair
}

var errPrivateKey = errors.New("must not contain a private key")

func readCertificates(member, text string, note func(member string, problem message.Text)) []*x509.Certificate {
	if text == "" {
		return nil
	}
	certificates, err := Parse([]byte(text))
	switch {
	case errors.Is(err, errPrivateKey):
		note(member, "must not contain a private key; set {auth.tls.key} to it")
	case err != nil:
		note(member, message.Of("%s", err.Error()))
	}
	return certificates
}

// Parse reads a PEM bundle. All its blocks must be valid. The errors of Parse and ParseKey complete a sentence that begins
// with the name of the field.
func Parse(text []byte) ([]*x509.Certificate, error) {
	var certificates []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if strings.Contains(block.Type, "PRIVATE KEY") {
			return nil, errPrivateKey
		}
		if block.Type != "CERTIFICATE" && block.Type != "X509 CERTIFICATE" && block.Type != "TRUSTED CERTIFICATE" {
			return nil, errors.New("must contain only certificates")
		}
		certificate, err := parseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if certificates = append(certificates, certificate); len(certificates) > maxCertificates {
			return nil, errors.New("must contain at most 500 certificates")
		}
	}
	if len(certificates) == 0 {
		return nil, errors.New("must contain a PEM certificate (-----BEGIN CERTIFICATE-----)")
	}
	if strings.Contains(string(text), "-----BEGIN") {
		return nil, errors.New("contains an incomplete or damaged PEM block")
	}
	return certificates, nil
}

func parseCertificate(der []byte) (*x509.Certificate, error) {
	if len(der) > maxCertificateDER {
		return nil, errors.New("must not contain a certificate larger than 64 KiB")
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
		return errors.New("must not contain an RSA key of more than 8192 bits")
	}
	return nil
}

// ParseKey reads the first private key of a PEM text.
func ParseKey(text []byte) (crypto.Signer, error) {
	der, err := keyBlock(text)
	if err != nil {
		return nil, err
	}
	key, err := parseKeyBlock(der)
	if err != nil {
		return nil, err
	}
	return key, boundRSA(key.Public())
}

// keyBlock returns what the first block of a private key has.
func keyBlock(text []byte) (der []byte, err error) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("must contain a PEM private key (-----BEGIN PRIVATE KEY-----)")
		}
		text = rest
		if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
			return nil, errors.New("must not be encrypted; decrypt it, for example with openssl pkey")
		}
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue // "EC PARAMETERS" precedes some keys
		}
		if len(block.Bytes) > maxKeyDER {
			return nil, errors.New("must not contain a private key larger than 16 KiB")
		}
		return block.Bytes, nil
	}
}

func parseKeyBlock(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("must be a key that can sign")
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
