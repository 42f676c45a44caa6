package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/regwarden/regwarden/internal/process/filelock"
	"github.com/regwarden/regwarden/internal/storage/seal"
)

// Lock is a held lock on a data directory. The operating system releases it at the end of the process, also after a crash.
type Lock struct{ file *os.File }

// LockServer takes the lock that one server may hold on a data directory, which is created when it is missing. It
// returns ErrLocked when another server holds it. Commands of the command line do not take it: they may run while the
// server does.
func LockServer(dir string) (*Lock, error) {
	if err := CreateDir(dir); err != nil {
		return nil, err
	}
	file, err := filelock.Try(filepath.Join(dir, "server.lock"))
	if err == nil && file == nil {
		return nil, fmt.Errorf("%w: %s; stop it, or give this one its own --data-dir", ErrLocked, dir)
	}
	return held(dir, file, err)
}

// Release releases the lock.
func (l *Lock) Release() error { return l.file.Close() }

// lockDir waits for the lock of opening the database in a directory.
func lockDir(ctx context.Context, dir string) (*Lock, error) {
	file, err := filelock.Wait(ctx, filepath.Join(dir, "open.lock"))
	return held(dir, file, err)
}

// held returns a lock that was taken with err. Its file belongs to the owner of the directory.
func held(dir string, file *os.File, err error) (*Lock, error) {
	if err == nil && runtime.GOOS == "windows" {
		err = errors.New("a store needs a Unix system; log in to a server (`regwarden login`), or use `regwarden check` and `scan`, " +
			"which need neither")
	}
	if err == nil {
		err = seal.GiveToOwnerOf(dir, file)
	}
	if err != nil {
		_ = file.Close() // nil if it was not taken
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	return &Lock{file: file}, nil
}

// CreateDir creates a data directory for its owner alone. The mode of one that exists is the operator's choice; the files
// in it have mode 0600 in any case.
func CreateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the data directory: %w; name another one with --data-dir", err)
	}
	return nil
}
