package auth

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const (
	tokenType     = "at+jwt"        // RFC 9068 section 2.1; no other kind of JWT is accepted
	tokenAudience = "regwarden-api" // #nosec G101 -- a name, not a credential
	maxTokenBytes = 4096
	maxPayload    = 600              // of a token that this service issues, which is below 1 KiB then
	clockLeeway   = 30 * time.Second // for nbf and iat of other replicas; exp has none
)

// claims are those of an authorization token (RFC 9068 section 2.2, plus org and sid). The required ones come first. The others are
// what a request needs of its user, as it was at a position of the list of changes; tokens of older versions have none of them.
type claims struct {
	Issuer    string `json:"iss"`
	Audience  string `json:"aud"`
	Subject   string `json:"sub"`
	Org       string `json:"org"`
	Session   string `json:"sid"`
	ID        string `json:"jti"`
	IssuedAt  int64  `json:"iat"`
	NotBefore int64  `json:"nbf"`
	Expires   int64  `json:"exp"`

	Email    string `json:"email,omitzero"`
	Role     string `json:"role,omitzero"`
	OrgName  string `json:"org_name,omitzero"`
	Position string `json:"pos,omitzero"` // hexadecimal
}

// position is that of the claims, 0 if they have none.
func (c claims) position() changehistory.Position {
	at, _ := strconv.ParseUint(c.Position, 16, 64) // 0 for what is not a number
	return changehistory.Position(at)
}

func (c claims) expiresAt() time.Time { return time.Unix(c.Expires, 0).UTC() }

// tokenHeader is the only JOSE header that the service issues and accepts. Any other member (jku, jwk, x5u, x5c, crit,
// b64, zip, …) is refused because it is not defined here.
type tokenHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Type      string `json:"typ"`
}

var (
	errMalformedToken = errors.New("not an authorization token of this service")
	errExpiredToken   = errors.New("the authorization token has expired")
	errUnknownKey     = fmt.Errorf("%w: unknown key", errMalformedToken)
	errPollFailed     = errors.New("new keys could not be read")
)

// tokens issues and verifies authorization tokens and refresh tokens.
type tokens struct {
	issuer   string
	lifetime time.Duration
	now      func() time.Time
	keys     *Keys
	changes  *changePoller
}

// Tokens are the result of a login or refresh. ExpiresAt is the end of Authorization. Refresh is empty when an
// authorization token was exchanged.
type Tokens struct {
	Authorization, Refresh secret.String
	ExpiresAt              time.Time
}

// issue returns the tokens of a session, which was read at that position or later. It is called after the commit, so that the store
// knows every issued token. A token is remembered at its first use: otherwise clients that only refresh would displace the used ones.
func (t *tokens) issue(session store.Session, at changehistory.Position) (Tokens, error) {
	uid, err := uuid.Parse(session.UID)
	if err != nil {
		return Tokens{}, fmt.Errorf("parse the uid of a session: %w", err)
	}
	keys := t.keys.keySet()
	token, expires, err := t.sign(keys.signing, session, uuid.NewString(), t.now(), at)
	if err != nil {
		return Tokens{}, err
	}
	return Tokens{Authorization: token, Refresh: keys.refreshToken(uid, session.Generation), ExpiresAt: expires}, nil
}

// sign returns the authorization token of a session, which was read at that position or later. Ed25519 is deterministic, so the same
// session, jti, key, time and position return the same token.
func (t *tokens) sign(key *signingKey, session store.Session, jti string, issued time.Time, at changehistory.Position) (
	secret.String, time.Time, error) {
	c := claims{Issuer: t.issuer, Audience: tokenAudience, Subject: session.UserUID, Org: session.OrgUID, Session: session.UID,
		ID: jti, IssuedAt: issued.Unix(), NotBefore: issued.Unix(), Expires: issued.Unix() + int64(t.lifetime/time.Second)}
	required := c
	if at != 0 {
		c.Email, c.Role, c.OrgName, c.Position = session.Email, session.Role, session.OrgName, strconv.FormatUint(uint64(at), 16)
	}
	payload, err := json.Marshal(c)
	if len(payload) > maxPayload {
		payload, err = json.Marshal(required)
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("encode the claims of a token: %w", err)
	}
	return key.sign(payload), c.expiresAt(), nil
}

