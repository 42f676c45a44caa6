package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/process/filelock"
	"github.com/regwarden/regwarden/internal/storage/seal"
)

// Errors of Backup and Restore that an operator can correct.
var (
	ErrFileExists = errors.New("already exists")                     // after the name of the file
	ErrNoBackup   = errors.New("is not a complete regwarden backup") // after the name of the file
	ErrNoFile     = errors.New("the store is in PostgreSQL; back it up and restore it with the tools of PostgreSQL: pg_basebackup, pg_dump")
)

// Backup writes a consistent copy of the database to a new file of mode 0600, while other transactions run. It calls key with the copy,
// and authenticates it with the key that this returns. Tables that the migrations did not create, such as those of a tool for replication,
// are not in the copy: it returns their names. The file has its name, and is durable, only when the error is nil.
// ErrFileExists: there is a file of that name. ErrNoFile: the database is not a file.
func (db *DB) Backup(ctx context.Context, target string, migrations fs.FS,
	key func(context.Context, *Raw) (seal.MasterKey, error)) (leftOut []string, err error) {
	s, isFile := db.engine.(*sqliteDB)
	if !isFile {
		return nil, ErrNoFile
	}
	if target, err = filepath.Abs(target); err != nil { // SQLite takes some relative names for URIs
		return nil, fmt.Errorf("find the directory of the backup: %w", err)
	}
	part := target + ".part"
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, nameTaken(target))
	}
	file, err := createPart(part)
	if err != nil {
		return nil, fmt.Errorf("create the backup file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), removePart(part)) }()
	source, err := OpenFile(filepath.Join(s.dir, FileName), false)
	if err != nil {
		return nil, fmt.Errorf("open the database to copy it: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if _, err := source.ExecContext(ctx, "VACUUM INTO $1", part); err != nil { // one read transaction: writers continue
		return nil, fmt.Errorf("copy the database: %w", Translate(err))
	}
	if leftOut, err = leaveOut(ctx, part, migrations); err != nil {
		return nil, err
	}
	if err := authenticateCopy(ctx, file, key); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, fmt.Errorf("write the backup to disk: %w", err)
	}
	return leftOut, publish(part, target)
}

// leaveOut removes foreign tables from the copy of a database, and returns their names.
func leaveOut(ctx context.Context, path string, migrations fs.FS) (names []string, err error) {
	err = readOnly(ctx, path, func(ctx context.Context, db *Raw) (err error) {
		names, err = db.ForeignTables(ctx, migrations)
		return err
	})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return names, withFile(ctx, path, false, func(ctx context.Context, db *Raw) error { return db.dropTables(ctx, names) })
}

// dropTables removes tables, and overwrites what they had in the file. VACUUM would need memory for the whole database, since OpenFile
// creates no temporary files.
func (r *Raw) dropTables(ctx context.Context, names []string) error {
	statements := []string{"PRAGMA journal_mode = DELETE", "PRAGMA foreign_keys = OFF", "PRAGMA secure_delete = ON"}
	for _, name := range names {
		statements = append(statements, `DROP TABLE IF EXISTS "`+strings.ReplaceAll(name, `"`, `""`)+`"`)
	}
	for _, statement := range statements {
		if _, err := r.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("remove tables that are not regwarden's from the copy: %w", Translate(err))
		}
	}
	return nil
}

// authenticateCopy appends the authentication code to the copy of a database.
func authenticateCopy(ctx context.Context, file *os.File, key func(context.Context, *Raw) (seal.MasterKey, error)) error {
	var master seal.MasterKey
	err := readOnly(ctx, file.Name(), func(ctx context.Context, db *Raw) (err error) {
		master, err = key(ctx, db)
		return err
	})
	if err != nil {
		return err
	}
	if err := appendTrailer(file, master, time.Now()); err != nil {
		return fmt.Errorf("write the authentication code of the backup: %w", err)
	}
	return nil
}

// createPart creates and locks the file that a backup is written to, and replaces one that a killed backup left. SQLite would
// leave its mode to the umask.
func createPart(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // #nosec G304 -- the operator names the file
	if errors.Is(err, fs.ErrExist) {
		if err := removeStale(path); err != nil {
			return nil, err
		}
		file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // #nosec G304 -- as above
	}
	if err != nil {
		return nil, err
	}
	if taken, err := filelock.Lock(file); err != nil || !taken { // a second backup considered this file stale
		return nil, errors.Join(err, file.Close(), nameTaken(path))
	}
	return file, nil
}

// removeStale removes a part file unless a running backup holds its lock, which ends with the process.
func removeStale(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s %w and is not a regular file; remove it", filepath.Base(path), ErrFileExists)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0) // #nosec G304 -- as above
	if err != nil {
		return ignoreMissing(err)
	}
	defer func() { _ = file.Close() }()
	taken, err := filelock.Lock(file)
	if err == nil && !taken {
		err = fmt.Errorf("%s %w: another backup is writing it", filepath.Base(path), ErrFileExists)
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}

func nameTaken(path string) error {
	return fmt.Errorf("%s %w; choose another name", filepath.Base(path), ErrFileExists)
}

// publish gives a finished file its name, which must not exist: a link fails where a rename would replace.
func publish(part, target string) error {
	err := os.Link(part, target)
	if errors.Is(err, fs.ErrExist) {
		return nameTaken(target)
	}
	if err != nil {
		return fmt.Errorf("name the finished file: %w", err)
	}
	return syncDir(filepath.Dir(target))
}

func syncDir(path string) error {
	dir, err := os.Open(path) // #nosec G304 -- the operator's directory
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
