package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Reasons for the end of a session, as stored. Reuse and a token ahead of the store are named by their decision.
const (
	endedByLogout = "logout"
	endedByUser   = "ended"
	endedByRevoke = "revoked"
)

// EndedByPassword is the reason for sessions that ended because the password of their user changed.
const EndedByPassword = "passwordChanged" // #nosec G101 -- a word, not a credential

// Sessions refreshes, lists and ends sessions. It is safe for concurrent use.
type Sessions struct {
	db      *store.DB
	config  Config
	now     func() time.Time
	keys    *Keys
	tokens  *tokens
	history *changehistory.History

	identities *identityCheck
}

// Session describes a session. Current reports whether the caller's own token belongs to it.
type Session struct {
	UID, UserUID          string
	Address               string // client address of the login
	CreatedAt, LastUsedAt time.Time
	ExpiresAt             time.Time // when it ends, unless it is refreshed or, by a browser, used before
	Current               bool
	Console               bool // of a browser
}

// Logout ends the session of the principal's token.
//
// Faults: Invalid for an API key, which has no session.
func (s *Sessions) Logout(ctx context.Context, p Principal, origin audit.Origin) error {
	if p.SessionUID == "" {
		return fault.InvalidField("Authorization", "is required; an API key has no session")
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		if _, err := tx.Sessions.End(ctx, p.SessionUID, endedByLogout, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, p.Succeeded(origin, audit.Logout, p.SessionUID, now))
	})
	return fault.Wrap("end a session", err)
}

// List lists the newest 1,000 of the principal's own live sessions, newest first.
func (s *Sessions) List(ctx context.Context, p Principal) ([]Session, error) {
	var list []Session
	err := s.db.View(ctx, func(tx *store.Tx) error {
		sessions, err := tx.Sessions.OfUser(ctx, p.OrgUID, p.UserUID, s.now())
		for _, one := range sessions {
			list = append(list, Session{UID: one.UID, UserUID: one.UserUID, Address: one.Address, CreatedAt: one.CreatedAt,
				LastUsedAt: one.UsedAt, ExpiresAt: earlier(one.IdleUntil, one.MaxUntil),
				Current: one.UID == p.SessionUID, Console: one.Console})
		}
		return err
	})
	return list, fault.Wrap("list sessions", err)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// End ends one of the principal's own sessions.
//
// Faults: NotFound for a session that is unknown, ended, or of another user; the responses are the same.
func (s *Sessions) End(ctx context.Context, p Principal, origin audit.Origin, uid string) error {
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		session, err := tx.Sessions.Get(ctx, uid)
		if err == nil && (session.UserUID != p.UserUID || session.OrgUID != p.OrgUID || checkSession(session, now) != "") {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		if _, err := tx.Sessions.End(ctx, uid, endedByUser, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, p.Succeeded(origin, audit.SessionEnd, uid, now))
	})
	return fault.Wrap("end a session", NotFoundAs(err, "Session not found."))
}

// EndOthers ends the principal's own sessions, except the one that it uses.
func (s *Sessions) EndOthers(ctx context.Context, p Principal, origin audit.Origin) error {
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		sessions, err := tx.Sessions.OfUser(ctx, p.OrgUID, p.UserUID, now)
		if err != nil {
			return err
		}
		for _, session := range sessions {
			if session.UID == p.SessionUID {
				continue
			}
			if err := tx.Audits.Append(ctx, p.Succeeded(origin, audit.SessionEnd, session.UID, now)); err != nil {
				return err
			}
		}
		return tx.Sessions.EndOfUser(ctx, p.OrgUID, p.UserUID, p.SessionUID, endedByUser, now) // of more sessions than are listed, too
	})
	return fault.Wrap("end sessions", err)
}

const maxRevoked = 100 // per call

// RevokeTokens ends the sessions of authorization and refresh tokens: the caller's own, or for an administrator those
// of anyone in the organization. It ends all of them, or none if one token is not valid.
//
// Faults: Invalid with fields tokens or tokens[i] for a token that was not issued by this service or that the caller
// may not revoke.
func (s *Sessions) RevokeTokens(ctx context.Context, p Principal, origin audit.Origin, tokens []secret.String) error {
	if len(tokens) == 0 || len(tokens) > maxRevoked {
		return fault.InvalidField("tokens", fmt.Sprintf("must have 1 to %d tokens", maxRevoked))
	}
	uids := make([]string, len(tokens))
	for i, token := range tokens {
		var err error
		if uids[i], err = s.sessionOfToken(ctx, token); err != nil {
			return fault.Wrap("revoke tokens", err)
		}
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		sessions, err := revocable(ctx, tx, p, uids)
		if err != nil {
			return err
		}
		for _, session := range sessions {
			if _, err := tx.Sessions.End(ctx, session.UID, endedByRevoke, now); err != nil {
				return err
			}
			record := p.Succeeded(origin, audit.TokensRevoke, session.UID, now)
			record.OrgUID = session.OrgUID // an operator has none
			if err := tx.Audits.Append(ctx, record); err != nil {
				return err
			}
		}
		return nil
	})
	return fault.Wrap("revoke tokens", err)
}

// revocable returns the sessions of the tokens, each once, or all problems of the tokens.
func revocable(ctx context.Context, tx *store.Tx, p Principal, uids []string) ([]store.Session, error) {
	var sessions []store.Session
	var problems []fault.Field
	for i, uid := range uids {
		session, err := tx.Sessions.Get(ctx, uid)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		own := session.UserUID == p.UserUID && session.OrgUID == p.OrgUID
		colleague := p.Can(access.RevokeAllTokens) && (session.OrgUID == p.OrgUID || p.Role == RoleOperator)
		if err != nil || !own && !colleague {
			problems = append(problems, fault.Field{Field: fmt.Sprintf("tokens[%d]", i), Problem: "is not a token that you may revoke"})
			continue
		}
		if !slices.ContainsFunc(sessions, func(other store.Session) bool { return other.UID == session.UID }) {
			sessions = append(sessions, session)
		}
	}
	if len(problems) > 0 {
		return nil, fault.InvalidFields(problems...)
	}
	return sessions, nil
}

// sessionOfToken returns the uid of the session of a token, which may be expired, and "" for an unknown token. It
// returns an error if the token cannot be verified now.
func (s *Sessions) sessionOfToken(ctx context.Context, token secret.String) (string, error) {
	uid, _, genuine, err := s.tokens.parseRefresh(ctx, token)
	if genuine || err != nil {
		return uid.String(), err
	}
	c, err := s.tokens.verifyWithReload(ctx, withoutScheme(token))
	if errors.Is(err, errPollFailed) {
		return "", err
	}
	if err != nil && !errors.Is(err, errExpiredToken) {
		return "", nil
	}
	return c.Session, nil
}

// NotFoundAs returns the NotFound fault with a message for store.ErrNotFound, and every other error unchanged.
func NotFoundAs(err error, message string) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.ResourceNotFound(message)
	}
	return err
}

// ExistsAs returns a Conflict fault for store.ErrExists, and every other error unchanged.
func ExistsAs(err error, code, message string) error {
	if errors.Is(err, store.ErrExists) {
		return &fault.Error{Kind: fault.Conflict, Code: code, Message: message}
	}
	return err
}
