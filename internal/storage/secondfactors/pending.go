package secondfactors

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Pending is a login whose password was right, and that waits for a code.
type Pending struct {
	Hash            []byte // of the token of the login
	OrgUID, UserUID string
	Password        []byte // hash of the hash of the password
	NextHash        string // hash of the password that the login sets; empty: none
	ExpiresAt       time.Time
}

const (
	sqlInsertPending = `INSERT INTO pending_logins (hash, org_uid, user_uid, password, next_hash, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)`
	sqlPending = `SELECT hash, org_uid, user_uid, password, next_hash, expires_at FROM pending_logins
		WHERE hash = $1 AND expires_at > $2`
	sqlDeletePending       = `DELETE FROM pending_logins WHERE hash = $1`
	sqlDeletePendingOfUser = `DELETE FROM pending_logins WHERE user_uid = $1`
	sqlDeletePendings      = `DELETE FROM pending_logins WHERE hash IN (SELECT hash FROM pending_logins WHERE expires_at < $1 LIMIT $2)`
)

func scanPending(row rows.Scanner, p *Pending) error {
	return row.Scan(&p.Hash, &p.OrgUID, &p.UserUID, &p.Password, &p.NextHash, rows.Moment(&p.ExpiresAt))
}

// InsertPending adds a login.
func (tx Factors) InsertPending(ctx context.Context, p Pending) error {
	return tx.db.ChangeOne(ctx, sqlInsertPending, p.Hash, p.OrgUID, p.UserUID, p.Password, p.NextHash, rows.Millis(p.ExpiresAt))
}

// Pending returns a login that has not expired at that time.
func (tx Factors) Pending(ctx context.Context, hash []byte, now time.Time) (Pending, error) {
	return rows.One(ctx, tx.db, scanPending, sqlPending, hash, rows.Millis(now))
}

// DeletePending deletes a login. ErrNotFound: another call did.
func (tx Factors) DeletePending(ctx context.Context, hash []byte) error {
	return tx.db.ChangeOne(ctx, sqlDeletePending, hash)
}

// DeletePendingOfUser deletes all logins of a user that wait.
func (tx Factors) DeletePendingOfUser(ctx context.Context, userUID string) error {
	return tx.db.ChangeAny(ctx, sqlDeletePendingOfUser, userUID)
}

// DeletePendings deletes at most limit logins that expired before that moment, and returns how many.
func (tx Factors) DeletePendings(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeletePendings, rows.Millis(before), limit)
}
