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

// An API key is "rwk_" followed by 32 random bytes and their CRC-32 in lowercase base32. Secret scanners find keys by
// the prefix and exclude lookalikes by the checksum. The service checks both before it reads the store. A key has only
// letters and digits, so a double click selects all of it.
const (
	apiKeyPrefix = "rwk_"
	apiKeyRandom = 32
	apiKeyBytes  = apiKeyRandom + crc32.Size

	visibleChars = len(apiKeyPrefix) + 6 // 30 of the 256 random bits: enough to distinguish the keys of an organization, useless for an attack
)

var apiKeyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newAPIKey generates a key and returns it with its stored hash. The key is random, so a fast hash without salt is
// enough.
func newAPIKey() (secret.String, []byte) {
	raw := make([]byte, apiKeyRandom, apiKeyBytes)
	_, _ = rand.Read(raw)
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	key := apiKeyPrefix + apiKeyEncoding.EncodeToString(raw)
	hash := sha256.Sum256([]byte(key))
	return secret.String(key), hash[:]
}

// apiKeyHash returns the stored hash of a key, and whether the text has the form of a key.
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
	case subtle.ConstantTimeCompare(k.Hash, hash) != 1: // the index found it; compare again in constant time
		return ReasonUnknown
	case !k.DeactivatedAt.IsZero() || !k.DisabledAt.IsZero():
		return ReasonInactive
	case !now.Before(k.ExpiresAt):
		return ReasonExpired
	}
	return ""
}
