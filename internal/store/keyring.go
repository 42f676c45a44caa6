package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store/sqldb"
)

// keysetTable holds the keyring, encrypted with the master key. Every store has it.
const keysetTable = "data_keyset"

const sqlRewrapKeyset = `UPDATE data_keyset SET wrapped = $1, wrapped_at = $2 WHERE id = 1`

// openKeyring decrypts the keyring of a store. It returns nil for a new store. It only reads, so that a wrong key changes
// nothing; a missing key file is not created here.
func openKeyring(ctx context.Context, o Options, db *sqldb.Raw) (*seal.Keyring, error) {
	wrapped, err := wrappedKeyring(ctx, db)
	if wrapped == nil || err != nil {
		return nil, err
	}
	if !o.MasterKey.IsZero() {
		return unwrap(o.MasterKey, wrapped, o)
	}
	return unwrapByFile(wrapped, o)
}

// unwrapByFile decrypts the keyring with the key file. When a rotation was killed after its commit, the next key file
// decrypts the keyring and replaces the key file.
func unwrapByFile(wrapped []byte, o Options) (*seal.Keyring, error) {
	keys, err := o.masterKeys()
	if err != nil {
		return nil, err
	}
	ring, err := unwrap(keys[0], wrapped, o)
	if !errors.Is(err, seal.ErrWrongKey) || len(keys) == 1 {
		return ring, err
	}
	ring, nextErr := seal.Unwrap(keys[1], wrapped)
	if nextErr != nil {
		return nil, err
	}
	_, err = seal.AdoptNextMasterKey(o.keyFile(), o.now())
	return ring, err
}

var errNoMasterKey = errors.New("the master key of this store is missing")

// masterKeys returns the given master key, or the one in the key file and that of a rotation that was not completed.
func (o Options) masterKeys() ([]seal.MasterKey, error) {
	if !o.MasterKey.IsZero() {
		return []seal.MasterKey{o.MasterKey}, nil
	}
	key, err := seal.LoadMasterKey(o.keyFile())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", errNoMasterKey, err)
	}
	if err != nil {
		return nil, err
	}
	keys := []seal.MasterKey{key}
	if next, err := seal.NextMasterKey(o.keyFile()); err == nil {
		keys = append(keys, next)
	}
	return keys, nil
}

// wrappedKeyring returns nil when there is no table, or the row was never written.
func wrappedKeyring(ctx context.Context, db *sqldb.Raw) ([]byte, error) {
	there, err := db.HasTable(ctx, keysetTable)
	if err != nil || !there {
		return nil, err
	}
	var wrapped []byte
	err = db.QueryRowContext(ctx, "SELECT wrapped FROM data_keyset WHERE id = 1").Scan(&wrapped)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the keyring: %w", sqldb.Translate(err))
	}
	return wrapped, nil
}

// createKeyring creates the master key file and the keyring of a new store. The key file is durable before the row is: a row
// without its key would be a store that cannot be opened.
func createKeyring(ctx context.Context, o Options, db *sqldb.Raw) (*seal.Keyring, error) {
	master := o.MasterKey
	if master.IsZero() {
		if err := sqldb.CreateDir(filepath.Dir(o.keyFile())); err != nil {
			return nil, err
		}
		var err error
		if master, err = seal.LoadOrCreateMasterKey(o.keyFile()); err != nil {
			return nil, err
		}
	}
	ring, err := seal.NewKeyring()
	if err != nil {
		return nil, err
	}
	wrapped, err := ring.Wrap(master)
	if err != nil {
		return nil, err
	}
	const query = `INSERT INTO data_keyset (id, wrapped, created_at, wrapped_at) VALUES (1, $1, $2, $2) ON CONFLICT DO NOTHING`
	if _, err := db.ExecDurably(ctx, query, wrapped, millis(o.now())); err != nil {
		return nil, fmt.Errorf("keep the keyring: %w", sqldb.Translate(err))
	}
	if wrapped, err = wrappedKeyring(ctx, db); err != nil {
		return nil, err
	}
	return unwrap(master, wrapped, o) // what was stored, also when another process was first
}

func unwrap(master seal.MasterKey, wrapped []byte, o Options) (*seal.Keyring, error) {
	ring, err := seal.Unwrap(master, wrapped)
	if err != nil {
		source := o.keyFile()
		if !o.MasterKey.IsZero() {
			source = "the key that was given"
		}
		return nil, fmt.Errorf("%w (tried %s; nothing was changed)", err, source)
	}
	return ring, nil
}

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
var ErrKeySource = errors.New("a master key in a file is rotated without a new key, which is generated; a key that was given is rotated by giving a new key")

// ErrSameKey is returned for a new master key that is the current one.
var ErrSameKey = errors.New("the new master key must differ from the current key")

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
