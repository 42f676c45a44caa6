package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/regwarden/regwarden/internal/filelock"
	"github.com/regwarden/regwarden/internal/seal"
)

// Errors of Backup and Restore that an operator can correct.
var (
	ErrFileExists = errors.New("already exists")                     // after the name of the file
	ErrNoBackup   = errors.New("is not a complete regwarden backup") // after the name of the file
	ErrNoFile     = errors.New("the store is in PostgreSQL; back it up and restore it with the tools of PostgreSQL: pg_basebackup, pg_dump")
)

// Backup writes a consistent copy of the database to a new file of mode 0600, while other transactions run. The file has
// its name, and is durable, only when Backup returns nil. ErrFileExists: there is a file of that name. ErrNoFile: the database
// is not a file.
func (db *DB) Backup(ctx context.Context, target string) (err error) {
	s, isFile := db.engine.(*sqliteDB)
	if !isFile {
		return ErrNoFile
	}
	if target, err = filepath.Abs(target); err != nil { // SQLite takes some relative names for URIs
		return fmt.Errorf("find the directory of the backup: %w", err)
	}
	part := target + ".part"
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, nameTaken(target))
	}
	file, err := createPart(part)
	if err != nil {
		return fmt.Errorf("create the backup file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), ignoreMissing(os.Remove(part))) }()
	source, err := OpenFile(filepath.Join(s.dir, FileName), false)
	if err != nil {
		return fmt.Errorf("open the database to copy it: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if _, err := source.ExecContext(ctx, "VACUUM INTO $1", part); err != nil { // one read transaction: writers continue
		return fmt.Errorf("copy the database: %w", Translate(err))
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("write the backup to disk: %w", err)
	}
	return publish(part, target)
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

// Restore copies a backup to a data directory that has no database. It verifies a copy, then calls check with it, then
// change, if that is not nil, which may write to it. Nothing is changed when one of them returns an error. No server may run on the
// directory: ErrLocked.
func Restore(ctx context.Context, dir, backup string, check, change func(context.Context, *Raw) error) (err error) {
	source, err := os.Open(backup) // #nosec G304 -- the operator names the file
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	defer func() { _ = source.Close() }()
	server, err := LockServer(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Release()) }()
	opening, err := lockDir(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opening.Release()) }()

	target := filepath.Join(dir, FileName)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if _, err := os.Lstat(target + suffix); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%s %w; move it to another directory", target+suffix, ErrFileExists))
		}
	}
	part := target + ".part"
	if err := copyFile(source, part); err != nil {
		return fmt.Errorf("copy the backup: %w", err)
	}
	defer func() { err = errors.Join(err, ignoreMissing(os.Remove(part))) }()
	if err = verify(ctx, part, check); errors.Is(err, ErrNoBackup) {
		err = fmt.Errorf("%s %w", backup, err)
	}
	if err == nil && change != nil {
		err = withFile(ctx, part, false, change) // the end of the last connection writes the log into the file
	}
	if err != nil {
		return err
	}
	return publish(part, target)
}

// verify calls check with the database file at path if every page of it is intact.
func verify(ctx context.Context, path string, check func(context.Context, *Raw) error) error {
	err := withFile(ctx, path, true, func(ctx context.Context, db *Raw) error {
		if err := checkIntegrity(ctx, db); err != nil {
			return err
		}
		return check(ctx, db)
	})
	return errors.Join(err, ignoreMissing(os.Remove(path+"-wal")), ignoreMissing(os.Remove(path+"-shm")))
}

func withFile(ctx context.Context, path string, readOnly bool, use func(context.Context, *Raw) error) error {
	db, err := OpenFile(path, readOnly)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	return errors.Join(use(ctx, db), db.Close())
}

// copyFile creates a durable copy of mode 0600, and replaces what an interrupted restore left.
func copyFile(source io.Reader, to string) error {
	if err := ignoreMissing(os.Remove(to)); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- in the operator's directory
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, seal.GiveToOwnerOf(filepath.Dir(to), file), file.Sync(), file.Close())
}

// checkIntegrity makes SQLite read every page and index. For a file that is not a database the query fails.
func checkIntegrity(ctx context.Context, db *Raw) error {
	var result string
	err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result)
	if isDamaged(err) {
		return ErrNoBackup
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBackup, err)
	}
	if result != "ok" {
		return fmt.Errorf("%w: %s", ErrNoBackup, result)
	}
	return nil
}
