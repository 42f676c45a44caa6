package directory

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/storage/invitations"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const (
	invitationPrefix = "rwi_" // of the keys of links
	invitationTime   = 3 * 24 * time.Hour
)

// Invitation is a link by which one user can set its password once.
type Invitation struct {
	Key        secret.String // of the link; only Invite returns it
	Email, Org string
	OrgUID     string
	ExpiresAt  time.Time
}

// Invitations has the operations on invitations.
type Invitations struct{ *Directory }

// Invite makes a key by which another user of the organization sets its password, within 72 hours and once. The former key of the user is
// of no use from then on, nor is the new one after the password was set in another way.
//
// Faults: Forbidden, also for the principal's own user; NotFound.
func (d Invitations) Invite(ctx context.Context, p auth.Principal, origin audit.Origin, named string) (Invitation, error) {
	key, hash := randomkey.New(invitationPrefix)
	var made Invitation
	a := attempt{origin: origin, principal: p, permission: access.SetPasswords, action: audit.UserInvite, object: named, notSelf: true}
	err := d.changeUserBy(ctx, a, func(tx *store.Tx, user store.User) error {
		org, err := tx.Orgs.Get(ctx, user.OrgUID)
		if err != nil {
			return err
		}
		now := d.now()
		if now.Before(user.PasswordChangedAt) { // by another replica, whose clock is ahead
			now = user.PasswordChangedAt
		}
		made = Invitation{Key: key, Email: user.Email, Org: org.Name, OrgUID: org.UID, ExpiresAt: now.Add(invitationTime)}
		return tx.Invitations.Put(ctx, invitations.Invitation{OrgUID: user.OrgUID, UserUID: user.UID, Hash: hash, CreatedAt: now,
			ExpiresAt: made.ExpiresAt})
	})
	return made, err
}

// Get returns whose password a key sets. It changes nothing, since mail servers follow links to look for malware.
//
// Faults: NotFound.
func (d Invitations) Get(ctx context.Context, key secret.String) (Invitation, error) {
	i, err := store.Read(ctx, d.db, func(tx *store.Tx) (invited, error) { return d.invited(ctx, tx, key) })
	return Invitation{Email: i.user.Email, Org: i.org.Name, OrgUID: i.org.UID, ExpiresAt: i.ExpiresAt}, err
}

// Accept sets the password of the user whom a key is for, and ends the sessions of that user. It is no login.
//
// Faults: NotFound; Invalid with field password; Unavailable when too many passwords are hashed at once.
func (d Invitations) Accept(ctx context.Context, origin audit.Origin, key, password secret.String) error {
	i, err := store.Read(ctx, d.db, func(tx *store.Tx) (invited, error) { return d.invited(ctx, tx, key) })
	if err != nil {
		return err
	}
	if problems := d.passwords.Problems("password", password, i.user.Email, i.org.Name); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	if err := passwordpolicy.Check(i.org.PasswordPolicy, "password", password); err != nil {
		return err
	}
	hash, err := d.passwords.Hash(ctx, i.org.UID, password)
	if err != nil {
		return err
	}
	return fault.Wrap("accept an invitation", d.db.InTx(ctx, func(tx *store.Tx) error {
		i, err := d.invited(ctx, tx, key) // it may have been used, or the user disabled
		if err != nil {
			return err
		}
		if err := tx.Invitations.Use(ctx, i.Hash); err != nil {
			return noInvitation(err)
		}
		now := d.now()
		if err := setPassword(ctx, tx, i.user, hash, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, audit.Record{UID: origin.RecordUID(), At: now, OrgUID: i.user.OrgUID, ActorUID: i.user.UID,
			ActorName: i.user.Email, Method: audit.MethodLink, Action: audit.PasswordSet, Object: i.user.UID, Outcome: audit.Succeeded,
			Origin: origin})
	}))
}

// invited is an invitation with the user that it is for.
type invited struct {
	invitations.Invitation
	user store.User
	org  store.Org
}

// invited looks an invitation up. Of no use are those that have expired, of disabled users, and those that are older than the password.
func (d Invitations) invited(ctx context.Context, tx *store.Tx, key secret.String) (i invited, err error) {
	hash, valid := randomkey.Hash(invitationPrefix, key)
	if !valid {
		return i, noInvitation(store.ErrNotFound)
	}
	if i.Invitation, err = tx.Invitations.Get(ctx, hash); err != nil {
		return i, noInvitation(err)
	}
	if i.user, err = tx.Users.Get(ctx, i.OrgUID, i.UserUID); err != nil {
		return i, noInvitation(err)
	}
	if !d.now().Before(i.ExpiresAt) || !i.user.DisabledAt.IsZero() || i.user.PasswordChangedAt.After(i.CreatedAt) {
		return i, noInvitation(store.ErrNotFound)
	}
	i.org, err = tx.Orgs.Get(ctx, i.OrgUID)
	return i, noInvitation(err)
}

func noInvitation(err error) error {
	return auth.NotFoundAs(err, "This link is not valid, was used, or has expired. Ask an administrator of the organization for "+
		"another one.")
}
