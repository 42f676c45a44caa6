package auth

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// renew returns the hash of the new password of a login with the right one, or that of verify.
func (a *attempt) renew(ctx context.Context, matches bool, newHash string, next secret.String) (string, error) {
	if !matches || next == "" {
		return newHash, nil
	}
	if err := passwordpolicy.Check(a.org.PasswordPolicy, "newPassword", next); err != nil {
		return "", err
	}
	a.renewed = true
	return a.l.passwords.hashFor(ctx, a.hashCaller(), next)
}

// noteRenewal stores when a login set another password, whose hash is stored already, and ends the other sessions.
func (a *attempt) noteRenewal(ctx context.Context, tx *store.Tx, hash string, now time.Time) error {
	if !a.renewed {
		return nil
	}
	if err := tx.Users.ChangePassword(ctx, a.org.UID, a.user.UID, hash, hash, now); err != nil {
		return err
	}
	if err := tx.Sessions.EndOfUser(ctx, a.org.UID, a.user.UID, "", EndedByPassword, now); err != nil {
		return err
	}
	return tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: now, OrgUID: a.org.UID, ActorUID: a.user.UID,
		ActorName: a.user.Email, Method: audit.MethodPassword, Action: audit.PasswordChange, Object: a.user.UID, Outcome: audit.Succeeded,
		Origin: a.origin})
}
