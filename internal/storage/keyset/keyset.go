// Package keyset opens the keyring of a store, which encrypts everything else, and creates that of a new one.
package keyset

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// Source is where the master key is, which the keyring is encrypted with.
type Source struct {
	Key  seal.MasterKey // when given, used instead of the file
	File string
	Now  func() time.Time
}

// Table holds the keyring, encrypted with the master key. Every store has it.
const Table = "data_keyset"

// Open decrypts the keyring of a store. It returns nil for a new store. It only reads, so that a wrong key changes
// nothing; a missing key file is not created here.
func (s Source) Open(ctx context.Context, db *sqldb.Raw) (*seal.Keyring, error) {
	wrapped, err := Wrapped(ctx, db)
	if wrapped == nil || err != nil {
		return nil, err
	}
	if !s.Key.IsZero() {
		return s.unwrap(s.Key, wrapped)
	}
	return s.unwrapByFile(wrapped)
}

// unwrapByFile decrypts the keyring with the key file. When a rotation was killed after its commit, the next key file
// decrypts the keyring and replaces the key file.
func (s Source) unwrapByFile(wrapped []byte) (*seal.Keyring, error) {
	keys, err := s.MasterKeys()
	if err != nil {
		return nil, err
	}
	ring, err := s.unwrap(keys[0], wrapped)
	if !errors.Is(err, seal.ErrWrongKey) || len(keys) == 1 {
		return ring, err
	}
	ring, nextErr := seal.Unwrap(keys[1], wrapped)
	if nextErr != nil {
		return nil, err
	}
	_, err = seal.AdoptNextMasterKey(s.File, s.Now())
	return ring, err
}

// ErrNoMasterKey is returned if the key file does not exist.
var ErrNoMasterKey = errors.New("the master key of this store is missing")

// MasterKeys returns the given master key, or the one in the key file and that of a rotation that was not completed.
func (s Source) MasterKeys() ([]seal.MasterKey, error) {
	if !s.Key.IsZero() {
		return []seal.MasterKey{s.Key}, nil
	}
	key, err := seal.LoadMasterKey(s.File)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrNoMasterKey, err)
	}
	if err != nil {
		return nil, err
	}
	keys := []seal.MasterKey{key}
	if next, err := seal.NextMasterKey(s.File); err == nil {
		keys = append(keys, next)
	}
	return keys, nil
}

// Wrapped returns nil when there is no table, or the row was never written.
func Wrapped(ctx context.Context, db *sqldb.Raw) ([]byte, error) {
	there, err := db.HasTable(ctx, Table)
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

// Create creates the master key file and the keyring of a new store. The key file is durable before the row is: a row
// without its key would be a store that cannot be opened.
func (s Source) Create(ctx context.Context, db *sqldb.Raw) (*seal.Keyring, error) {
	master := s.Key
	if master.IsZero() {
		if err := sqldb.CreateDir(filepath.Dir(s.File)); err != nil {
			return nil, err
		}
		var err error
		if master, err = seal.LoadOrCreateMasterKey(s.File); err != nil {
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
	if _, err := db.ExecDurably(ctx, query, wrapped, s.Now().UnixMilli()); err != nil {
		return nil, fmt.Errorf("keep the keyring: %w", sqldb.Translate(err))
	}
	if wrapped, err = Wrapped(ctx, db); err != nil {
		return nil, err
	}
	return s.unwrap(master, wrapped) // what was stored, also when another process was first
}

func (s Source) unwrap(master seal.MasterKey, wrapped []byte) (*seal.Keyring, error) {
	ring, err := seal.Unwrap(master, wrapped)
	if err != nil {
		source := s.File
		if !s.Key.IsZero() {
			source = "the key that was given"
		}
		return nil, fmt.Errorf("%w (tried %s; nothing was changed)", err, source)
	}
	return ring, nil
}

// MasterKeyOf returns the master key that decrypts the keyring of a copy: a rotation may end while the copy is written.
func (s Source) MasterKeyOf(ctx context.Context, db *sqldb.Raw) (seal.MasterKey, error) {
	wrapped, err := Wrapped(ctx, db)
	if err != nil {
		return seal.MasterKey{}, err
	}
	keys, err := s.MasterKeys()
	if err != nil {
		return seal.MasterKey{}, err
	}
	for _, key := range keys {
		if _, err := seal.Unwrap(key, wrapped); err == nil {
			return key, nil
		}
	}
	return seal.MasterKey{}, fmt.Errorf("%w: it was rotated during the backup; repeat the backup with the new key", seal.ErrWrongKey)
}
