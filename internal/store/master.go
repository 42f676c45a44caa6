package store

import (
	"context"

	"github.com/regwarden/regwarden/internal/seal"
)

const sqlRewrapKeyset = `UPDATE data_keyset SET wrapped = $1, wrapped_at = $2 WHERE id = 1`

// RotateMaster wraps the keyring with another master key. record runs in the same transaction. next is zero
// when the key is kept in a file: then one is drawn and written there.
//
// The order is: next beside the key file, durable; the row; next in the place of the key file. Until the row is
// committed the old file opens the store, and afterwards the one beside it, which opening finds and puts
// into its place.
func (db *DB) RotateMaster(ctx context.Context, next seal.MasterKey, record func(*Tx) error) error {
	inFile := next.IsZero()
	if inFile {
		var err error
		if next, err = seal.WriteNextMasterKey(db.options.keyFile()); err != nil {
			return err
		}
	}
	wrapped, err := db.ring.Wrap(next)
	if err != nil {
		return err
	}
	err = db.InTx(ctx, func(tx *Tx) error {
		if err := tx.changeOne(ctx, sqlRewrapKeyset, wrapped, millis(db.options.now())); err != nil {
			return err
		}
		return record(tx)
	})
	if err != nil || !inFile {
		return err
	}
	return seal.AdoptNextMasterKey(db.options.keyFile())
}
