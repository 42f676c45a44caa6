package store

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/seal"
)

const sqlRewrapKeyset = `UPDATE data_keyset SET wrapped = $1, wrapped_at = $2 WHERE id = 1`

// RotateMaster wraps the keyring with another master key. record runs in the same transaction. next is zero
// when the key is kept in a file: then one is drawn and written there.
//
// The order is: next beside the key file, durable; the row; next in the place of the key file. Until the row is
// committed the old file opens the store, and afterwards the one beside it, which opening finds and puts
// into its place. The lock of opening keeps two rotations, or an opening in between, apart.
//
// former is the file that the old key is kept in, for backups made under it; empty when the key was given.
//
// What the keyring sealed stays sealed by the same keys: this is for a master key that others may know, not
// for one that was stolen together with the database.
func (db *DB) RotateMaster(ctx context.Context, next seal.MasterKey, record func(*Tx) error) (former string, err error) {
	release, err := db.lockOpening(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = release() }()
	inFile := next.IsZero()
	if inFile != db.options.MasterKey.IsZero() {
		return "", ErrKeyPlace
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

// ErrKeyPlace is returned for a new master key that would be kept in another place than the old one.
var ErrKeyPlace = errors.New("a master key that is kept in a file is rotated by drawing one there; one that was given is rotated by giving another")

func (db *DB) rewrap(ctx context.Context, next seal.MasterKey, record func(*Tx) error) error {
	wrapped, err := db.ring.Wrap(next)
	if err != nil {
		return err
	}
	return db.InTx(ctx, func(tx *Tx) error {
		if err := tx.changeOne(ctx, sqlRewrapKeyset, wrapped, millis(db.options.now())); err != nil {
			return err
		}
		return record(tx)
	})
}
