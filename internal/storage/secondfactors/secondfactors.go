// Package secondfactors stores the second factors of users who log in with a password, and the logins that wait for one.
package secondfactors

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

// Factor is the second factor of a user.
type Factor struct {
	UserUID, OrgUID string
	Secret          secret.String // base32
	CreatedAt       time.Time
	ConfirmedAt     time.Time // zero: not confirmed, so that no login asks for it
	LastStep        int64     // time step of the last accepted code
}

// schema is the number of the migration of this package.
const schema = 53

const (
	// Programs that do not know second factors cannot open the store once there is one.
	sqlRaiseFloor = `UPDATE schema_floor SET least = $1 WHERE id = 1 AND least < $1`

	sqlPut = `INSERT INTO second_factors (user_uid, org_uid, secret, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_uid) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at
		WHERE second_factors.confirmed_at IS NULL`
	sqlGet     = `SELECT user_uid, org_uid, secret, created_at, confirmed_at, last_step FROM second_factors WHERE user_uid = $1`
	sqlConfirm = `UPDATE second_factors SET confirmed_at = $2, last_step = $3 WHERE user_uid = $1 AND confirmed_at IS NULL`
	sqlAccept  = `UPDATE second_factors SET last_step = $2 WHERE user_uid = $1 AND last_step < $2 AND confirmed_at IS NOT NULL`
	sqlDelete  = `DELETE FROM second_factors WHERE user_uid = $1`
	sqlMark    = `UPDATE users SET second_factor = $2 WHERE uid = $1`
	sqlRequire = `UPDATE orgs SET second_factor = $2 WHERE uid = $1`

	sqlInsertCode  = `INSERT INTO recovery_codes (user_uid, hash) VALUES ($1, $2)`
	sqlDeleteCodes = `DELETE FROM recovery_codes WHERE user_uid = $1`
	sqlUseCode     = `DELETE FROM recovery_codes WHERE user_uid = $1 AND hash = $2`
	sqlHasCode     = `SELECT COUNT(*) FROM recovery_codes WHERE user_uid = $1 AND hash = $2`
	sqlCountCodes  = `SELECT COUNT(*) FROM recovery_codes WHERE user_uid = $1`
)

// Factors reads and changes second factors, recovery codes and pending logins. They are deleted with their user.
type Factors struct {
	db   *rows.Conn
	ring *seal.Keyring
}

// In returns the second factors of one transaction.
func In(db *rows.Conn, ring *seal.Keyring) Factors { return Factors{db, ring} }

func location(userUID, orgUID string) seal.Location {
	return seal.Location{Table: "second_factors", Row: userUID, Org: orgUID, Column: "secret"}
}

func (tx Factors) scan(row rows.Scanner, f *Factor) error {
	var ciphertext []byte
	if err := row.Scan(&f.UserUID, &f.OrgUID, &ciphertext, rows.Moment(&f.CreatedAt), rows.Moment(&f.ConfirmedAt),
		&f.LastStep); err != nil {
		return err
	}
	plain, err := tx.ring.Decrypt(ciphertext, location(f.UserUID, f.OrgUID))
	f.Secret = secret.String(plain)
	return err
}

// Put adds a factor that is not confirmed, in place of another such one. It reports false, and changes nothing, if the user has a confirmed
// one.
func (tx Factors) Put(ctx context.Context, f Factor) (bool, error) {
	ciphertext, err := tx.ring.Encrypt([]byte(f.Secret.Reveal()), location(f.UserUID, f.OrgUID))
	if err != nil {
		return false, err
	}
	return tx.db.Changed(ctx, sqlPut, f.UserUID, f.OrgUID, ciphertext, rows.Millis(f.CreatedAt))
}

// Get returns the factor of a user, confirmed or not.
func (tx Factors) Get(ctx context.Context, userUID string) (Factor, error) {
	return rows.One(ctx, tx.db, tx.scan, sqlGet, userUID)
}

// Confirm makes logins of the user ask for a code from then on. step is that of the code that confirmed it. It reports false if the
// factor was confirmed before.
func (tx Factors) Confirm(ctx context.Context, userUID string, step int64, at time.Time) (bool, error) {
	if err := tx.db.ChangeAny(ctx, sqlRaiseFloor, schema); err != nil {
		return false, err
	}
	confirmed, err := tx.db.Changed(ctx, sqlConfirm, userUID, rows.Millis(at), step)
	if err != nil || !confirmed {
		return false, err
	}
	return true, tx.db.ChangeOne(ctx, sqlMark, userUID, rows.Flag(true))
}

// Accept stores the time step of a code, and reports whether no code of that step or of a later one was accepted before: of several
// callers with the same code exactly one gets true.
func (tx Factors) Accept(ctx context.Context, userUID string, step int64) (bool, error) {
	return tx.db.Changed(ctx, sqlAccept, userUID, step)
}

// Delete deletes the factor of a user with its recovery codes and the logins that wait for it. ErrNotFound: there is none.
func (tx Factors) Delete(ctx context.Context, userUID string) error {
	if err := tx.db.ChangeOne(ctx, sqlDelete, userUID); err != nil {
		return err
	}
	for _, query := range []string{sqlDeleteCodes, sqlDeletePendingOfUser} {
		if err := tx.db.ChangeAny(ctx, query, userUID); err != nil {
			return err
		}
	}
	return tx.db.ChangeOne(ctx, sqlMark, userUID, rows.Flag(false))
}

// Require stores whether users of an organization need a second factor to log in with a password.
func (tx Factors) Require(ctx context.Context, orgUID string, required bool) error {
	if required {
		if err := tx.db.ChangeAny(ctx, sqlRaiseFloor, schema); err != nil {
			return err
		}
	}
	return tx.db.ChangeOne(ctx, sqlRequire, orgUID, rows.Flag(required))
}

// PutCodes replaces the recovery codes of a user, by their hashes.
func (tx Factors) PutCodes(ctx context.Context, userUID string, hashes [][]byte) error {
	if err := tx.db.ChangeAny(ctx, sqlDeleteCodes, userUID); err != nil {
		return err
	}
	for _, hash := range hashes {
		if err := tx.db.ChangeOne(ctx, sqlInsertCode, userUID, hash); err != nil {
			return err
		}
	}
	return nil
}

// UseCode deletes a recovery code, and reports whether it was there: of several callers with the same code exactly one gets true.
func (tx Factors) UseCode(ctx context.Context, userUID string, hash []byte) (bool, error) {
	return tx.db.Changed(ctx, sqlUseCode, userUID, hash)
}

// HasCode reports whether a recovery code was not used yet.
func (tx Factors) HasCode(ctx context.Context, userUID string, hash []byte) (bool, error) {
	n, err := rows.One(ctx, tx.db, rows.ScanCount, sqlHasCode, userUID, hash)
	return n > 0, err
}

// CountCodes returns how many recovery codes a user has left.
func (tx Factors) CountCodes(ctx context.Context, userUID string) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCountCodes, userUID)
}
