package store

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/seal"
)

// KeyPurpose says what a service key is for.
type KeyPurpose string

// Purposes of service keys.
const (
	KeySign KeyPurpose = "sign" // signs authorization tokens
	KeyMAC  KeyPurpose = "mac"  // authenticates refresh tokens
)

// ServiceKey is a key of the service itself. Secret is sealed in the database and clear here. A key
// with RetiredAt makes nothing new, and is accepted until VerifyUntil.
type ServiceKey struct {
	UID                               string // of a signing key: its kid
	Purpose                           KeyPurpose
	Public, Secret                    []byte
	CreatedAt, RetiredAt, VerifyUntil time.Time
}

const (
	sqlInsertServiceKey = `INSERT INTO service_keys (uid, purpose, public, sealed, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`
	sqlRetireServiceKey = `UPDATE service_keys SET retired_at = $2, verify_until = $3 WHERE purpose = $1 AND retired_at IS NULL`
	sqlServiceKeys      = `SELECT uid, purpose, public, sealed, created_at, retired_at, verify_until FROM service_keys ORDER BY created_at, uid`
)

func keyPlace(uid string) seal.Place {
	return seal.Place{Table: "service_keys", Row: uid, Column: "sealed"}
}

// Keys reads and changes the keys that sign and seal.
type Keys struct{ *conn }

// Insert adds a key that comes into use, and tells whether it did: it does not when another
// key of that purpose is in use.
func (tx Keys) Insert(ctx context.Context, k ServiceKey) (bool, error) {
	sealed, err := tx.ring.Seal(k.Secret, keyPlace(k.UID))
	if err != nil {
		return false, err
	}
	n, err := tx.change(ctx, sqlInsertServiceKey, k.UID, string(k.Purpose), k.Public, sealed, millis(k.CreatedAt))
	return n == 1, err
}

// Retire takes the key of a purpose out of use: it makes nothing new, and is accepted until that moment.
func (tx Keys) Retire(ctx context.Context, purpose KeyPurpose, at, verifyUntil time.Time) error {
	_, err := tx.change(ctx, sqlRetireServiceKey, string(purpose), millis(at), millis(verifyUntil))
	return err
}

// List lists all keys, the oldest first. One that does not open fails the call: a service that
// cannot verify its own tokens must not pretend to.
func (tx Keys) List(ctx context.Context) ([]ServiceKey, error) {
	return all(ctx, tx.conn, func(row scanner, k *ServiceKey) error {
		var sealed []byte
		err := row.Scan(&k.UID, &k.Purpose, &k.Public, &sealed, moment{&k.CreatedAt}, moment{&k.RetiredAt}, moment{&k.VerifyUntil})
		if err != nil {
			return err
		}
		k.Secret, err = tx.ring.Open(sealed, keyPlace(k.UID))
		return err
	}, sqlServiceKeys)
}
