package federation

import (
	"context"
	"errors"
	"time"

	"golang.org/x/oauth2"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const (
	// recheckPause is when a provider that does not respond is asked again. Until then sessions are renewed as before.
	recheckPause = 5 * time.Minute

	// endedByProvider is the reason for sessions that end because the provider does not vouch for their user any more.
	endedByProvider = "endedByProvider"
)

// Recheck asks the provider of a session about its user: it ends all sessions of the person, or moves the time of the next check. It
// implements the check of auth.Service.AskProvider.
func (s *SSO) Recheck(ctx context.Context, session string) error {
	identity, stored, claimed, err := s.claim(ctx, session)
	if err != nil || !claimed {
		return fault.Wrap("ask an identity provider", err)
	}
	// The provider may consume the refresh token although the client has left.
	token, claims, gone, err := s.ask(context.WithoutCancel(ctx), identity, stored)
	next := s.recheck
	switch {
	case gone:
		return fault.Wrap("end sessions", s.endSessions(ctx, audit.Origin{}, identity))
	case err != nil:
		if s.service.config.Log != nil {
			s.service.config.Log.Warn("identity provider not available", "org", stored.OrgUID, "issuer", stored.Issuer, "error", err)
		}
		if token == nil {
			return nil
		}
		next = recheckPause // the ID token could not be verified, but the new refresh token replaces the former one
	}
	err = s.service.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error { // the former refresh token may be consumed
		if err := tx.Users.Lock(ctx, identity.OrgUID, identity.UserUID); err != nil {
			return err
		}
		if hasGroups(stored.Settings, claims) {
			user, err := tx.Users.Get(ctx, identity.OrgUID, identity.UserUID)
			if err == nil {
				err = s.setTeams(ctx, tx, audit.Origin{}, stored, user, claims)
			}
			if err != nil {
				return err
			}
		}
		return tx.Identities.Verified(ctx, identity.UID, secret.String(token.RefreshToken), s.service.config.Now().Add(next))
	})
	return fault.Wrap("store what an identity provider returned", err)
}

// hasGroups reports whether a new ID token says in which groups its person is. Groups of the userinfo endpoint change with the next login.
func hasGroups(s identities.Settings, claims map[string]any) bool {
	_, given := claims[s.Claims[identities.ClaimGroups]]
	return given && s.UserInfo[identities.ClaimGroups] == ""
}

// claim makes this call the one of several that asks the provider. A session whose identity was removed ends.
func (s *SSO) claim(ctx context.Context, session string) (
	identity identities.Identity, stored identities.Provider, claimed bool, err error) {
	err = s.service.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.service.config.Now()
		if identity, err = tx.Identities.OfSession(ctx, session); errors.Is(err, store.ErrNotFound) {
			return s.endWithoutIdentity(ctx, tx, session)
		}
		if err == nil {
			err = tx.Users.Lock(ctx, identity.OrgUID, identity.UserUID)
		}
		if err == nil {
			claimed, err = tx.Identities.Claim(ctx, identity.UID, now, now.Add(recheckPause))
		}
		if err == nil {
			stored, err = tx.Identities.Provider(ctx, identity.OrgUID)
		}
		if errors.Is(err, store.ErrNotFound) {
			err = nil // ask finds that it is gone
		}
		return err
	})
	return identity, stored, claimed, err
}

// ask reports whether the provider vouches for a person no longer, or was replaced. The claims are those of a new ID token, if there is
// one. The error means that this cannot be known now.
func (s *SSO) ask(ctx context.Context, identity identities.Identity, stored identities.Provider) (
	token *oauth2.Token, claims map[string]any, gone bool, err error) {
	if stored.Issuer != identity.Issuer || stored.Settings.Disabled || identity.Refresh == "" {
		return nil, nil, true, nil
	}
	p, err := s.provider(ctx, stored)
	if err == nil {
		token, err = p.refresh(ctx, identity.Refresh)
	}
	if err != nil {
		return nil, nil, errors.Is(err, errGone), err
	}
	if token.Extra("id_token") == nil {
		return token, nil, false, nil
	}
	claimed, reason, err := s.verify(ctx, p, token)
	if err != nil {
		return token, nil, false, err
	}
	return token, claimed.claims, reason != "" || claimed.subject != identity.Subject, nil
}

// endSessions ends the live sessions of a person.
func (s *SSO) endSessions(ctx context.Context, origin audit.Origin, identity identities.Identity) error {
	return s.service.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		user, err := lockUser(ctx, tx, identity.OrgUID, identity.UserUID)
		if err != nil {
			return err
		}
		sessions, err := tx.Identities.Live(ctx, identity.UID, s.service.config.Now())
		for i := 0; i < len(sessions) && err == nil; i++ {
			err = s.endSession(ctx, tx, origin, user, sessions[i], identity.Subject)
		}
		return err
	})
}

// endWithoutIdentity ends a session whose identity was removed.
func (s *SSO) endWithoutIdentity(ctx context.Context, tx *store.Tx, session string) error {
	found, err := tx.Sessions.Get(ctx, session)
	var user store.User
	if err == nil {
		user, err = lockUser(ctx, tx, found.OrgUID, found.UserUID)
	}
	if errors.Is(err, store.ErrNotFound) { // the user was deleted concurrently, and so was the session
		return nil
	}
	if err != nil {
		return err
	}
	return s.endSession(ctx, tx, audit.Origin{}, user, session, "")
}

// lockUser locks and returns a user, as it must be before its sessions end.
func lockUser(ctx context.Context, tx *store.Tx, orgUID, uid string) (store.User, error) {
	if err := tx.Users.Lock(ctx, orgUID, uid); err != nil {
		return store.User{}, err
	}
	return tx.Users.Get(ctx, orgUID, uid)
}

// endSession ends a session of a user whom the caller has locked, and records that.
func (s *SSO) endSession(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, session, subject string) error {
	now := s.service.config.Now()
	ended, err := tx.Sessions.End(ctx, session, endedByProvider, now)
	if err != nil || !ended {
		return err
	}
	return tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: now, OrgUID: user.OrgUID, ActorUID: user.UID,
		ActorName: user.Email, Method: audit.MethodOIDC, Action: audit.SessionEnd, Object: session, Target: subject,
		Outcome: audit.Succeeded, Reason: endedByProvider, Origin: origin})
}
