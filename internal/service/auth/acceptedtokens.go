package auth

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
	"github.com/regwarden/regwarden/internal/service/auth/fingerprints"
	"github.com/regwarden/regwarden/secret"
)

// recentTokens is how many tokens are stored with their claims.
const recentTokens = 1024

// acceptedTokens knows the tokens whose signature and claims this process has verified, so that they need neither a verification nor a
// query when they are used again: of all by a fingerprint, of the recent ones with their claims.
type acceptedTokens struct {
	*fingerprints.Set
	recent [recentTokens]atomic.Pointer[acceptedToken]
}

// acceptedToken is a verified token that has all data of its caller, as they were at a position of the list of changes.
type acceptedToken struct {
	id credentialID
	cacheEntry
	at      changehistory.Position
	checked atomic.Uint64 // 1 more than the epoch of the history in which it was up to date; 0 for none
}

// newAcceptedToken returns nil for a token without all data of its caller: its roles in projects are not in it, and older versions issue
// tokens without any.
func newAcceptedToken(id credentialID, c claims) *acceptedToken {
	at := c.position()
	if at == 0 || Role(c.Role).Includes(access.More) || Role(c.Role).HasCustom() {
		return nil
	}
	return &acceptedToken{id: id, at: at, cacheEntry: cacheEntry{expires: c.expiresAt(), principal: Principal{UserUID: c.Subject,
		OrgUID: c.Org, OrgName: c.OrgName, Email: c.Email, Role: Role(c.Role), SessionUID: c.Session, Method: audit.MethodToken}}}
}

// idOf returns the key of a token.
func (t *acceptedTokens) idOf(token secret.String) credentialID {
	return credentialID(t.IDOf(token.Reveal()))
}

// find returns a token that was accepted before, or nil. It may be out of date.
func (t *acceptedTokens) find(id credentialID, token secret.String) *acceptedToken {
	slot := t.slot(id)
	if found := slot.Load(); found != nil && found.id == id {
		return found
	}
	if !t.Has(fingerprints.ID(id)) {
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
	t.Add(fingerprints.ID(token.id))
	t.slot(token.id).Store(token)
}

func (t *acceptedTokens) slot(id credentialID) *atomic.Pointer[acceptedToken] {
	return &t.recent[binary.LittleEndian.Uint16(id[16:])%recentTokens]
}

// verifiedClaims reads the claims of a token that was verified before.
func verifiedClaims(token secret.String) (c claims, err error) {
	_, rest, _ := strings.Cut(token.Reveal(), ".")
	payload, _, _ := strings.Cut(rest, ".")
	var encoded, decoded [1024]byte // enough for a token of this service
	if len(payload) > len(encoded) {
		return c, errMalformedToken
	}
	n, err := base64.RawURLEncoding.Decode(decoded[:], encoded[:copy(encoded[:], payload)])
	if err != nil {
		return c, err
	}
	text := string(decoded[:n])
	if c.scan(text) {
		return c, nil
	}
	c = claims{}
	return c, json.Unmarshal([]byte(text), &c) // not decoded itself, which would be allocated then
}

// scan is json.Unmarshal at a tenth of its time for an object as sign writes it: all members in their order, without spaces and escapes. It
// returns false for any other. It is only for what json.Unmarshal has accepted before.
func (c *claims) scan(text string) bool {
	m := members{text}
	return strings.IndexByte(text, '\\') < 0 &&
		m.text(`{"iss":"`, &c.Issuer) && m.text(`,"aud":"`, &c.Audience) && m.text(`,"sub":"`, &c.Subject) &&
		m.text(`,"org":"`, &c.Org) && m.text(`,"sid":"`, &c.Session) && m.text(`,"jti":"`, &c.ID) &&
		m.number(`,"iat":`, &c.IssuedAt) && m.number(`,"nbf":`, &c.NotBefore) && m.number(`,"exp":`, &c.Expires) &&
		m.text(`,"email":"`, &c.Email) && m.text(`,"role":"`, &c.Role) && m.text(`,"org_name":"`, &c.OrgName) &&
		m.text(`,"pos":"`, &c.Position) && m.rest == "}"
}

// members are the members of an object that were not read yet.
type members struct{ rest string }

// text reads the next member, whose name is in prefix.
func (m *members) text(prefix string, to *string) (ok bool) {
	if m.rest, ok = strings.CutPrefix(m.rest, prefix); !ok {
		return false
	}
	end := strings.IndexByte(m.rest, '"')
	if end < 0 {
		return false
	}
	*to, m.rest = m.rest[:end], m.rest[end+1:]
	return true
}

func (m *members) number(prefix string, to *int64) (ok bool) {
	if m.rest, ok = strings.CutPrefix(m.rest, prefix); !ok {
		return false
	}
	end := strings.IndexByte(m.rest, ',')
	if end < 0 {
		return false
	}
	n, err := strconv.ParseInt(m.rest[:end], 10, 64)
	*to, m.rest = n, m.rest[end:]
	return err == nil
}

// upToDate reports whether none of a token's subjects has changed since its data were read.
func (t *acceptedToken) upToDate(h *changehistory.History) bool {
	epoch, p := h.Epoch(), &t.principal
	if t.checked.Load() == epoch+1 {
		return true
	}
	if !h.CurrentAt(t.at, p.SessionUID, p.UserUID, p.OrgUID) {
		return false
	}
	t.checked.Store(epoch + 1)
	return true
}
