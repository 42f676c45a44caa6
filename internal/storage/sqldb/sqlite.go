package sqldb

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

	"github.com/regwarden/regwarden/internal/storage/seal"
)

// FileName is the name of the database file in a data directory.
const FileName = "regwarden.db"

const (
	busyMillis  = "10000" // how long a writer waits for another process's transaction
	fileReaders = 4
	probeBytes  = 1 << 20 // more than a few transactions need
)

var sqliteDialect = dialect{
	goose:      goose.DialectSQLite3,
	migrations: "migrations/sqlite",
	hasTable:   "SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1",
}

// sqliteDB is a database in a file: one writer whose callers share commits, several readers.
type sqliteDB struct {
	dir     string
	writer  *writer
	writes  *sql.DB // the writer's one connection
	readers *sql.DB
	reads   *statements
}

func openSQLite(ctx context.Context, o Options, setup func(context.Context, *Raw) error) (engine, error) {
	raw, err := openRawSQLite(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.unlock() }()
	if err := setup(ctx, raw); err != nil {
		return nil, errors.Join(err, raw.DB.Close())
	}
	readers, err := openFile(filepath.Join(o.Dir, FileName), fileReaders, true)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database for reading: %w", err), raw.DB.Close())
	}
	w, err := newWriter(ctx, raw.DB)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database for writing: %w", Translate(err)), readers.Close(), raw.DB.Close())
	}
	return &sqliteDB{dir: o.Dir, writer: w, writes: raw.DB, readers: readers, reads: newStatements(readers)}, nil
}

func openRawSQLite(ctx context.Context, o Options) (*Raw, error) {
	prepare := CreateDir
	if o.MustHave != "" {
		prepare = CheckExists
	}
	if err := prepare(o.Dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(o.Dir, FileName)
	if err := createFile(path); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	raw, err := OpenFile(path, false)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), lock.Release())
	}
	raw.unlock = lock.Release
	return raw, nil
}

// CheckExists returns ErrEmpty for a data directory without a database. It creates nothing, not even a lock file.
func CheckExists(dir string) error {
	info, err := os.Stat(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 { // empty: a first start was killed
		return ErrEmpty
	}
	if err != nil {
		return fmt.Errorf("find the database file: %w", err)
	}
	return nil
}

// createFile creates the database file before SQLite does, which would leave its mode to the umask; SQLite gives the same
// mode to the -wal and -shm files. A file with a wider mode is narrowed.
func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- in the operator's directory
	if err != nil {
		return fmt.Errorf("open the database file: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(0o600)
	}
	if err == nil && info.Size() == 0 { // created just now
		err = seal.GiveToOwnerOf(filepath.Dir(path), file)
	}
	if err != nil {
		return fmt.Errorf("restrict the database file to its owner: %w", err)
	}
	return nil
}

// OpenFile opens a database file on one connection, for reading only or for both. Other processes may open it as well.
func OpenFile(path string, readOnly bool) (*Raw, error) {
	db, err := openFile(path, 1, readOnly)
	if err != nil {
		return nil, err
	}
	return &Raw{DB: db, dialect: sqliteDialect, unlock: func() error { return nil }}, nil
}

// openMemory opens an empty database in memory.
func openMemory() (*Raw, error) {
	db, err := sql.Open("sqlite", "file::memory:?_dqs=0")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	return &Raw{DB: db, dialect: sqliteDialect, unlock: func() error { return nil }}, nil
}

func openFile(path string, connections int, readOnly bool) (*sql.DB, error) {
	path, err := filepath.Abs(path) // SQLite takes some relative names for URIs
	if err != nil {
		return nil, err
	}
	settings := url.Values{
		"_busy_timeout": {busyMillis},
		"_foreign_keys": {"on"},
		"_synchronous":  {"FULL"}, // a commit is on disk before it is acknowledged
		"_defensive":    {"1"},
		"_dqs":          {"0"}, // "text" in double quotes is a name, never a string
		// A container's root may have no directory for temporary files, which a statement can need at any time.
		// Definitions of tables in a file that was changed may call only harmless functions.
		"_pragma": {"temp_store(memory)", "trusted_schema(off)"},
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

func (s *sqliteDB) write(ctx context.Context, _ bool, work func(Querier) error) error {
	return s.writer.do(ctx, work)
}

func (s *sqliteDB) reader() (Querier, error) {
	if s.writer.stopped() {
		return nil, unavailable(errClosed) // database/sql has no typed error for it
	}
	return s.reads, nil
}

// checkDisk writes a file next to the database: SQLite's own files may have free space for a small write on a full disk.
func (s *sqliteDB) checkDisk() error {
	path := filepath.Join(s.dir, "room.tmp")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write in the data directory: %w", err)
	}
	_, err = file.Write(make([]byte, probeBytes))
	if err = errors.Join(err, file.Sync(), file.Close(), os.Remove(path)); err != nil {
		return fmt.Errorf("write %d bytes in the data directory: %w", probeBytes, err)
	}
	return nil
}

func (s *sqliteDB) Ping(ctx context.Context) error { return Translate(s.readers.PingContext(ctx)) }

func (s *sqliteDB) Close() error {
	return errors.Join(s.writer.close(), s.reads.close(), s.readers.Close(), s.writes.Close())
}

func (s *sqliteDB) Changed() <-chan struct{} { return nil }
func (s *sqliteDB) Listening() bool          { return false }
func (s *sqliteDB) Shared() bool             { return false }

// isDamaged reports whether SQLite found that a file is not an intact database.
func isDamaged(err error) bool {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := failure.Code() & 0xff // the primary code
	return code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_CORRUPT
}

// translateSQLite is Translate for an error of SQLite.
func translateSQLite(err error) error {
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
