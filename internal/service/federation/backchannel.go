package federation

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/trusts"
	"github.com/regwarden/regwarden/secret"
)

// logoutEvent is the member of the claim events by which a token is a logout token.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// BackChannelLogout ends the sessions that a logout token of the provider of an organization names (OpenID Connect Back-Channel Logout
// 1.0). A token counts once.
//
// Faults: Invalid with field logout_token; Limited; Unavailable when the keys of the provider cannot be read.
func (s *SSO) BackChannelLogout(ctx context.Context, origin audit.Origin, orgUID string, token secret.String) error {
	if err := s.service.reserve(origin); err != nil {
		return err
	}
	stored, err := store.Read(ctx, s.service.db, func(tx *store.Tx) (identities.Provider, error) {
		return tx.Identities.Provider(ctx, orgUID)
	})
	if errors.Is(err, store.ErrNotFound) {
		return logoutRefused()
	}
	if err != nil {
		return fault.Wrap("look up an identity provider", err)
	}
	sent, err := parseClaims(token)
	if err != nil || !s.isLogout(stored, sent) {
		return logoutRefused()
	}
	rule := trusts.Rule{Issuer: stored.Issuer, Audience: stored.Settings.ClientID, CA: stored.Settings.CA}
	reason, err := s.service.check(ctx, rule, sent)
	if err != nil {
		return s.unavailable(ctx, stored, err)
	}
	if reason != "" {
		return logoutRefused()
	}
	return s.endNamed(ctx, origin, stored, sent)
}

// logoutKinds are the types of logout tokens: that of the standard, and what older providers send.
var logoutKinds = []string{"logout+jwt", "application/logout+jwt", "jwt", ""}

// isLogout reports whether a token is a logout token of a provider by its type and claims. It has no nonce, so that no ID token is one, and
// the other way round.
func (s *SSO) isLogout(p identities.Provider, sent presented) bool {
	events, _ := sent.claims["events"].(map[string]any)
	_, event := events[logoutEvent].(map[string]any)
	_, nonce := sent.claims["nonce"]
	_, issued := sent.claims["iat"].(float64)
	if !slices.Contains(logoutKinds, strings.ToLower(sent.kind)) {
		return false
	}
	return event && !nonce && issued && sent.id != "" && (sent.subject != "" || sid(sent) != "") && sent.issuer == p.Issuer &&
		sent.valid(s.service.config.Now())
}

func sid(p presented) string {
	sid, _ := p.claims["sid"].(string)
	return sid
}

// endNamed ends the sessions that a verified token names, unless it was used before.
func (s *SSO) endNamed(ctx context.Context, origin audit.Origin, p identities.Provider, sent presented) error {
	hash := sha256.Sum256([]byte(sent.issuer + "\x00" + sent.id))
	used := false
	err := s.service.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.service.config.Now()
		first, err := tx.Identities.UseOnce(ctx, p.OrgUID, hash[:], now, sent.expires.Add(clockSkew))
		if used = !first; err != nil || used {
			return err
		}
		sessions, err := tx.Identities.SessionsAt(ctx, p.OrgUID, p.Issuer, sent.subject, sid(sent), now)
		var user store.User
		for i := 0; i < len(sessions) && err == nil; i++ {
			if sessions[i].UserUID != user.UID {
				user, err = lockUser(ctx, tx, p.OrgUID, sessions[i].UserUID)
			}
			if err == nil {
				err = s.endSession(ctx, tx, origin, user, sessions[i].UID, sent.subject)
			}
		}
		return err
	})
	if err == nil && used {
		return logoutRefused()
	}
	return fault.Wrap("end sessions", err)
}

// logoutRefused is the response to every token that is not accepted: it says no more than that.
func logoutRefused() error {
	return fault.InvalidField("logout_token", "is not a logout token of the identity provider, or was used before")
}
