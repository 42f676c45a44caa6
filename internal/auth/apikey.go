package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// An API key is "rwk_" and, in lower-case base32, 32 random bytes and their CRC-32. Scanners for leaked
// secrets find it by its prefix and tell it from look-alikes by the checksum, and so do we, before the
// store is asked. Letters and digits alone: a double click takes it whole.
const (
	apiKeyPrefix = "rwk_"
	apiKeyRandom = 32
	apiKeyBytes  = apiKeyRandom + crc32.Size
)

var apiKeyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newAPIKey draws a key and returns it with what is stored of it. The key is as strong as the hash, so a
// fast hash without salt is enough: there is nothing to guess.
func newAPIKey() (secret.String, []byte) {
	raw := make([]byte, apiKeyRandom, apiKeyBytes)
	_, _ = rand.Read(raw)
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	key := apiKeyPrefix + apiKeyEncoding.EncodeToString(raw)
	hash := sha256.Sum256([]byte(key))
	return secret.String(key), hash[:]
}

// apiKeyHash returns what would be stored of a key, and whether it has the form of one.
func apiKeyHash(key secret.String) ([]byte, bool) {
	text, found := strings.CutPrefix(key.Reveal(), apiKeyPrefix)
	if !found || len(text) != apiKeyEncoding.EncodedLen(apiKeyBytes) {
		return nil, false
	}
	raw, err := apiKeyEncoding.DecodeString(text)
	if err != nil || len(raw) != apiKeyBytes || apiKeyEncoding.EncodeToString(raw) != text {
		return nil, false
	}
	if crc32.ChecksumIEEE(raw[:apiKeyRandom]) != binary.BigEndian.Uint32(raw[apiKeyRandom:]) {
		return nil, false
	}
	hash := sha256.Sum256([]byte(key))
	return hash[:], true
}

// checkAPIKey returns why a stored key is not accepted, "" if it is.
func checkAPIKey(k store.APIKey, hash []byte, now time.Time) string {
	switch {
	case subtle.ConstantTimeCompare(k.Hash, hash) != 1: // the index found it; the comparison is ours
		return ReasonUnknown
	case !k.DeactivatedAt.IsZero() || !k.DisabledAt.IsZero():
		return ReasonInactive
	case !now.Before(k.ExpiresAt):
		return ReasonExpired
	}
	return ""
}
