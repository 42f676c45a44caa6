package store

import (
	"context"
	"time"
)

// Changes of what a user signs in with. Each is told to every process (Changes.Note).

const (
	sqlDisableUser    = `UPDATE users SET disabled_at = $3 WHERE org_uid = $1 AND uid = $2 AND disabled_at IS NULL`
	sqlEnableUser     = `UPDATE users SET disabled_at = NULL WHERE org_uid = $1 AND uid = $2 AND disabled_at IS NOT NULL`
	sqlSetPassword    = `UPDATE users SET password_hash = $3, password_changed_at = $4 WHERE org_uid = $1 AND uid = $2`
	sqlChangePassword = `UPDATE users SET password_hash = $4, password_changed_at = $5
		WHERE org_uid = $1 AND uid = $2 AND password_hash = $3 AND disabled_at IS NULL`
)

// Disable keeps a user from signing in and ends its sessions. One that is disabled, or is not there, is
// ErrNotFound.
func (tx Users) Disable(ctx context.Context, orgUID, uid string, at time.Time) error {
	if err := tx.changeOne(ctx, sqlDisableUser, orgUID, uid, millis(at)); err != nil {
		return err
	}
	if err := tx.note(ctx, uid); err != nil { // its API keys too, session or not
		return err
	}
	return Sessions(tx).EndOfUser(ctx, orgUID, uid, "", "disabled", at)
}

// Enable lets a disabled user sign in again. One that is enabled, or is not there, is ErrNotFound.
func (tx Users) Enable(ctx context.Context, orgUID, uid string) error {
	if err := tx.changeOne(ctx, sqlEnableUser, orgUID, uid); err != nil {
		return err
	}
	return tx.note(ctx, uid)
}

// SetPassword gives a user another password, whatever the old one was.
func (tx Users) SetPassword(ctx context.Context, orgUID, uid, hash string, at time.Time) error {
	return tx.changeOne(ctx, sqlSetPassword, orgUID, uid, hash, millis(at))
}

// ChangePassword gives a user another password in the place of the one whose hash was verified. It is
// ErrNotFound when that is not the password any more, or the user is disabled.
func (tx Users) ChangePassword(ctx context.Context, orgUID, uid, verifiedHash, hash string, at time.Time) error {
	return tx.changeOne(ctx, sqlChangePassword, orgUID, uid, verifiedHash, hash, millis(at))
}
