package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/regwarden/regwarden/internal/seal"
)

// Errors of Backup and Restore that say what to do rather than what went wrong.
var (
	ErrInTheWay = errors.New("there is something in its place already")
	ErrNoBackup = errors.New("this is no whole backup")
	ErrNoFile   = errors.New("the store is in PostgreSQL, which is backed up and restored with its own means: pg_basebackup, pg_dump")
)

// Backup writes a consistent copy of the database to a new file of mode 0600, while others read and write.
// The file is durable and under its name only when Backup returns nil; a file that is there is ErrInTheWay.
// Secrets in it are sealed as in the database: the master key is not part of it. ErrNoFile on PostgreSQL.
func (db *DB) Backup(ctx context.Context, target string) (err error) {
	if db.options.DatabaseURL != "" {
		return ErrNoFile
	}
	if target, err = filepath.Abs(target); err != nil { // SQLite takes some relative names for URIs
		return fmt.Errorf("find the backup's folder: %w", err)
	}
	part := target + ".part"
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%w: %s", ErrInTheWay, filepath.Base(target)))
	}
	file, err := createPart(part)
	if err != nil {
		return fmt.Errorf("create the backup file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), ignoreMissing(os.Remove(part))) }()
	source, err := openSQLite(filepath.Join(db.options.DataDir, databaseName), 1, false)
	if err != nil {
		return fmt.Errorf("open the database to copy it: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if _, err := source.ExecContext(ctx, "VACUUM INTO $1", part); err != nil { // one read transaction: writers go on
		return fmt.Errorf("copy the database: %w", translate(err))
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("write the backup to disk: %w", err)
	}
	return publish(part, target)
}

// createPart creates and locks the file that a backup grows in, in place of one that a killed backup left. It is not
// created by SQLite, which would leave its mode to the umask.
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
	if taken, err := lockFile(file); err != nil || !taken { // by a backup that takes this one for stale
		return nil, errors.Join(err, file.Close(), fmt.Errorf("%w: %s", ErrInTheWay, filepath.Base(path)))
	}
	return file, nil
}

// removeStale removes a part file unless a running backup holds its lock, which ends with the process.
func removeStale(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a file of ours", ErrInTheWay, filepath.Base(path))
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0) // #nosec G304 -- as above
	if err != nil {
		return ignoreMissing(err)
	}
	defer func() { _ = file.Close() }()
	taken, err := lockFile(file)
	if err == nil && !taken {
		err = fmt.Errorf("%w: another backup writes %s", ErrInTheWay, filepath.Base(path))
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// publish gives a finished file its name, which must be free: a link fails where a rename would replace.
func publish(part, target string) error {
	err := os.Link(part, target)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", ErrInTheWay, filepath.Base(target))
	}
	if err != nil {
		return fmt.Errorf("name the finished file: %w", err)
	}
	return syncFolder(filepath.Dir(target))
}

func syncFolder(path string) error {
	folder, err := os.Open(path) // #nosec G304 -- the operator's folder
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Restore puts a backup into a data directory that has no database, after making sure that it is whole and that
// the master key, which must be in its place already, opens it. A backup made before that key was rotated in needs the
// key of its time as former; the restored store is encrypted with the key in place. Nothing is changed otherwise. No
// server may run on the directory: ErrLocked. ErrNoFile for a store in PostgreSQL.
func Restore(ctx context.Context, o Options, backup string, former seal.MasterKey) (err error) {
	if o.DatabaseURL != "" {
		return ErrNoFile
	}
	if o.DataDir, err = filepath.Abs(o.DataDir); err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	server, err := LockServer(o.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Release()) }()
	opening, err := lockOpening(ctx, o.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opening.Release()) }()

	target := filepath.Join(o.DataDir, databaseName)
	for _, beside := range []string{"", "-wal", "-shm"} {
		if _, err := os.Lstat(target + beside); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%w: %s; move it away first", ErrInTheWay, target+beside))
		}
	}
	part := target + ".part"
	if err := copyFile(backup, part); err != nil {
		return fmt.Errorf("copy the backup: %w", err)
	}
	defer func() { err = errors.Join(err, ignoreMissing(os.Remove(part))) }()
	ring, err := examine(ctx, o, former, part)
	if err == nil && !former.IsZero() {
		err = rewrapFile(ctx, o, ring, part)
	}
	if err != nil {
		return err
	}
	return publish(part, target)
}

// copyFile makes a durable copy of mode 0600, over what an interrupted restore left.
func copyFile(from, to string) error {
	source, err := os.Open(from) // #nosec G304 -- the operator names the file
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	if err := ignoreMissing(os.Remove(to)); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- in the operator's folder
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, seal.GiveToOwnerOf(filepath.Dir(to), file), file.Sync(), file.Close())
}

// examine returns the keyring of the file at path if that is a whole store of ours. It is opened with the former
// master key if there is one, else with the key in place.
func examine(ctx context.Context, o Options, former seal.MasterKey, path string) (ring *seal.Keyring, err error) {
	db, err := openSQLite(path, 1, true)
	if err != nil {
		return nil, fmt.Errorf("open the backup: %w", err)
	}
	defer func() {
		err = errors.Join(err, db.Close(), ignoreMissing(os.Remove(path+"-wal")), ignoreMissing(os.Remove(path+"-shm")))
	}()
	if err := intact(ctx, db); err != nil {
		return nil, err
	}
	if !former.IsZero() {
		o.MasterKey = former
	}
	ring, err = existingKeyring(ctx, o, db)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, seal.ErrWrongKey):
		return nil, fmt.Errorf("%w; name the master key of the time of the backup with --master-key-file, such as master.key.<time> after a rotation", err)
	case err == nil && ring == nil:
		return nil, fmt.Errorf("%w: it has no keyring", ErrNoBackup)
	}
	return ring, err
}

// rewrapFile encrypts the keyring in the database file at path with the master key in place.
func rewrapFile(ctx context.Context, o Options, ring *seal.Keyring, path string) error {
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
	db, err := openSQLite(path, 1, false)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	_, err = db.ExecContext(ctx, sqlRewrapKeyset, wrapped, millis(o.now()))
	return errors.Join(translate(err), db.Close()) // the end of the last connection writes the log into the file
}

// intact has SQLite look at every page and index. A file that is no database fails at the first question.
func intact(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return fmt.Errorf("%w: %w", ErrNoBackup, err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrNoBackup, verdict)
	}
	return nil
}
