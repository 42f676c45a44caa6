package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/secret"
)

// A refresh token is "rt_" followed by URL-safe base64 of the session uid (16 bytes), the generation (8) and a MAC over
// both (32). The database holds nothing that allows creating one: the MAC key is encrypted.
const (
	refreshPrefix = "rt_"
	refreshBytes  = 16 + 8 + sha256.Size
	macPurpose    = "regwarden refresh token v1\x00" // separates this use of the key from any other
)

func (k *keySet) refreshToken(session uuid.UUID, generation int64) secret.String {
	body := refreshBody(session, generation)
	return secret.String(refreshPrefix + base64.RawURLEncoding.EncodeToString(append(body, refreshMAC(k.mac, body)...)))
}

// parseRefreshToken returns the contents of a token and whether the service issued it. It tries all keys that may still
// verify, in constant time.
func (k *keySet) parseRefreshToken(token secret.String) (uuid.UUID, int64, bool) {
	if !wellFormed(token) {
		return uuid.UUID{}, 0, false
	}
	raw, err := decodeBase64URL(strings.TrimPrefix(token.Reveal(), refreshPrefix))
	if err != nil || len(raw) != refreshBytes {
		return uuid.UUID{}, 0, false
	}
	body, mac := raw[:refreshBytes-sha256.Size], raw[refreshBytes-sha256.Size:]
	genuine := false
	for _, key := range k.macs {
		if hmac.Equal(mac, refreshMAC(key, body)) {
			genuine = true
		}
	}
	generation := int64(binary.BigEndian.Uint64(body[16:])) // #nosec G115 -- issued generations fit
	return uuid.UUID(body[:16]), generation, genuine && generation > 0
}

// parseRefresh is parseRefreshToken with the current keys of all replicas. It returns an error if they cannot be read.
func (t *tokens) parseRefresh(ctx context.Context, token secret.String) (uid uuid.UUID, generation int64, genuine bool, err error) {
	uid, generation, genuine = t.keys.keySet().parseRefreshToken(token)
	if genuine || !wellFormed(token) {
		return uid, generation, genuine, nil
	}
	if err := t.changes.pollAfter(ctx, unknownKeyInterval); err != nil {
		return uid, 0, false, fmt.Errorf("%w: %w", errPollFailed, err)
	}
	uid, generation, genuine = t.keys.keySet().parseRefreshToken(token)
	return uid, generation, genuine, nil
}

func wellFormed(token secret.String) bool {
	text, found := strings.CutPrefix(token.Reveal(), refreshPrefix)
	return found && len(text) == base64.RawURLEncoding.EncodedLen(refreshBytes)
}

func refreshBody(session uuid.UUID, generation int64) []byte {
	body := append(make([]byte, 0, refreshBytes), session[:]...)
	return binary.BigEndian.AppendUint64(body, uint64(generation)) // #nosec G115 -- generations count from 1
}

func refreshMAC(key, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(macPurpose))
	mac.Write(body)
	return mac.Sum(nil)
}
