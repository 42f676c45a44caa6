package auth

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// renew hashes the new password of a login with the right one. A new password that cannot be set is no error: the login is refused and
// recorded with the others, so that a disabled user gets the same response as with any password.
func (a *attempt) renew(ctx context.Context, matches bool, next secret.String) (err error) {
	if !matches || next == "" {
		return nil
	}
	if a.nextRefused = passwordpolicy.Check(a.org.PasswordPolicy, "newPassword", next); !a.user.DisabledAt.IsZero() {
		a.nextRefused = loginRefused()
	}
	if a.nextRefused == nil {
		a.nextHash, err = a.l.passwords.hashFor(ctx, a.hashCaller(), next)
	}
	return err
}

// noteRenewal stores when a login set another password, whose hash is stored already.
func (a *attempt) noteRenewal(ctx context.Context, tx *store.Tx, now time.Time) error {
	if a.nextHash == "" {
		return nil
	}
	user := a.user
	user.PasswordHash = a.nextHash
	return Renew(ctx, tx, a.origin, user, a.nextHash, now)
}

// Renew stores the hash of the password that a login sets in place of that of the user, and ends the sessions of the user.
func Renew(ctx context.Context, tx *store.Tx, origin audit.Origin, user store.User, hash string, now time.Time) error {
	if err := tx.Users.ChangePassword(ctx, user.OrgUID, user.UID, user.PasswordHash, hash, now); err != nil {
		return err
	}
	if err := tx.Sessions.EndOfUser(ctx, user.OrgUID, user.UID, "", EndedByPassword, now); err != nil {
		return err
	}
	return tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: now, OrgUID: user.OrgUID, ActorUID: user.UID,
		ActorName: user.Email, Method: audit.MethodPassword, Action: audit.PasswordChange, Object: user.UID, Outcome: audit.Succeeded,
		Origin: origin})
}
