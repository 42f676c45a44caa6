package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// MAC returns an HMAC-SHA-256 under a key that is derived from the master key for one purpose, and the id of that key, which reveals
// nothing of it. A change of a purpose changes every MAC of it.
func (m MasterKey) MAC(purpose string) (mac hash.Hash, keyID string, err error) {
	raw, err := m.bytes()
	if err != nil {
		return nil, "", err
	}
	key, err := hkdf.Key(sha256.New, raw, nil, purpose, sha256.Size)
	if err != nil {
		return nil, "", err
	}
	id, err := hkdf.Key(sha256.New, raw, nil, purpose+", key id", 8)
	return hmac.New(sha256.New, key), hex.EncodeToString(id), err
}
