package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// Presented are the credentials of a request, as their headers hold them.
type Presented struct {
	Authorization secret.String // the token; "Bearer " before it is taken off here
	APIKey        secret.String
}

// Authenticate tells who calls. With both credentials both must be good and belong to one user.
//
// Faults: Unauthenticated with code UnAuthorizedAccess and a reason; Unavailable when the store is away.
func (s *Service) Authenticate(ctx context.Context, presented Presented) (Principal, error) {
	token := withoutScheme(presented.Authorization)
	switch {
	case token == "" && presented.APIKey == "":
		return Principal{}, unauthorized(ReasonMissing)
	case presented.APIKey == "":
		return s.byToken(ctx, token)
	case token == "":
		return s.byAPIKey(ctx, presented.APIKey)
	}
	principal, err := s.byToken(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	keyed, err := s.byAPIKey(ctx, presented.APIKey)
	if err != nil {
		return Principal{}, err
	}
	if principal.UserUID != keyed.UserUID || principal.OrgUID != keyed.OrgUID {
		return Principal{}, unauthorized(ReasonMismatch)
	}
	principal.APIKeyUID = keyed.APIKeyUID
	return principal, nil
}

// withoutScheme takes "Bearer " off; scheme names have no case (RFC 9110 section 11.1).
func withoutScheme(header secret.String) secret.String {
	const scheme = "bearer "
	text := strings.Trim(header.Reveal(), " \t")
	if len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
		text = strings.TrimLeft(text[len(scheme):], " ")
	}
	return secret.String(text)
}

// byToken judges an authorization token. Its session is looked up on each use, so that a revocation holds
// at once; the idle and absolute ends only stop refreshing, so a token lives its whole time.
func (s *Service) byToken(ctx context.Context, token secret.String) (Principal, error) {
	c, err := s.verify(token, s.config.Now())
	if errors.Is(err, errExpiredToken) {
		return Principal{}, unauthorized(ReasonExpired)
	}
	if err != nil {
		return Principal{}, unauthorized(ReasonMalformed)
	}
	var session store.Session
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		session, err = tx.Session(ctx, c.Session)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound): // a restored backup: newer than the store
		return Principal{}, unauthorized(ReasonUnknown)
	case err != nil:
		return Principal{}, fmt.Errorf("look up a session: %w", err)
	case session.UserUID != c.Subject || session.OrgUID != c.Org:
		return Principal{}, unauthorized(ReasonMalformed)
	case !session.EndedAt.IsZero():
		return Principal{}, unauthorized(ReasonRevoked)
	case !session.DisabledAt.IsZero():
		return Principal{}, unauthorized(ReasonInactive)
	}
	return Principal{UserUID: session.UserUID, OrgUID: session.OrgUID, OrgName: session.OrgName, Email: session.Email,
		Role: Role(session.Role), SessionUID: session.UID, Means: MeansToken}, nil
}

const (
	useRecordedEvery = 5 * time.Minute        // how fine an API key's last use is kept
	usePatience      = 250 * time.Millisecond // how long a request may wait for that
)

// byAPIKey judges an API key.
func (s *Service) byAPIKey(ctx context.Context, key secret.String) (Principal, error) {
	hash, ok := apiKeyHash(key)
	if !ok {
		return Principal{}, unauthorized(ReasonMalformed)
	}
	var found store.APIKey
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		found, err = tx.APIKeyByHash(ctx, hash)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return Principal{}, unauthorized(ReasonUnknown)
	}
	if err != nil {
		return Principal{}, fmt.Errorf("look up an API key: %w", err)
	}
	now := s.config.Now()
	if reason := judgeAPIKey(found, hash, now); reason != "" {
		return Principal{}, unauthorized(reason)
	}
	s.noteUse(ctx, found, now)
	return Principal{UserUID: found.UserUID, OrgUID: found.OrgUID, OrgName: found.OrgName, Email: found.Email,
		Role: Role(found.Role), APIKeyUID: found.UID, Means: MeansAPIKey}, nil
}

// noteUse keeps a key's last use, at most once in useRecordedEvery. It is for the owner's eyes alone, so
// a full disk or a busy store must not turn a good key away: its failure is dropped.
func (s *Service) noteUse(ctx context.Context, key store.APIKey, now time.Time) {
	stale := now.Add(-useRecordedEvery)
	if !key.LastUsedAt.IsZero() && !key.LastUsedAt.Before(stale) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, usePatience)
	defer cancel()
	_ = s.db.InTx(ctx, func(tx *store.Tx) error { return tx.NoteAPIKeyUse(ctx, key.UID, now, stale) })
}
