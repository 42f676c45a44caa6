package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Authenticator finds the caller of a request by its credentials. It is safe for concurrent use.
type Authenticator struct {
	db          *store.DB
	now         func() time.Time
	sessionIdle time.Duration
	recordTime  time.Duration // recordUseTimeout; more in tests, on machines that are busy
	tokens      *tokens
	changes     *changePoller
	cache       *credentialCache
	accepted    *acceptedTokens
	identities  *identityCheck
}

// Presented are the credentials of a request, as sent in its headers.
type Presented struct {
	Authorization secret.String // the token, with or without "Bearer "
	APIKey        secret.String
}

// Authenticate returns the caller. If both credentials are sent, both must be valid and belong to one user.
//
// Faults: Unauthenticated with code UnAuthorizedAccess and a reason; Unavailable when the store does not respond.
func (a *Authenticator) Authenticate(ctx context.Context, presented Presented) (Principal, error) {
	token := withoutScheme(presented.Authorization)
	switch {
	case token == "" && presented.APIKey == "":
		return Principal{}, unauthorized(ReasonMissing)
	case presented.APIKey == "":
		return a.byToken(ctx, token)
	case token == "":
		return a.byAPIKey(ctx, presented.APIKey)
	}
	principal, err := a.byToken(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	keyed, err := a.byAPIKey(ctx, presented.APIKey)
	if err != nil {
		return Principal{}, err
	}
	if principal.UserUID != keyed.UserUID || principal.OrgUID != keyed.OrgUID {
		return Principal{}, unauthorized(ReasonMismatch)
	}
	principal.APIKeyUID, principal.Limit = keyed.APIKeyUID, keyed.Limit
	return principal, nil
}

// recognizeFor is how long after the last successful poll Recognize accepts a cached credential.
const recognizeFor = maxTokenLifetime

// Recognize is Authenticate for responses that come from memory and are the same for every caller. If the store cannot
// be polled for revocations, it accepts a credential that was valid when it was last used here. It must not be used for
// a response that depends on the caller.
func (a *Authenticator) Recognize(ctx context.Context, presented Presented) (Principal, error) {
	known, ok := a.cached(presented)
	if !ok || a.changes.ensureCurrent(ctx) == nil || a.changes.age() > recognizeFor {
		return a.Authenticate(ctx, presented)
	}
	return known.principal, ctx.Err()
}

// cached returns what is known of a caller that presents exactly one credential.
func (a *Authenticator) cached(presented Presented) (known cacheEntry, ok bool) {
	token := withoutScheme(presented.Authorization)
	switch {
	case presented.APIKey == "":
		known, ok = a.knownToken(a.accepted.idOf(token), token)
	case token == "":
		if hash, isKey := randomkey.Hash(apiKeyPrefix, presented.APIKey); isKey { // no key of a calendar
			known, ok = a.cache.get(credentialID(hash), audit.MethodAPIKey)
		}
	}
	return known, ok && a.now().Before(known.expires)
}

// withoutScheme removes "Bearer "; scheme names are case-insensitive (RFC 9110 section 11.1).
func withoutScheme(header secret.String) secret.String {
	const scheme = "bearer "
	text := strings.Trim(header.Reveal(), " \t")
	if len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
		text = strings.TrimLeft(text[len(scheme):], " ")
	}
	return secret.String(text)
}

// byToken returns the caller of an authorization token: from the token if it was accepted before, from the cache, or by its
// signature and session.
func (a *Authenticator) byToken(ctx context.Context, token secret.String) (Principal, error) {
	if err := a.changes.ensureCurrent(ctx); err != nil {
		return Principal{}, err
	}
	id := a.accepted.idOf(token)
	known, ok := a.knownToken(id, token)
	if !ok {
		var err error
		if known, err = a.lookUpToken(ctx, id, token); err != nil {
			return Principal{}, err
		}
	}
	if !a.now().Before(known.expires) {
		return Principal{}, unauthorized(ReasonExpired)
	}
	return known.principal, nil
}

// knownToken returns what is known of a token that was used before, if that is up to date.
func (a *Authenticator) knownToken(id credentialID, token secret.String) (cacheEntry, bool) {
	if accepted := a.accepted.find(id, token); accepted != nil && accepted.upToDate(a.cache.History) {
		return accepted.cacheEntry, true
	}
	return a.cache.get(id, audit.MethodToken)
}

