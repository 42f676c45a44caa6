package sqldb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/regwarden/regwarden/internal/seal"
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
	lock, taken, err := tryLock(filepath.Join(dir, "server.lock"))
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if !taken {
		return nil, fmt.Errorf("%w: %s; stop it, or give this one its own --data-dir", ErrLocked, dir)
	}
	return lock, nil
}

// Release releases the lock.
func (l *Lock) Release() error { return l.file.Close() }

// lockDir waits for the lock of opening the database in a directory.
func lockDir(ctx context.Context, dir string) (*Lock, error) {
	path := filepath.Join(dir, "open.lock")
	for {
		lock, taken, err := tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("lock the data directory to open it: %w", err)
		}
		if taken {
			return lock, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process to open the data directory: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func tryLock(path string) (*Lock, bool, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- in the operator's directory
	if err != nil {
		return nil, false, err
	}
	taken, err := lockFile(file)
	if err == nil && taken {
		err = seal.GiveToOwnerOf(filepath.Dir(path), file)
	}
	if err != nil || !taken {
		_ = file.Close()
		return nil, false, err
	}
	return &Lock{file: file}, true, nil
}

// CreateDir creates a data directory for its owner alone. The mode of one that exists is the operator's choice; the files
// in it have mode 0600 in any case.
func CreateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	return nil
}
