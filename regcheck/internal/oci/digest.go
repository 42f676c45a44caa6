package oci

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"strings"
)

const maxDigest = 256

// IsDigest reports whether a text follows the grammar of digests. Those of a known algorithm must have its length.
func IsDigest(text string) bool {
	algorithm, encoded, ok := strings.Cut(text, ":")
	if !ok || len(text) > maxDigest || encoded == "" {
		return false
	}
	if size := 2 * hashSize(algorithm); size > 0 {
		return len(encoded) == size && strings.Trim(encoded, "0123456789abcdef") == ""
	}
	for part := range strings.FieldsFuncSeq(algorithm+"+", func(r rune) bool { return strings.ContainsRune("+._-", r) }) {
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return algorithm != "" && strings.Trim(encoded, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=_-") == ""
}

func hashSize(algorithm string) int {
	switch algorithm {
	case "sha256":
		return sha256.Size
	case "sha512":
		return sha512.Size
	}
	return 0
}

// Hash computes a digest. The zero value, of an unknown algorithm, accepts any content.
type Hash struct {
	sum  hash.Hash
	want string
}

// HashFor returns the hash that content with a digest must have. known is false for an unknown algorithm.
func HashFor(digest string) (h Hash, known bool) {
	algorithm, want, _ := strings.Cut(digest, ":")
	switch algorithm {
	case "sha256":
		return Hash{sha256.New(), want}, true
	case "sha512":
		return Hash{sha512.New(), want}, true
	}
	return Hash{}, false
}

// Write adds content.
func (h Hash) Write(p []byte) (int, error) {
	if h.sum == nil {
		return len(p), nil
	}
	return h.sum.Write(p)
}

// Matches reports whether what was written has the digest.
func (h Hash) Matches() bool {
	return h.sum == nil || hex.EncodeToString(h.sum.Sum(nil)) == h.want
}

// Matches reports whether content has the digest, or the algorithm is unknown.
func Matches(digest string, content []byte) bool {
	h, _ := HashFor(digest)
	_, _ = h.Write(content)
	return h.Matches()
}
