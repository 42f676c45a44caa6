package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/regwarden/regwarden/internal/storage/seal"
)

// Restoration is how a backup is restored.
type Restoration struct {
	Keys                 func() ([]seal.MasterKey, error) // one of them authenticates the backup
	AllowUnauthenticated bool                             // accept a backup without an authentication code
	Migrations           fs.FS
	Check                func(context.Context, *Raw) error // reads the verified copy
	Change               func(context.Context, *Raw) error // changes the copy, if it is not nil
}

// Restore copies a backup to a data directory that has no database, and returns when the backup was written: zero for one that is not
// authenticated. It authenticates the copy before SQLite opens it, compares its tables with those of its migrations, reads every
// page, and then calls Check and Change. Nothing is changed when one of these returns an error. No server may run on the directory:
// ErrLocked.
func Restore(ctx context.Context, dir, backup string, r Restoration) (at time.Time, err error) {
	source, err := os.Open(backup) // #nosec G304 -- the operator names the file
	if err != nil {
		return at, fmt.Errorf("open the backup: %w", err)
	}
	defer func() { _ = source.Close() }()
	server, err := LockServer(dir)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, server.Release()) }()
	opening, err := lockDir(ctx, dir)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, opening.Release()) }()

	target := filepath.Join(dir, FileName)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if _, err := os.Lstat(target + suffix); !errors.Is(err, fs.ErrNotExist) {
			return at, errors.Join(err, fmt.Errorf("%s %w; move it to another directory", target+suffix, ErrFileExists))
		}
	}
	part := target + ".part"
	defer func() { err = errors.Join(err, removePart(part)) }()
	if err := copyFile(source, part); err != nil {
		return at, fmt.Errorf("copy the backup: %w", err)
	}
	if at, err = r.prepare(ctx, part); errors.Is(err, ErrNoBackup) {
		err = fmt.Errorf("%s %w", backup, err)
	}
	if err != nil {
		return at, err
	}
	return at, publish(part, target)
}

// prepare authenticates, verifies and changes the copy of a backup.
func (r Restoration) prepare(ctx context.Context, part string) (at time.Time, err error) {
	if at, err = r.authenticate(part); err != nil {
		return at, err
	}
	if err := r.verify(ctx, part); err != nil {
		return at, err
	}
	if r.Change == nil {
		return at, nil
	}
	return at, withFile(ctx, part, false, r.Change) // the end of the last connection writes the log into the file
}

// authenticate verifies and removes the last line of a backup, before anything else of it is read.
func (r Restoration) authenticate(part string) (at time.Time, err error) {
	file, err := os.OpenFile(part, os.O_RDWR, 0) // #nosec G304 -- in the operator's directory
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !isDatabase(file) {
		return at, ErrNoBackup
	}
	line, err := readTrailer(file)
	if err != nil {
		return at, err
	}
	if line == nil && r.AllowUnauthenticated {
		return at, nil
	}
	if line == nil {
		return at, fmt.Errorf("%w: no authentication code is at its end, so it was changed or cut off, or an older regwarden wrote it; "+
			"if an older one wrote it and no one else could change it, add --allow-unauthenticated", ErrNoBackup)
	}
	keys, err := r.Keys()
	if err == nil {
		err = line.verify(file, keys)
	}
	if err != nil {
		return at, err
	}
	return line.at, errors.Join(file.Truncate(line.content), file.Sync())
}

// isDatabase reports whether a file begins as one of SQLite.
func isDatabase(file io.ReaderAt) bool {
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	_, err := file.ReadAt(head, 0)
	return err == nil && string(head) == magic
}

// verify calls Check with the database file at path if its tables are known and every page of it is intact.
func (r Restoration) verify(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return readOnly(ctx, path, func(ctx context.Context, db *Raw) error {
		if err := db.CheckSchema(ctx, r.Migrations); isDamaged(err) || errors.Is(err, ErrOtherSchema) {
			return fmt.Errorf("%w: %w", ErrNoBackup, err)
		} else if err != nil {
			return err
		}
		if err := checkIntegrity(ctx, db, info.Size()); err != nil {
			return err
		}
		return r.Check(ctx, db)
	})
}

// readOnly calls use with a database file that no other process has open, and removes what SQLite created next to it.
func readOnly(ctx context.Context, path string, use func(context.Context, *Raw) error) error {
	err := withFile(ctx, path, true, use)
	return errors.Join(err, removeLogs(path))
}

func removeLogs(path string) (err error) {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		err = errors.Join(err, ignoreMissing(os.Remove(path+suffix)))
	}
	return err
}

func removePart(path string) error {
	return errors.Join(ignoreMissing(os.Remove(path)), removeLogs(path))
}

func withFile(ctx context.Context, path string, readOnly bool, use func(context.Context, *Raw) error) error {
	db, err := OpenFile(path, readOnly)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	return errors.Join(use(ctx, db), db.Close())
}

// copyFile creates a durable copy of mode 0600, and replaces what an interrupted restore left: SQLite would add the log of that one to
// the copy.
func copyFile(source io.Reader, to string) error {
	if err := removePart(to); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- in the operator's directory
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, seal.GiveToOwnerOf(filepath.Dir(to), file), file.Sync(), file.Close())
}

// checkIntegrity makes SQLite read every page and index of a file of that size, which must have nothing else.
func checkIntegrity(ctx context.Context, db *Raw, size int64) error {
	var pages, pageSize int64
	err := db.QueryRowContext(ctx, "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size").Scan(&pages, &pageSize)
	if err == nil && pages*pageSize != size {
		return fmt.Errorf("%w: it has %d bytes instead of %d", ErrNoBackup, size, pages*pageSize)
	}
	var result string
	if err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result)
	}
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
