// Package randomkey generates and recognizes random keys: a prefix followed by 32 random bytes and their CRC-32 in lowercase base32.
//
// Secret scanners find them by the prefix and exclude lookalikes by the checksum. The service checks both before it reads the store. A
// key has only letters and digits, so a double click selects all of it.
package randomkey

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/regwarden/regwarden/secret"
)

const (
	randomBytes = 32
	keyBytes    = randomBytes + crc32.Size
)

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Chars is the number of characters of a key after its prefix.
var Chars = encoding.EncodedLen(keyBytes)

// New generates a key and returns it with its stored hash. The key is random, so a fast hash without salt is enough.
func New(prefix string) (secret.String, []byte) {
	raw := make([]byte, randomBytes, keyBytes)
	_, _ = rand.Read(raw)
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	key := prefix + encoding.EncodeToString(raw)
	hash := sha256.Sum256([]byte(key))
	return secret.String(key), hash[:]
}

// Hash returns the stored hash of a key, and whether the text has the form of a key with that prefix.
func Hash(prefix string, key secret.String) ([]byte, bool) {
	text, found := strings.CutPrefix(key.Reveal(), prefix)
	if !found || len(text) != Chars {
		return nil, false
	}
	raw, err := encoding.DecodeString(text)
	if err != nil || len(raw) != keyBytes || encoding.EncodeToString(raw) != text {
		return nil, false
	}
	if crc32.ChecksumIEEE(raw[:randomBytes]) != binary.BigEndian.Uint32(raw[randomBytes:]) {
		return nil, false
	}
	hash := sha256.Sum256([]byte(key))
	return hash[:], true
}
