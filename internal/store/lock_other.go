//go:build !unix

package store

import (
	"errors"
	"os"
)

// lockFile refuses: without file locks and file modes the store's promises don't hold.
func lockFile(*os.File) (bool, error) {
	return false, errors.New("a store is kept on Unix systems only; `regwarden check` works everywhere")
}
