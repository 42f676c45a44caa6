// Package invitations stores the links by which users set their password.
package invitations

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Invitation is the link of one user. The link itself is not stored.
type Invitation struct {
	OrgUID, UserUID      string
	Hash                 []byte // of the link's key
	CreatedAt, ExpiresAt time.Time
}

const (
	sqlPut = `INSERT INTO invitations (user_uid, org_uid, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (org_uid, user_uid) DO UPDATE
		SET hash = excluded.hash, created_at = excluded.created_at, expires_at = excluded.expires_at`
	sqlGet    = `SELECT user_uid, org_uid, hash, created_at, expires_at FROM invitations WHERE hash = $1`
	sqlDelete = `DELETE FROM invitations WHERE hash = $1`
)

func scan(row rows.Scanner, i *Invitation) error {
	return row.Scan(&i.UserUID, &i.OrgUID, &i.Hash, rows.Moment(&i.CreatedAt), rows.Moment(&i.ExpiresAt))
}

// Invitations reads and changes invitations. One is deleted with its user.
type Invitations struct{ db *rows.Conn }

// In returns the invitations of one transaction.
func In(db *rows.Conn) Invitations { return Invitations{db} }

// Put stores the invitation of a user in place of its former one.
func (tx Invitations) Put(ctx context.Context, i Invitation) error {
	return tx.db.ChangeOne(ctx, sqlPut, i.UserUID, i.OrgUID, i.Hash, rows.Millis(i.CreatedAt), rows.Millis(i.ExpiresAt))
}

// Get looks an invitation up by its hash.
func (tx Invitations) Get(ctx context.Context, hash []byte) (Invitation, error) {
	return rows.One(ctx, tx.db, scan, sqlGet, hash)
}

// Use deletes an invitation. It returns sqldb.ErrNotFound if it does not exist, as for the second of two concurrent uses.
func (tx Invitations) Use(ctx context.Context, hash []byte) error {
	return tx.db.ChangeOne(ctx, sqlDelete, hash)
}