// lookUpToken verifies a token. It accepts one from its claims if its session, user and organization have not changed since these were
// read, else it reads the session. The idle and absolute ends of a session only prevent refreshing, so a token stays valid
// for its full lifetime.
func (a *Authenticator) lookUpToken(ctx context.Context, id credentialID, token secret.String) (cacheEntry, error) {
	c, err := a.tokens.verifyWithReload(ctx, token)
	if errors.Is(err, errPollFailed) {
		return cacheEntry{}, err
	}
	if errors.Is(err, errExpiredToken) {
		return cacheEntry{}, unauthorized(ReasonExpired)
	}
	if err != nil {
		return cacheEntry{}, malformed(token, apiKeyPrefix, messageSendAsAPIKey)
	}
	if accepted := newAcceptedToken(id, c); accepted != nil && accepted.upToDate(a.cache.History) {
		a.accepted.put(accepted)
		return accepted.cacheEntry, nil
	}
	known, err := a.lookUpSession(ctx, c)
	if err == nil {
		a.cache.put(id, known, a.now())
	}
	return known, err
}

// lookUpSession reads the session of a verified token.
func (a *Authenticator) lookUpSession(ctx context.Context, c claims) (cacheEntry, error) {
	epoch := a.cache.Epoch()
	session, caller, err := a.readSession(ctx, audit.MethodToken, func(tx *store.Tx) (store.Session, error) {
		return tx.Sessions.Get(ctx, c.Session)
	})
	switch {
	case errors.Is(err, store.ErrNotFound): // the store was restored from an older backup
		return cacheEntry{}, unauthorized(ReasonUnknown)
	case err != nil:
		return cacheEntry{}, fmt.Errorf("look up a session: %w", err)
	case session.UserUID != c.Subject || session.OrgUID != c.Org:
		return cacheEntry{}, unauthorized(ReasonMalformed)
	case !session.EndedAt.IsZero():
		return cacheEntry{}, unauthorized(ReasonRevoked)
	case !session.DisabledAt.IsZero():
		return cacheEntry{}, unauthorized(ReasonInactive)
	}
	return cacheEntry{principal: caller, expires: c.expiresAt(), epoch: epoch}, nil
}

// readSession reads a session and its caller.
func (a *Authenticator) readSession(ctx context.Context, method audit.AuthMethod, read func(*store.Tx) (store.Session, error)) (
	session store.Session, caller Principal, err error,
) {
	err = a.db.View(ctx, func(tx *store.Tx) error {
		if session, err = read(tx); err != nil {
			return err
		}
		caller, err = principalOf(session, method).withGrants(ctx, tx)
		return err
	})
	return session, caller, err
}

func principalOf(session store.Session, method audit.AuthMethod) Principal {
	return Principal{UserUID: session.UserUID, OrgUID: session.OrgUID, OrgName: session.OrgName, Email: session.Email,
		Role: Role(session.Role), SessionUID: session.UID, Method: method}
}

// AuthenticateConsole returns the caller whose browser sent a reference of LoginConsole. Using it extends the idle time
// of the session.
//
// Faults: Unauthenticated with code UnAuthorizedAccess and a reason; Unavailable when the store does not respond.
func (a *Authenticator) AuthenticateConsole(ctx context.Context, reference secret.String) (Principal, error) {
	hash, ok := randomkey.Hash(referencePrefix, reference)
	if !ok {
		return Principal{}, unauthorized(ReasonMalformed)
	}
	if err := a.changes.ensureCurrent(ctx); err != nil {
		return Principal{}, err
	}
	known, ok := a.cache.get(credentialID(hash), audit.MethodConsole)
	if !ok || !a.now().Before(known.expires) {
		var err error
		if known, err = a.lookUpReference(ctx, hash); err != nil {
			return Principal{}, err
		}
		a.cache.put(credentialID(hash), known, a.now())
	}
	return known.principal, nil
}

