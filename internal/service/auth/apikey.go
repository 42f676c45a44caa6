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

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// API keys and the references that browsers have to their sessions are a prefix followed by 32 random bytes and their
// CRC-32 in lowercase base32. Secret scanners find them by the prefix and exclude lookalikes by the checksum. The
// service checks both before it reads the store. A key has only letters and digits, so a double click selects all of it.
const (
	apiKeyPrefix    = "rwk_"
	referencePrefix = "rwc_"
	randomKeyRandom = 32
	randomKeyBytes  = randomKeyRandom + crc32.Size

	// 30 of the 256 random bits: enough to distinguish the keys of an organization, useless for an attack
	visibleChars = len(apiKeyPrefix) + 6
)

var randomKeyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newRandomKey generates a key and returns it with its stored hash. The key is random, so a fast hash without salt is
// enough.
func newRandomKey(prefix string) (secret.String, []byte) {
	raw := make([]byte, randomKeyRandom, randomKeyBytes)
	_, _ = rand.Read(raw)
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	key := prefix + randomKeyEncoding.EncodeToString(raw)
	hash := sha256.Sum256([]byte(key))
	return secret.String(key), hash[:]
}

// randomKeyHash returns the stored hash of a key, and whether the text has the form of a key with that prefix.
func randomKeyHash(prefix string, key secret.String) ([]byte, bool) {
	text, found := strings.CutPrefix(key.Reveal(), prefix)
	if !found || len(text) != randomKeyEncoding.EncodedLen(randomKeyBytes) {
		return nil, false
	}
	raw, err := randomKeyEncoding.DecodeString(text)
	if err != nil || len(raw) != randomKeyBytes || randomKeyEncoding.EncodeToString(raw) != text {
		return nil, false
	}
	if crc32.ChecksumIEEE(raw[:randomKeyRandom]) != binary.BigEndian.Uint32(raw[randomKeyRandom:]) {
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
