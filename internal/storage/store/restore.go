package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/storage/changelist"
	"github.com/regwarden/regwarden/internal/storage/keyset"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// Backup writes a consistent copy of the database to a new file, and an authentication code at its end. It writes none that could not be
// restored by the newest program that used the store: with triggers, views or indexes of others (sqldb.ErrOtherSchema), or without the
// master key. Tables of others are left out, and returned. See sqldb.DB.Backup.
func (db *DB) Backup(ctx context.Context, target string) (leftOut []string, err error) {
	return db.DB.Backup(ctx, target, Migrations, func(ctx context.Context, copied *sqldb.Raw) (seal.MasterKey, error) {
		err := copied.CheckSchema(ctx, Migrations)
		if db.options.AllowNewer && errors.Is(err, sqldb.ErrTooNew) {
			err = nil // the newer program verifies and restores it
		}
		if err != nil {
			return seal.MasterKey{}, fmt.Errorf("%w; a backup could not be restored: correct this first", err)
		}
		return db.options.keySource().MasterKeyOf(ctx, copied)
	})
}

// RestoreOptions are choices of Restore.
type RestoreOptions struct {
	FormerKey            seal.MasterKey // of a backup from before the key in place was rotated in
	AllowUnauthenticated bool           // accept a backup without an authentication code, as older programs wrote
}

// Restore copies a backup to a data directory that has no database, after verifying that a holder of the master key, which must exist
// already, wrote it, that it is complete, and that its tables are those of its version. It returns when the backup was written: zero
// for one that is not authenticated. A backup made before the key was rotated in needs FormerKey; the restored store is encrypted
// with the key in place. Nothing is changed otherwise. No server may run on the directory: sqldb.ErrLocked. sqldb.ErrNoFile for a
// store in PostgreSQL.
func Restore(ctx context.Context, o Options, backup string, r RestoreOptions) (at time.Time, err error) {
	if o.DatabaseURL != "" {
		return at, sqldb.ErrNoFile
	}
	if o, err = o.absolute(); err != nil {
		return at, err
	}
	backupKey := o
	if !r.FormerKey.IsZero() {
		backupKey.MasterKey = r.FormerKey
	}
	var ring *seal.Keyring
	restoration := sqldb.Restoration{Keys: backupKey.keySource().MasterKeys, AllowUnauthenticated: r.AllowUnauthenticated,
		Migrations: Migrations, Check: func(ctx context.Context, db *sqldb.Raw) (err error) {
			ring, err = backupKey.keySource().Open(ctx, db)
			if err == nil && ring == nil {
				err = fmt.Errorf("%w: it has no keyring", sqldb.ErrNoBackup)
			}
			return err
		}}
	// A token may know the newest change of the backup, and be of a session that the backup does not have.
	restoration.Change = func(ctx context.Context, db *sqldb.Raw) error {
		if r.FormerKey.IsZero() {
			return changelist.AddRestore(ctx, db, ChangedAll, o.now())
		}
		return errors.Join(rewrapBackup(ctx, o, ring, db), changelist.AddRestore(ctx, db, ChangedAll, o.now()))
	}
	at, err = sqldb.Restore(ctx, o.DataDir, backup, restoration)
	if errors.Is(err, seal.ErrWrongKey) || errors.Is(err, keyset.ErrNoMasterKey) {
		err = fmt.Errorf("%w; name the master key of the time of the backup with --master-key-file, "+
			"such as master.key.<time> after a rotation", err)
	}
	return at, err
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
	_, err = db.ExecContext(ctx, sqlRewrapKeyset, wrapped, rows.Millis(o.now()))
	return sqldb.Translate(err)
}
