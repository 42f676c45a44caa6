package source

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// readRSAKey reads a PEM key in the form of PKCS #1 (GitHub) or PKCS #8 (Google).
func readRSAKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	if key, ok := key.(*rsa.PrivateKey); ok {
		return key, nil
	}
	return nil, errors.New("not an RSA key")
}

func containsFold(text, words string) bool { return strings.Contains(strings.ToLower(text), words) }

// cutAround returns what is between a prefix and a suffix.
func cutAround(text, prefix, suffix string) (string, bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, suffix)
}