// sign returns the compact serialization of a JWS (RFC 7515 section 7.1). Its header is always the same text.
func (k *signingKey) sign(payload []byte) secret.String {
	encode := base64.RawURLEncoding
	text := make([]byte, 0, len(k.header)+encode.EncodedLen(len(payload))+encode.EncodedLen(ed25519.SignatureSize)+2)
	text = encode.AppendEncode(append(append(text, k.header...), '.'), payload)
	signature := ed25519.Sign(k.private, text)
	return secret.String(encode.AppendEncode(append(text, '.'), signature))
}

// verify returns the claims of an authentic token that is valid at the given time. For an authentic expired token it
// returns the claims and errExpiredToken, for anything else errMalformedToken.
func (t *tokens) verify(token secret.String, now time.Time) (claims, error) {
	key, err := t.tokenKey(token.Reveal())
	if err != nil {
		return claims{}, err
	}
	signed, err := jose.ParseSignedCompact(token.Reveal(), []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return claims{}, errMalformedToken
	}
	payload, err := signed.Verify(key.public)
	if err != nil {
		return claims{}, errMalformedToken
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil { // refuses duplicate members and invalid UTF-8
		return claims{}, errMalformedToken
	}
	return c, t.checkClaims(c, now)
}

// verifyWithReload is verify for tokens that may be signed with a key that another process has just put into use. If the keys
// cannot be read, it returns errPollFailed instead of refusing the token, since the client would discard it.
func (t *tokens) verifyWithReload(ctx context.Context, token secret.String) (claims, error) {
	c, err := t.verify(token, t.now())
	if !errors.Is(err, errUnknownKey) {
		return c, err
	}
	if err := t.changes.pollAfter(ctx, unknownKeyInterval); err != nil {
		return claims{}, fmt.Errorf("%w: %w", errPollFailed, err)
	}
	return t.verify(token, t.now())
}

// tokenKey checks size, shape and header before the signature. Nothing is decoded before size and separators are
// checked (CVE-2025-30204), and the key is taken only from the service's own keys.
func (t *tokens) tokenKey(token string) (*signingKey, error) {
	if len(token) > maxTokenBytes || strings.Count(token, ".") != 2 {
		return nil, errMalformedToken
	}
	var first []byte
	for i, part := range strings.Split(token, ".") {
		decoded, err := decodeBase64URL(part)
		if err != nil || len(decoded) == 0 {
			return nil, errMalformedToken
		}
		if i == 0 {
			first = decoded
		}
	}
	var header tokenHeader
	if err := json.Unmarshal(first, &header, json.RejectUnknownMembers(true)); err != nil {
		return nil, errMalformedToken
	}
	key := t.keys.keySet().verify[header.KeyID]
	if key == nil && uuid.Validate(header.KeyID) == nil {
		return nil, errUnknownKey
	}
	if key == nil || header.Type != tokenType || header.Algorithm != string(jose.EdDSA) {
		return nil, errMalformedToken
	}
	return key, nil
}

// decodeBase64URL accepts only the canonical encoding: encoding/base64 ignores newlines, and without Strict also
// trailing bits, so that a token would have many spellings.
func decodeBase64URL(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errMalformedToken
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}

func (t *tokens) checkClaims(c claims, now time.Time) error {
	if slices.Contains([]string{c.Subject, c.Org, c.Session, c.ID}, "") {
		return errMalformedToken
	}
	latest := now.Add(clockLeeway).Unix()
	switch {
	case c.Issuer != t.issuer || c.Audience != tokenAudience:
		return errMalformedToken
	case c.IssuedAt <= 0 || c.NotBefore <= 0 || c.Expires <= c.IssuedAt:
		return errMalformedToken
	case c.IssuedAt > latest || c.NotBefore > latest:
		return errMalformedToken
	case !now.Before(c.expiresAt()):
		return errExpiredToken
	}
	return nil
}
