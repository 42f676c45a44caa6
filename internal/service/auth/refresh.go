package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Refresh consumes a refresh token and returns new tokens of its session. Within the grace period, the same token
// returns the same refresh token again; a later reuse ends the session.
//
// With Config.RefreshAcceptsAuthorization it also accepts a live authorization token, once, and returns only another
// one of the same session.
//
// Faults: Unauthenticated with code InvalidRefreshToken and a reason; Unavailable when the store does not respond,
// after which the same token may be sent again.
//
// A token that the service did not issue is refused without an audit record: it identifies no session or user, and
// anyone on the network could fill the disk with records. It is in the access log. Every issued token leaves a record.
func (s *Sessions) Refresh(ctx context.Context, origin audit.Origin, token secret.String) (Tokens, error) {
	if strings.HasPrefix(token.Reveal(), refreshPrefix) {
		return s.refresh(ctx, origin, token)
	}
	if strings.Count(token.Reveal(), ".") != 2 {
		return Tokens{}, refreshRefused(ReasonMalformed)
	}
	if !s.config.RefreshAcceptsAuthorization {
		return Tokens{}, refreshRefused(ReasonNotAccepted)
	}
	return s.exchange(ctx, origin, token)
}

func (s *Sessions) refresh(ctx context.Context, origin audit.Origin, token secret.String) (Tokens, error) {
	id, generation, genuine, err := s.tokens.parseRefresh(ctx, token)
	if err != nil {
		return Tokens{}, err
	}
	if !genuine {
		return Tokens{}, refreshRefused(ReasonMalformed)
	}
	uid, at := id.String(), s.history.Position()
	session, err := s.advanceCounting(ctx, origin, uid, generation)
	if err == nil {
		return s.tokens.issue(session, at)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return Tokens{}, fault.Wrap("renew a session", err)
	}
	session, err = s.renew(ctx, origin, uid, audit.MethodRefreshToken,
		func(tx *store.Tx, now time.Time) (store.Session, refreshDecision, error) {
			return s.consume(ctx, tx, uid, generation, now)
		})
	if err != nil {
		return Tokens{}, err
	}
	return s.tokens.issue(session, at)
}

// advanceCounting advances a session by one statement if its newest refresh was in the same hour and from the same source, so that they
// share an audit record, or without records. store.ErrNotFound: renew has to decide, or to record.
func (s *Sessions) advanceCounting(ctx context.Context, origin audit.Origin, uid string, generation int64) (
	session store.Session, err error) {
	now, record := s.now(), ""
	if !s.config.OmitRefreshRecords {
		record = audit.SharedUID(audit.Record{At: now, Method: audit.MethodRefreshToken, Action: audit.Refresh,
			Object: uid, Outcome: audit.Succeeded, Origin: origin})
	}
	err = s.db.Autocommit(ctx, func(tx *store.Tx) (err error) {
		session, err = tx.Sessions.AdvanceAlone(ctx, uid, generation, now, now.Add(s.config.SessionIdle), record)
		return err
	})
	return session, err
}

// renew makes a decision about a session, if need be after its identity provider was asked about the user.
func (s *Sessions) renew(ctx context.Context, origin audit.Origin, uid string, method audit.AuthMethod,
	decide func(*store.Tx, time.Time) (store.Session, refreshDecision, error)) (store.Session, error) {
	session, err := s.renewOnce(ctx, origin, uid, method, decide)
	if errors.Is(err, errRecheck) {
		if err = s.identities.recheck(ctx, uid); err == nil {
			session, err = s.renewOnce(ctx, origin, uid, method, decide)
		}
	}
	return session, fault.Wrap("renew a session", err)
}

var errRecheck = errors.New("the identity provider must be asked first")

// renewOnce makes a decision about a session and its audit record in one transaction. A refusal becomes a fault after the
// commit, since the end of a session must be stored although the request fails. A session that is not in the store has
// no user to name.
func (s *Sessions) renewOnce(ctx context.Context, origin audit.Origin, uid string, method audit.AuthMethod,
	decide func(*store.Tx, time.Time) (store.Session, refreshDecision, error)) (store.Session, error) {
	var session store.Session
	var decision refreshDecision
	err := s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		now := s.now()
		if session, decision, err = decide(tx, now); err == nil && decision == recheck {
			err = errRecheck
		}
		if err != nil {
			return err
		}
		record := audit.Record{UID: audit.NewUID(), At: now, OrgUID: session.OrgUID, ActorUID: session.UserUID, ActorName: session.Email,
			Method: method, Action: audit.Refresh, Object: uid, Outcome: audit.Succeeded, Origin: origin}
		switch {
		case decision == retry:
			record.Reason = reasonRetried
		case decision.refuses():
			record.Outcome, record.Reason = audit.Refused, string(decision)
		default:
			return s.recordRefresh(ctx, tx, session, record)
		}
		return tx.Audits.Append(ctx, record)
	})
	if err == nil && decision.refuses() {
		return session, refreshRefused(string(decision))
	}
	return session, err
}

// recordRefresh records the refresh of a session, whose row the transaction has changed: refreshes of an hour share a record.
func (s *Sessions) recordRefresh(ctx context.Context, tx *store.Tx, session store.Session, record audit.Record) error {
	if s.config.OmitRefreshRecords {
		return nil
	}
	uid := audit.SharedUID(record)
	if uid == session.RefreshUID {
		return tx.Sessions.CountRefresh(ctx, session.UID)
	}
	return errors.Join(tx.Audits.AddRepeats(ctx, session.RefreshUID, session.Refreshes), tx.Sessions.BeginRefreshes(ctx, session.UID, uid),
		tx.Audits.Append(ctx, record))
}

