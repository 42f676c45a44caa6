package store

import (
	"context"
	"errors"
	"time"
)

// Org is an organization. Canonical is the one spelling under which it is looked up.
type Org struct {
	UID, Name, Canonical string
	CreatedAt            time.Time
}

const (
	sqlInsertOrg  = `INSERT INTO orgs (uid, name, canonical, created_at) VALUES ($1, $2, $3, $4)`
	sqlOrgByName  = `SELECT uid, name, canonical, created_at FROM orgs WHERE canonical = $1`
	sqlOrgByUID   = `SELECT uid, name, canonical, created_at FROM orgs WHERE uid = $1`
	sqlOrgs       = `SELECT uid, name, canonical, created_at FROM orgs ORDER BY canonical`
	sqlLockKeyset = `UPDATE data_keyset SET id = id WHERE id = 1`
	sqlLockOrg    = `UPDATE orgs SET name = name WHERE uid = $1`
	sqlAnyOrg     = `SELECT uid, name, canonical, created_at FROM orgs LIMIT 1`
)

func scanOrg(row scanner, o *Org) error {
	return row.Scan(&o.UID, &o.Name, &o.Canonical, moment{&o.CreatedAt})
}

// InsertOrg adds an organization. Its canonical name being taken is ErrExists.
func (tx *Tx) InsertOrg(ctx context.Context, o Org) error {
	return tx.changeOne(ctx, sqlInsertOrg, o.UID, o.Name, o.Canonical, millis(o.CreatedAt))
}

// OrgByName looks an organization up by its canonical name.
func (tx *Tx) OrgByName(ctx context.Context, canonical string) (Org, error) {
	return one(ctx, tx, scanOrg, sqlOrgByName, canonical)
}

// OrgByUID looks an organization up.
func (tx *Tx) OrgByUID(ctx context.Context, uid string) (Org, error) {
	return one(ctx, tx, scanOrg, sqlOrgByUID, uid)
}

// Orgs lists all organizations by name.
func (tx *Tx) Orgs(ctx context.Context) ([]Org, error) { return all(ctx, tx, scanOrg, sqlOrgs) }

// AnyOrg returns some organization, ErrNotFound when there is none yet.
func (tx *Tx) AnyOrg(ctx context.Context) (Org, error) { return one(ctx, tx, scanOrg, sqlAnyOrg) }

// FirstOrg is ErrExists when there is an organization, or else keeps others from asking until the transaction ends: of
// several that make a first organization at once, one does.
func (tx *Tx) FirstOrg(ctx context.Context) error {
	// Every opened store has the row. Its lock is what matters.
	if err := tx.changeOne(ctx, sqlLockKeyset); err != nil {
		return err
	}
	_, err := tx.AnyOrg(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil:
		return ErrExists
	}
	return err
}

// LockOrg is to an organization what LockUser is to a user.
func (tx *Tx) LockOrg(ctx context.Context, uid string) error {
	return tx.changeOne(ctx, sqlLockOrg, uid)
}
