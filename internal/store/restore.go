package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store/sqldb"
)

// Restore copies a backup to a data directory that has no database, after verifying that it is complete and that the
// master key, which must exist already, decrypts it. A backup made before that key was rotated in needs the key of
// its time as former; the restored store is encrypted with the key in place. Nothing is changed otherwise. No server may
// run on the directory: sqldb.ErrLocked. sqldb.ErrNoFile for a store in PostgreSQL.
func Restore(ctx context.Context, o Options, backup string, former seal.MasterKey) error {
	if o.DatabaseURL != "" {
		return sqldb.ErrNoFile
	}
	o, err := o.absolute()
	if err != nil {
		return err
	}
	var ring *seal.Keyring
	check := func(ctx context.Context, db *sqldb.Raw) (err error) {
		ring, err = backupKeyring(ctx, o, former, db)
		return err
	}
	var rewrap func(context.Context, *sqldb.Raw) error
	if !former.IsZero() {
		rewrap = func(ctx context.Context, db *sqldb.Raw) error { return rewrapBackup(ctx, o, ring, db) }
	}
	return sqldb.Restore(ctx, o.DataDir, backup, check, rewrap)
}

// backupKeyring decrypts the keyring of a backup with the former master key if there is one, else with the key in place.
func backupKeyring(ctx context.Context, o Options, former seal.MasterKey, db *sqldb.Raw) (*seal.Keyring, error) {
	if !former.IsZero() {
		o.MasterKey = former
	}
	ring, err := openKeyring(ctx, o, db)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, seal.ErrWrongKey):
		return nil, fmt.Errorf("%w; name the master key of the time of the backup with --master-key-file, such as master.key.<time> after a rotation", err)
	case err == nil && ring == nil:
		return nil, fmt.Errorf("%w: it has no keyring", sqldb.ErrNoBackup)
	}
	return ring, err
}

// rewrapBackup encrypts the keyring of a backup with the master key in place.
func rewrapBackup(ctx context.Context, o Options, ring *seal.Keyring, db *sqldb.Raw) error {
	master := o.MasterKey
	if master.IsZero() {
		var err error
		if master, err = seal.LoadMasterKey(o.keyFile()); err != nil {
			return err
		}
	}
	wrapped, err := ring.Wrap(master)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, sqlRewrapKeyset, wrapped, millis(o.now()))
	return sqldb.Translate(err)
}