// lookUpReference reads the session of a reference and extends its idle time. The entry expires soon, so that this is
// repeated while the session is used.
func (a *Authenticator) lookUpReference(ctx context.Context, hash []byte) (cacheEntry, error) {
	epoch, now := a.cache.Epoch(), a.now()
	read := func(tx *store.Tx) (store.Session, error) { return tx.Sessions.ByReference(ctx, hash) }
	session, caller, err := a.readSession(ctx, audit.MethodConsole, read)
	if err == nil && checkSession(session, now) == "" && needsRecheck(session, now) {
		if err = a.identities.recheck(ctx, session.UID); err == nil {
			session, caller, err = a.readSession(ctx, audit.MethodConsole, read)
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return cacheEntry{}, unauthorized(ReasonUnknown)
	}
	if err != nil {
		return cacheEntry{}, fmt.Errorf("look up the session of a reference: %w", err)
	}
	if refused := checkSession(session, now); refused != "" {
		return cacheEntry{}, unauthorized(string(refused))
	}
	latest := session.MaxUntil
	if !session.RecheckAt.IsZero() {
		latest = earlier(latest, session.RecheckAt)
	}
	every := min(useRecordedEvery, a.sessionIdle/4, session.IdleUntil.Sub(session.UsedAt)/4) // the organization's may be shorter
	again := earlier(now, session.UsedAt).Add(every)
	if !now.Before(again) {
		session.IdleUntil, again = a.extendIdle(ctx, session, now), now.Add(every)
	}
	return cacheEntry{epoch: epoch, principal: caller, expires: earlier(again, earlier(session.IdleUntil, latest))}, nil
}

// extendIdle returns the new idle end of a session. An error must not refuse a live session, so then the end stays.
func (a *Authenticator) extendIdle(ctx context.Context, session store.Session, now time.Time) time.Time {
	ctx, cancel := context.WithTimeout(ctx, a.recordTime)
	defer cancel()
	until := now.Add(a.sessionIdle)
	if err := a.db.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.Sessions.Use(ctx, session.UID, now, until)
		return err
	}); err != nil {
		return session.IdleUntil
	}
	return until
}

const (
	useRecordedEvery = 5 * time.Minute        // precision of an API key's last use
	recordUseTimeout = 250 * time.Millisecond // how long a request may wait for the update
)

// byAPIKey returns the caller of an API key: from the cache, or from the store.
func (a *Authenticator) byAPIKey(ctx context.Context, key secret.String) (Principal, error) {
	hash, ok := randomkey.Hash(apiKeyPrefix, key)
	if !ok {
		return Principal{}, malformed(key, tokenPrefix, messageSendAsToken)
	}
	return a.byKey(ctx, hash)
}

// byKey returns the caller of the key with this hash, which is of the key with its prefix.
func (a *Authenticator) byKey(ctx context.Context, hash []byte) (Principal, error) {
	if err := a.changes.ensureCurrent(ctx); err != nil {
		return Principal{}, err
	}
	id := credentialID(hash)
	known, ok := a.cache.get(id, audit.MethodAPIKey)
	if !ok {
		var err error
		if known, err = a.lookUpAPIKey(ctx, hash); err != nil {
			return Principal{}, err
		}
		a.cache.put(id, known, a.now())
	}
	now := a.now()
	if !now.Before(known.expires) {
		return Principal{}, unauthorized(ReasonExpired)
	}
	if now.Sub(known.used) > useRecordedEvery {
		known.used = now
		a.cache.put(id, known, now)
		a.recordUse(ctx, known.principal.APIKeyUID, now)
	}
	return known.principal, nil
}

func (a *Authenticator) lookUpAPIKey(ctx context.Context, hash []byte) (cacheEntry, error) {
	epoch := a.cache.Epoch()
	var found store.APIKey
	var caller Principal
	err := a.db.View(ctx, func(tx *store.Tx) (err error) {
		if found, err = tx.APIKeys.ByHash(ctx, hash); err != nil {
			return err
		}
		caller, err = Principal{UserUID: found.UserUID, OrgUID: found.OrgUID, OrgName: found.OrgName, Email: found.Email,
			Role: Role(found.Role), APIKeyUID: found.UID, Method: audit.MethodAPIKey,
			Limit: access.Limit{Scope: access.Scope(found.Scope), Project: found.ProjectUID}}.withGrants(ctx, tx)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return cacheEntry{}, unauthorized(ReasonUnknown)
	}
	if err != nil {
		return cacheEntry{}, fmt.Errorf("look up an API key: %w", err)
	}
	if reason := checkAPIKey(found, hash, a.now()); reason != "" {
		return cacheEntry{}, unauthorized(reason)
	}
	return cacheEntry{epoch: epoch, expires: found.ExpiresAt, used: found.LastUsedAt, principal: caller}, nil
}

// recordUse stores a key's last use. The time is only informational, so an error must not reject a valid key and is
// ignored.
func (a *Authenticator) recordUse(ctx context.Context, uid string, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, a.recordTime)
	defer cancel()
	_ = a.db.InTx(ctx, func(tx *store.Tx) error { return tx.APIKeys.NoteUse(ctx, uid, now, now.Add(-useRecordedEvery)) })
}
