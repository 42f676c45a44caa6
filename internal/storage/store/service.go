package store

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
)

// KeyPurpose is the use of a service key.
type KeyPurpose string

// Purposes of service keys.
const (
	KeySign KeyPurpose = "sign" // signs authorization tokens
	KeyMAC  KeyPurpose = "mac"  // authenticates refresh tokens
)

// ServiceKey is a key of the service itself. Secret is encrypted in the database and clear here. A key
// with RetiredAt issues nothing new, and is accepted until VerifyUntil.
type ServiceKey struct {
	UID                               string // of a signing key: its kid
	Purpose                           KeyPurpose
	Public, Secret                    []byte
	CreatedAt, RetiredAt, VerifyUntil time.Time
}

const (
	sqlInsertServiceKey = `INSERT INTO service_keys (uid, purpose, public, sealed, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT DO NOTHING`
	sqlRetireServiceKey = `UPDATE service_keys SET retired_at = $2, verify_until = $3 WHERE purpose = $1 AND retired_at IS NULL`
	sqlServiceKeys      = `SELECT uid, purpose, public, sealed, created_at, retired_at, verify_until FROM service_keys
		ORDER BY created_at, uid`

	sqlNoteTime   = `UPDATE service_clock SET newest = $1 WHERE id = 1 AND newest < $1`
	sqlSetTime    = `UPDATE service_clock SET newest = $1 WHERE id = 1`
	sqlNewestTime = `SELECT newest FROM service_clock WHERE id = 1`
)

func keyLocation(uid string) seal.Location {
	return seal.Location{Table: "service_keys", Row: uid, Column: "sealed"}
}

// Keys reads and changes the keys that sign tokens.
type Keys struct{ *conn }

// Insert adds a key in use, and reports whether it did: it does not when another key of that purpose is in use.
func (tx Keys) Insert(ctx context.Context, k ServiceKey) (bool, error) {
	ciphertext, err := tx.ring.Encrypt(k.Secret, keyLocation(k.UID))
	if err != nil {
		return false, err
	}
	return tx.db.Changed(ctx, sqlInsertServiceKey, k.UID, string(k.Purpose), k.Public, ciphertext, rows.Millis(k.CreatedAt))
}

// Retire retires the key of a purpose: it issues nothing new, and is accepted until that moment.
func (tx Keys) Retire(ctx context.Context, purpose KeyPurpose, at, verifyUntil time.Time) error {
	return tx.db.ChangeAny(ctx, sqlRetireServiceKey, string(purpose), rows.Millis(at), rows.Millis(verifyUntil))
}

// List lists all keys, the oldest first. It fails when one cannot be decrypted: the service could not verify its own tokens.
func (tx Keys) List(ctx context.Context) ([]ServiceKey, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, k *ServiceKey) error {
		var ciphertext []byte
		err := row.Scan(&k.UID, &k.Purpose, &k.Public, &ciphertext, rows.Moment(&k.CreatedAt), rows.Moment(&k.RetiredAt),
			rows.Moment(&k.VerifyUntil))
		if err != nil {
			return err
		}
		k.Secret, err = tx.ring.Decrypt(ciphertext, keyLocation(k.UID))
		return err
	}, sqlServiceKeys)
}

// Times reads and changes the newest time that a server of the store has seen.
type Times struct{ *conn }

// Note stores a time if it is newer than the stored one.
func (tx Times) Note(ctx context.Context, at time.Time) error {
	return tx.db.ChangeAny(ctx, sqlNoteTime, rows.Millis(at))
}

// Set stores a time, whatever the stored one is.
func (tx Times) Set(ctx context.Context, at time.Time) error {
	return tx.db.ChangeOne(ctx, sqlSetTime, rows.Millis(at))
}

// Newest returns the stored time, that of 1970 if there is none.
func (tx Times) Newest(ctx context.Context) (time.Time, error) {
	at, err := rows.One(ctx, tx.db, rows.ScanCount, sqlNewestTime)
	return time.UnixMilli(at).UTC(), err
}
