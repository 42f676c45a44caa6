package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/regwarden/regwarden/internal/seal"
)

// Lock is a held lock on a data folder. The operating system gives it up when the process ends, however
// it ends.
type Lock struct{ file *os.File }

// LockServer takes the lock that one server may hold on a data folder, which is made when it is
// missing. It returns ErrLocked when another server has it. Commands of the command line don't take
// it: they may work beside the server.
func LockServer(dataDir string) (*Lock, error) {
	if err := makeDataDir(dataDir); err != nil {
		return nil, err
	}
	lock, taken, err := tryLock(filepath.Join(dataDir, "server.lock"))
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if !taken {
		return nil, fmt.Errorf("%w: %s; stop it, or give this one its own --data-dir", ErrLocked, dataDir)
	}
	return lock, nil
}

// Release gives the lock up.
func (l *Lock) Release() error { return l.file.Close() }

// lockOpening waits for the lock under which a store in a folder is opened.
func lockOpening(ctx context.Context, dataDir string) (*Lock, error) {
	path := filepath.Join(dataDir, "open.lock")
	for {
		lock, taken, err := tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("lock the data folder to open it: %w", err)
		}
		if taken {
			return lock, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process to open the data folder: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func tryLock(path string) (*Lock, bool, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- in the operator's folder
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

// makeDataDir makes the folder for its owner alone. The mode of a folder that is there is the
// operator's choice; the files in it are 0600 in any case.
func makeDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	return nil
}
