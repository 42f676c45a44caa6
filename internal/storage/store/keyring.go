package store

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/storage/keyset"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

const sqlRewrapKeyset = `UPDATE data_keyset SET wrapped = $1, wrapped_at = $2 WHERE id = 1`

// RotateMaster encrypts the keyring with another master key, for a key that others may know. It does not help if the
// database was stolen too, since values stay encrypted with the same keyring. record runs in the same transaction.
//
// If the key is in a file, next is zero and a new key is generated. It is written to a second file before the transaction
// and replaces the key file after it; Open completes an interrupted rotation. former is the file of the old key, which
// earlier backups need, or "" if the key was given. The lock excludes a concurrent rotation or Open.
func (db *DB) RotateMaster(ctx context.Context, next seal.MasterKey, record func(*Tx) error) (former string, err error) {
	lock, err := sqldb.OpenRaw(ctx, db.options.database())
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	inFile := next.IsZero()
	if inFile != db.options.MasterKey.IsZero() {
		return "", ErrKeySource
	}
	if next == db.options.MasterKey && !inFile {
		return "", ErrSameKey
	}
	if inFile {
		if next, err = seal.WriteNextMasterKey(db.options.keyFile()); err != nil {
			return "", err
		}
	}
	if err := db.rewrap(ctx, next, record); err != nil || !inFile {
		return "", err
	}
	return seal.AdoptNextMasterKey(db.options.keyFile(), db.options.now())
}

// ErrKeySource is returned for a new master key whose source (a file, or given) differs from that of the old one.
var ErrKeySource = errors.New("a master key in a file is rotated without a new key, which is generated; " +
	"a key that was given is rotated by giving a new key")

// ErrNoMasterKey is returned if there is no master key for a store that has one.
var ErrNoMasterKey = keyset.ErrNoMasterKey

// ErrSameKey is returned for a new master key that is the current one.
var ErrSameKey = errors.New("the new master key must differ from the current key")

func (db *DB) rewrap(ctx context.Context, next seal.MasterKey, record func(*Tx) error) error {
	wrapped, err := db.ring.Wrap(next)
	if err != nil {
		return err
	}
	return db.InTx(ctx, func(tx *Tx) error {
		if err := tx.db.ChangeOne(ctx, sqlRewrapKeyset, wrapped, rows.Millis(db.options.now())); err != nil {
			return err
		}
		return record(tx)
	})
}
