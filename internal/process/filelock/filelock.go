// Package filelock locks files between processes. The operating system releases a lock when the file is closed, also after a crash.
package filelock

import (
	"context"
	"os"
	"time"

	"github.com/regwarden/regwarden/internal/loop"
)

// Try opens a file, which it creates if it is missing, and locks it exclusively without waiting. The result is nil if the
// file is locked already. Closing the file releases the lock.
func Try(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- of the user or the operator
	if err != nil {
		return nil, err
	}
	if taken, err := Lock(file); err != nil || !taken {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Wait is Try that waits for the lock.
func Wait(ctx context.Context, path string) (*os.File, error) {
	for {
		if file, err := Try(path); file != nil || err != nil {
			return file, err
		}
		if err := loop.Sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
