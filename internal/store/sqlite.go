package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/regwarden/regwarden/internal/seal"
)

const (
	databaseName = "regwarden.db"
	busyMillis   = "10000" // how long a writer waits for another process's transaction
	readerPool   = 4

	beginWrite  = "BEGIN IMMEDIATE" // takes the write lock at once: a later upgrade could deadlock
	commitWrite = "COMMIT"
	revertWrite = "ROLLBACK"
	savePart    = "SAVEPOINT part"
	keepPart    = "RELEASE part"
	revertPart  = "ROLLBACK TO part"
)

func sqliteDialect() dialect {
	return dialect{
		goose:        goose.DialectSQLite3,
		migrations:   "migrations/sqlite",
		keysetExists: "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'data_keyset'",
		floorExists:  "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_floor'",
	}
}

// sqliteDB is a database in a file: one writer whose callers share commits, several readers.
type sqliteDB struct {
	dataDir string
	writer  *writer
	writes  *sql.DB // the writer's one connection
	readers *sql.DB
	reads   *statements
}

// openFolder opens the store in a data folder.
func openFolder(ctx context.Context, o Options) (*DB, error) {
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	o.DataDir = dir
	if o.Existing {
		err = checkExists(dir)
	} else {
		err = makeDataDir(dir)
	}
	if err != nil {
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
	ring, err := bringUp(ctx, o, writes, sqliteDialect())
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	db, err := startSQLite(ctx, dir, path, writes)
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	return &DB{database: db, ring: ring, options: o}, nil
}

// checkExists returns ErrEmpty for a data directory without a store. It creates nothing, not even a lock file.
func checkExists(dataDir string) error {
	info, err := os.Stat(filepath.Join(dataDir, databaseName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 { // empty: a first start was killed
		return ErrEmpty
	}
	if err != nil {
		return fmt.Errorf("look for the database file: %w", err)
	}
	return nil
}

// existingKeyring is keyringOf for a database file.
func existingKeyring(ctx context.Context, o Options, db *sql.DB) (*seal.Keyring, error) {
	return keyringOf(ctx, o, db, sqliteDialect())
}

func startSQLite(ctx context.Context, dir, path string, writes *sql.DB) (*sqliteDB, error) {
	readers, err := openSQLite(path, readerPool, true)
	if err != nil {
		return nil, fmt.Errorf("open the database for reading: %w", err)
	}
	w, err := newWriter(ctx, writes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database for writing: %w", translate(err)), readers.Close())
	}
	return &sqliteDB{dataDir: dir, writer: w, writes: writes, readers: readers, reads: newStatements(readers)}, nil
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
	if err == nil && info.Size() == 0 { // made just now
		err = seal.GiveToOwnerOf(filepath.Dir(path), file)
	}
	if err != nil {
		return fmt.Errorf("keep the database file from other users: %w", err)
	}
	return nil
}

// openSQLite returns a pool of at most connections to the database file, for reading only or for both.
func openSQLite(path string, connections int, readOnly bool) (*sql.DB, error) {
	settings := url.Values{
		"_busy_timeout": {busyMillis},
		"_foreign_keys": {"on"},
		"_synchronous":  {"FULL"}, // a commit is on disk before it is acknowledged
		"_defensive":    {"1"},
		"_dqs":          {"0"}, // "text" in double quotes is a name, never a string
		// A container's root may have no folder for temporary files, which a statement can need at any time.
		"_pragma": {"temp_store(memory)"},
	}
	if readOnly {
		settings.Set("_query_only", "1")
	} else {
		settings.Set("_journal_mode", "WAL")
	}
	address := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

func (s *sqliteDB) write(ctx context.Context, work func(querier) error) error {
	return s.writer.do(ctx, work)
}

func (s *sqliteDB) reader() (querier, error) {
	if s.writer.stopped() {
		return nil, unavailable(errClosed) // database/sql has no typed error for it
	}
	return s.reads, nil
}

func (s *sqliteDB) lockOpening(ctx context.Context) (func() error, error) {
	lock, err := lockOpening(ctx, s.dataDir)
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

func (s *sqliteDB) Ping(ctx context.Context) error { return translate(s.readers.PingContext(ctx)) }

func (s *sqliteDB) Close() error {
	return errors.Join(s.writer.close(), s.reads.close(), s.readers.Close(), s.writes.Close())
}

func (s *sqliteDB) Changed() <-chan struct{} { return nil }
func (s *sqliteDB) Listening() bool          { return false }
func (s *sqliteDB) Shared() bool             { return false }

// meaningOfSQLite is translate for an error of SQLite.
func meaningOfSQLite(err error) error {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch failure.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return ErrExists
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return ErrNotFound
	}
	switch failure.Code() & 0xff { // the primary code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM:
		return unavailable(err)
	}
	return err
}
