package auth

import (
	"encoding/binary"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/secret"
)

// recentTokens is how many tokens are kept with their claims.
const recentTokens = 4096

// acceptedTokens knows the tokens whose signature and claims this process has verified, so that they need neither a verification nor a
// query when they are used again: of all by a fingerprint, of the recent ones with their claims.
type acceptedTokens struct {
	*fingerprints
	recent [recentTokens]atomic.Pointer[acceptedToken]
}

// acceptedToken is a verified token that has all data of its caller, as they were at a position of the list of changes.
type acceptedToken struct {
	id credentialID
	cacheEntry
	at      position
	checked atomic.Uint64 // 1 more than the epoch of the history in which it was up to date; 0 for none
}

// newAcceptedToken returns nil for a token without data of its caller, as older versions issue them.
func newAcceptedToken(id credentialID, c claims) *acceptedToken {
	at := c.position()
	if at == 0 {
		return nil
	}
	return &acceptedToken{id: id, at: at, cacheEntry: cacheEntry{expires: c.expiresAt(), principal: Principal{UserUID: c.Subject,
		OrgUID: c.Org, OrgName: c.OrgName, Email: c.Email, Role: Role(c.Role), SessionUID: c.Session, Method: audit.MethodToken}}}
}

// find returns a token that was accepted before, or nil. It may be out of date.
func (t *acceptedTokens) find(id credentialID, token secret.String) *acceptedToken {
	slot := t.slot(id)
	if found := slot.Load(); found != nil && found.id == id {
		return found
	}
	if !t.has(id) {
		return nil
	}
	c, err := verifiedClaims(token)
	if err != nil {
		return nil
	}
	found := newAcceptedToken(id, c)
	slot.Store(found)
	return found
}

// put keeps a token that was just accepted.
func (t *acceptedTokens) put(token *acceptedToken) {
	t.add(token.id)
	t.slot(token.id).Store(token)
}

func (t *acceptedTokens) slot(id credentialID) *atomic.Pointer[acceptedToken] {
	return &t.recent[binary.LittleEndian.Uint16(id[16:])%recentTokens]
}

// verifiedClaims reads the claims of a token whose fingerprint is known.
func verifiedClaims(token secret.String) (c claims, err error) {
	_, rest, _ := strings.Cut(token.Reveal(), ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := decodeBase64URL(payload)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(text, &c)
}

// upToDate reports whether none of a token's subjects has changed since its data were read.
func (h *changeHistory) upToDate(token *acceptedToken) bool {
	epoch := h.epoch.Load()
	if token.checked.Load() == epoch+1 {
		return true
	}
	if !h.currentAt(token.at, &token.principal) {
		return false
	}
	token.checked.Store(epoch + 1)
	return true
}