// consume advances a session by one conditional update, which has the conditions of decideRefresh, and returns the
// updated session. If the update changes no row, the row is read and decides. If the row changed in between so that it
// can be advanced, the update is repeated.
func (s *Sessions) consume(ctx context.Context, tx *store.Tx, uid string, generation int64, now time.Time) (
	store.Session, refreshDecision, error) {
	for range 3 {
		session, err := tx.Sessions.Advance(ctx, uid, generation, now, now.Add(s.config.SessionIdle))
		if !errors.Is(err, store.ErrNotFound) {
			return session, advance, err
		}
		session, err = tx.Sessions.Get(ctx, uid)
		if errors.Is(err, store.ErrNotFound) {
			return store.Session{}, ReasonUnknown, nil
		}
		if err != nil {
			return store.Session{}, "", err
		}
		decision := decideRefresh(session, generation, now, s.config.RefreshGrace)
		if decision.endsSession() {
			_, err = tx.Sessions.End(ctx, uid, string(decision), now)
		}
		if decision != advance {
			return session, decision, err
		}
	}
	return store.Session{}, "", errors.New("the session changed during every attempt to advance it")
}

// exchange returns another authorization token of the same session for an authorization token.
func (s *Sessions) exchange(ctx context.Context, origin audit.Origin, token secret.String) (Tokens, error) {
	c, err := s.tokens.verifyWithReload(ctx, token)
	if errors.Is(err, errPollFailed) {
		return Tokens{}, err
	}
	expired := errors.Is(err, errExpiredToken)
	if tooOld := expired && !s.now().Before(c.expiresAt().Add(s.config.RefreshGrace)); tooOld {
		return Tokens{}, refreshRefused(ReasonExpired)
	}
	if err != nil && !expired {
		return Tokens{}, refreshRefused(ReasonMalformed)
	}
	var consumed store.ConsumedJTI
	session, err := s.renew(ctx, origin, c.Session, audit.MethodToken,
		func(tx *store.Tx, now time.Time) (store.Session, refreshDecision, error) {
			return s.consumeJTI(ctx, tx, c, expired, now, &consumed)
		})
	if err != nil {
		return Tokens{}, err
	}
	return s.exchanged(session, consumed)
}

// consumeJTI records the exchange of a token, or finds the recorded one, and sets consumed to it. A token that expired within the grace
// period only returns what it returned before.
func (s *Sessions) consumeJTI(ctx context.Context, tx *store.Tx, c claims, expired bool, now time.Time, consumed *store.ConsumedJTI) (
	store.Session, refreshDecision, error) {
	session, decision, err := decideSession(ctx, tx, c.Session, now)
	if err != nil || decision != advance {
		return session, decision, err
	}
	if !expired {
		*consumed = store.ConsumedJTI{JTI: c.ID, SessionUID: c.Session, ConsumedAt: now, NextJTI: uuid.NewString(),
			NextKID: s.keys.keySet().signing.kid, ExpiresAt: c.expiresAt()}
		isFirst, err := tx.Sessions.ConsumeJTI(ctx, *consumed)
		if err != nil {
			return session, "", err
		}
		if isFirst {
			return s.prolong(ctx, tx, session, now)
		}
	}
	*consumed, decision, err = s.decideRepeated(ctx, tx, c.ID, now)
	return session, decision, err
}

// decideSession reads a session, and decides whether it accepts tokens at all.
func decideSession(ctx context.Context, tx *store.Tx, uid string, now time.Time) (store.Session, refreshDecision, error) {
	session, err := tx.Sessions.Get(ctx, uid)
	if errors.Is(err, store.ErrNotFound) {
		return store.Session{}, ReasonUnknown, nil
	}
	if err != nil {
		return store.Session{}, "", err
	}
	if refused := checkSession(session, now); refused != "" {
		return session, refused, nil
	}
	if needsRecheck(session, now) {
		return session, recheck, nil
	}
	return session, advance, nil
}

// prolong moves the end of a session of which a token is exchanged for the first time.
func (s *Sessions) prolong(ctx context.Context, tx *store.Tx, session store.Session, now time.Time) (
	store.Session, refreshDecision, error) {
	live, err := tx.Sessions.Use(ctx, session.UID, now, now.Add(s.config.SessionIdle))
	if err != nil || !live { // a concurrent transaction has ended it
		return session, ReasonRevoked, err
	}
	session, err = tx.Sessions.Get(ctx, session.UID) // as it is in the locked row
	return session, advance, err
}

// decideRepeated decides about a token by what is recorded of its exchange.
func (s *Sessions) decideRepeated(ctx context.Context, tx *store.Tx, jti string, now time.Time) (
	store.ConsumedJTI, refreshDecision, error) {
	consumed, err := tx.Sessions.ConsumedJTI(ctx, jti)
	if errors.Is(err, store.ErrNotFound) {
		return consumed, ReasonExpired, nil
	}
	if err != nil {
		return consumed, "", err
	}
	_, err = tx.Sessions.ConsumedJTI(ctx, consumed.NextJTI)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return consumed, "", err
	}
	return consumed, decideExchange(consumed, err == nil, now, s.config.RefreshGrace), nil
}

// exchanged returns the tokens of an exchange from its record alone, so that a legitimate retry gets the same ones, also from a server that
// knows other changes or is of another version. So the token has no data of its user, and is looked up.
func (s *Sessions) exchanged(session store.Session, consumed store.ConsumedJTI) (Tokens, error) {
	key := s.keys.keySet().verify[consumed.NextKID]
	if key == nil {
		return Tokens{}, refreshRefused(ReasonConsumed) // its key was rotated since
	}
	token, expires, err := s.tokens.sign(key, session, consumed.NextJTI, consumed.ConsumedAt, 0)
	return Tokens{Authorization: token, ExpiresAt: expires}, err
}
