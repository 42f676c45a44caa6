package trustrule

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"

	"github.com/go-jose/go-jose/v4"
)

// Bits of RSA keys. Shorter ones are weak (RFC 7518 section 3.3); the time of a verification grows with the length.
const (
	minRSABits = 2048
	maxRSABits = 8192
)

// Algorithms are those of accepted signatures. Each is asymmetric: with a MAC, everybody who knows the public key could sign.
var Algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256,
	jose.ES384, jose.ES512, jose.EdDSA}

// usable reports whether signatures may be verified with a key: a public one, of sufficient length, and not only for encryption.
func usable(k jose.JSONWebKey) bool {
	if k.Use != "" && k.Use != "sig" {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= minRSABits && key.N.BitLen() <= maxRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}
