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

// A refresh token is "rt_" and, in URL-safe base64, the session's 16 bytes, the generation's 8 and the
// 32 of a MAC over both. The store holds nothing from which one could be made: the MAC key is sealed.
const (
	refreshPrefix = "rt_"
	refreshBytes  = 16 + 8 + sha256.Size
	macPurpose    = "regwarden refresh token v1\x00" // the key makes no other MAC, and this keeps it so
)

func (k *keySet) refreshToken(session uuid.UUID, generation int64) secret.String {
	body := refreshBody(session, generation)
	return secret.String(refreshPrefix + base64.RawURLEncoding.EncodeToString(append(body, refreshMAC(k.mac, body)...)))
}

// parseRefreshToken returns what a token says, and whether the service made it. Any key that may still
// verify is tried, all in constant time.
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
	generation := int64(binary.BigEndian.Uint64(body[16:])) // #nosec G115 -- what we made fits
	return uuid.UUID(body[:16]), generation, genuine && generation > 0
}

// parseRefresh is parseRefreshToken with the keys that are in use anywhere, also for less than a second. It fails when
// that cannot be found out.
func (s *Service) parseRefresh(ctx context.Context, token secret.String) (uid uuid.UUID, generation int64, genuine bool, err error) {
	uid, generation, genuine = s.keySet().parseRefreshToken(token)
	if genuine || !wellFormed(token) {
		return uid, generation, genuine, nil
	}
	if err := s.changes.pollAfter(ctx, unknownKeyInterval); err != nil {
		return uid, 0, false, fmt.Errorf("%w: %w", errPollFailed, err)
	}
	uid, generation, genuine = s.keySet().parseRefreshToken(token)
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
