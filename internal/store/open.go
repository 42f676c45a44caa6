package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"github.com/regwarden/regwarden/internal/seal"
)

//go:embed migrations/*.sql
var migrations embed.FS

const databaseName = "regwarden.db"

// Open opens the store in a data folder and makes what is missing: folder, database, master key file
// and keyring at the first start, tables after an upgrade. With the wrong master key it returns
// seal.ErrWrongKey and has changed nothing. Any number of processes may open the same folder.
func Open(ctx context.Context, o Options) (*DB, error) {
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	o.DataDir = dir
	if err := makeDataDir(dir); err != nil {
		return nil, err
	}
	lock, err := lockOpening(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Release() }()

	path := filepath.Join(dir, databaseName)
	if err := privateFile(path); err != nil {
		return nil, err
	}
	writes, err := openSQLite(path, 1, false)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db, err := start(ctx, o, writes, path)
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	return db, nil
}

// start brings an opened database up: key first, then tables, then connections.
func start(ctx context.Context, o Options, writes *sql.DB, path string) (*DB, error) {
	ring, err := existingKeyring(ctx, o, writes)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, writes); err != nil {
		return nil, err
	}
	if ring == nil {
		if ring, err = newKeyring(ctx, o, writes); err != nil {
			return nil, err
		}
	}
	readers, err := openSQLite(path, readerPool, true)
	if err != nil {
		return nil, fmt.Errorf("open the database for reading: %w", err)
	}
	w, err := newWriter(ctx, writes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database for writing: %w", translate(err)), readers.Close())
	}
	return &DB{writer: w, writes: writes, readers: readers, reads: newStatements(readers), ring: ring, options: o}, nil
}

// privateFile makes the database file before SQLite does, which would leave it to the umask; the
// files beside it (-wal, -shm) take its mode. A file of wider mode is narrowed.
func privateFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- in the operator's folder
	if err != nil {
		return fmt.Errorf("open the database file: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the database file from other users: %w", err)
	}
	return nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("find the migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("bring the tables up to date: %w", translate(err))
	}
	return nil
}

// existingKeyring opens the keyring of a store that has one. A new store gives nil. It only reads, so
// that a wrong key leaves the store as it was; a missing key file is never made anew here.
func existingKeyring(ctx context.Context, o Options, db *sql.DB) (*seal.Keyring, error) {
	var name string
	err := db.QueryRowContext(ctx, keysetExists).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the keyring: %w", translate(err))
	}
	wrapped, err := wrappedKeyring(ctx, db)
	if wrapped == nil || err != nil {
		return nil, err
	}
	if !o.MasterKey.IsZero() {
		return unwrap(o.MasterKey, wrapped, o)
	}
	return fromKeyFiles(wrapped, o)
}

// fromKeyFiles opens the keyring with the key file. When it is the older of two, because a rotation was
// killed after its commit, the newer one beside it opens the keyring and takes its place.
func fromKeyFiles(wrapped []byte, o Options) (*seal.Keyring, error) {
	master, err := seal.LoadMasterKey(o.keyFile())
	if err != nil {
		return nil, fmt.Errorf("the store is sealed with a master key that is not here: %w", err)
	}
	ring, err := unwrap(master, wrapped, o)
	if !errors.Is(err, seal.ErrWrongKey) {
		return ring, err
	}
	next, nextErr := seal.NextMasterKey(o.keyFile())
	if nextErr != nil {
		return nil, err
	}
	ring, nextErr = seal.Unwrap(next, wrapped)
	if nextErr != nil {
		return nil, err
	}
	return ring, seal.AdoptNextMasterKey(o.keyFile())
}

// wrappedKeyring returns nil when the row was never written.
func wrappedKeyring(ctx context.Context, db *sql.DB) ([]byte, error) {
	var wrapped []byte
	err := db.QueryRowContext(ctx, "SELECT wrapped FROM data_keyset WHERE id = 1").Scan(&wrapped)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the keyring: %w", translate(err))
	}
	return wrapped, nil
}

// newKeyring makes master key file and keyring of a new store. The key file is durable before the row
// is: a row without its key would be a store that nobody can open.
func newKeyring(ctx context.Context, o Options, db *sql.DB) (*seal.Keyring, error) {
	master := o.MasterKey
	if master.IsZero() {
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
	if _, err := db.ExecContext(ctx, query, wrapped, millis(o.now())); err != nil {
		return nil, fmt.Errorf("keep the keyring: %w", translate(err))
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
