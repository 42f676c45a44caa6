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

// Orgs reads and changes organizations.
type Orgs struct{ *conn }

// Insert adds an organization. Its canonical name being taken is ErrExists.
func (tx Orgs) Insert(ctx context.Context, o Org) error {
	return tx.changeOne(ctx, sqlInsertOrg, o.UID, o.Name, o.Canonical, millis(o.CreatedAt))
}

// ByName looks an organization up by its canonical name.
func (tx Orgs) ByName(ctx context.Context, canonical string) (Org, error) {
	return one(ctx, tx.conn, scanOrg, sqlOrgByName, canonical)
}

// Get looks an organization up.
func (tx Orgs) Get(ctx context.Context, uid string) (Org, error) {
	return one(ctx, tx.conn, scanOrg, sqlOrgByUID, uid)
}

// List lists all organizations by name.
func (tx Orgs) List(ctx context.Context) ([]Org, error) { return all(ctx, tx.conn, scanOrg, sqlOrgs) }

// Any returns some organization, ErrNotFound when there is none yet.
func (tx Orgs) Any(ctx context.Context) (Org, error) { return one(ctx, tx.conn, scanOrg, sqlAnyOrg) }

// First returns ErrExists when there is an organization. Otherwise concurrent calls wait until the transaction ends: of several
// that create a first organization at once, one does.
func (tx Orgs) First(ctx context.Context) error {
	// Every opened store has the row. Its lock is what matters.
	if err := tx.changeOne(ctx, sqlLockKeyset); err != nil {
		return err
	}
	_, err := tx.Any(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil:
		return ErrExists
	}
	return err
}

// Lock is Users.Lock for an organization.
func (tx Orgs) Lock(ctx context.Context, uid string) error {
	return tx.changeOne(ctx, sqlLockOrg, uid)
}
