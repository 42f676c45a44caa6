package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// Refresh spends a refresh token and returns new tokens of its session. Within the grace the same token
// gives the same refresh token again; spent otherwise, it ends the session.
//
// With Config.RefreshAcceptsAuthorization it also takes a live authorization token, once, and answers with
// another of the same session alone.
//
// Faults: Unauthenticated with code InvalidRefreshToken and a reason; Unavailable when the store is away,
// after which the same token may be sent again.
//
// A token that the service did not make is refused without a record: it names no session or user, costs
// its sender nothing, and a database write each would hand everyone on the network a way to fill the
// disk. The access log has it. Every token that we made leaves a record, whatever becomes of it.
func (s *Service) Refresh(ctx context.Context, origin audit.Origin, token secret.String) (Tokens, error) {
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

func (s *Service) refresh(ctx context.Context, origin audit.Origin, token secret.String) (Tokens, error) {
	uid, generation, genuine, err := s.parseRefresh(ctx, token)
	if err != nil {
		return Tokens{}, err
	}
	if !genuine {
		return Tokens{}, refreshRefused(ReasonMalformed)
	}
	var session store.Session
	var decided verdict
	err = s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		now := s.now()
		if session, decided, err = s.spend(ctx, tx, uid.String(), generation, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, refreshEvent(origin, session, uid.String(), audit.MethodRefreshToken, decided, now))
	})
	if err != nil {
		return Tokens{}, fault.Wrap("spend a refresh token", err)
	}
	// Only now: the end of a session must be kept although the request fails.
	if decided.refuses() {
		return Tokens{}, refreshRefused(string(decided))
	}
	return s.answer(session)
}

// spend moves a session on by one conditional update, which holds what judgeRefresh asks for, and returns the session as
// it is afterwards. Whoever it refuses reads the row and is judged by it. A row that changed in between, so that
// it could be advanced now, is tried again.
func (s *Service) spend(ctx context.Context, tx *store.Tx, uid string, generation int64, now time.Time) (store.Session, verdict, error) {
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
		decided := judgeRefresh(session, generation, now, s.config.RefreshGrace)
		if decided.endsSession() {
			_, err = tx.Sessions.End(ctx, uid, string(decided), now)
		}
		if decided != advance {
			return session, decided, err
		}
	}
	return store.Session{}, "", errors.New("a session neither advances nor says why")
}

// exchange answers an authorization token with another one of the same session.
func (s *Service) exchange(ctx context.Context, origin audit.Origin, token secret.String) (Tokens, error) {
	c, err := s.verifyAnew(ctx, token)
	if errors.Is(err, errNotHeard) {
		return Tokens{}, err
	}
	now := s.now()
	expired := errors.Is(err, errExpiredToken)
	if tooOld := expired && !now.Before(c.expiresAt().Add(s.config.RefreshGrace)); tooOld {
		return Tokens{}, refreshRefused(ReasonExpired)
	}
	if err != nil && !expired {
		return Tokens{}, refreshRefused(ReasonMalformed)
	}
	var session store.Session
	var spent store.SpentJTI
	var decided verdict
	err = s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		session, spent, decided, err = s.spendJTI(ctx, tx, c, expired, now)
		if err != nil {
			return fmt.Errorf("exchange an authorization token: %w", err)
		}
		return tx.Audits.Append(ctx, refreshEvent(origin, session, c.Session, audit.MethodToken, decided, now))
	})
	if err != nil {
		return Tokens{}, err
	}
	if decided.refuses() {
		return Tokens{}, refreshRefused(string(decided))
	}
	return s.exchanged(session, spent)
}

// spendJTI records the exchange of a token, or finds the one that is on record. An expired token (by less
// than the grace) only gets the answer that it already had.
func (s *Service) spendJTI(ctx context.Context, tx *store.Tx, c claims, expired bool, now time.Time) (store.Session, store.SpentJTI, verdict, error) {
	none := store.SpentJTI{}
	session, err := tx.Sessions.Get(ctx, c.Session)
	if errors.Is(err, store.ErrNotFound) {
		return store.Session{}, none, ReasonUnknown, nil
	}
	if err != nil {
		return store.Session{}, none, "", err
	}
	if refused := judgeSession(session, now); refused != "" {
		return session, none, refused, nil
	}
	first := store.SpentJTI{JTI: c.ID, SessionUID: c.Session, SpentAt: now, NextJTI: uuid.NewString(), NextKID: s.keySet().signing.kid, ExpiresAt: c.expiresAt()}
	if !expired {
		isFirst, err := tx.Sessions.SpendJTI(ctx, first)
		if err != nil {
			return session, none, "", err
		}
		if isFirst {
			live, err := tx.Sessions.Use(ctx, c.Session, now, now.Add(s.config.SessionIdle))
			return session, first, ifLive(live), err
		}
	}
	spent, err := tx.Sessions.SpentJTI(ctx, c.ID)
	if errors.Is(err, store.ErrNotFound) {
		return session, none, ReasonExpired, nil
	}
	if err != nil {
		return session, none, "", err
	}
	_, err = tx.Sessions.SpentJTI(ctx, spent.NextJTI)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return session, none, "", err
	}
	return session, spent, judgeExchange(spent, err == nil, now, s.config.RefreshGrace), nil
}

// ifLive is the verdict on a first exchange, whose session may have been ended by another transaction
// after it was read.
func ifLive(live bool) verdict {
	if live {
		return advance
	}
	return ReasonRevoked
}

// exchanged makes the answer to an exchange from its record alone, so that a retry gets the same one.
func (s *Service) exchanged(session store.Session, spent store.SpentJTI) (Tokens, error) {
	key := s.keySet().verify[spent.NextKID]
	if key == nil {
		return Tokens{}, refreshRefused(ReasonSpent) // its key was rotated away meanwhile
	}
	token, expires, err := s.sign(key, session, spent.NextJTI, spent.SpentAt)
	return Tokens{Authorization: token, ExpiresAt: expires}, err
}

// refreshEvent is the record of a refresh. A session that is not in the store has no user to name.
func refreshEvent(origin audit.Origin, session store.Session, uid string, method audit.AuthMethod, decided verdict, now time.Time) audit.Event {
	event := audit.Event{UID: audit.NewUID(), At: now, OrgUID: session.OrgUID, ActorUID: session.UserUID, ActorName: session.Email,
		Method: method, Action: audit.Refresh, Object: uid, Outcome: audit.Succeeded, Origin: origin}
	switch {
	case decided == retry:
		event.Reason = reasonRetried
	case decided.refuses():
		event.Outcome, event.Reason = audit.Refused, string(decided)
	}
	return event
}
