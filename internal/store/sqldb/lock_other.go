//go:build !unix

package sqldb

import (
	"errors"
	"os"
)

// lockFile returns an error: a database in a file needs file locks and file modes.
func lockFile(*os.File) (bool, error) {
	return false, errors.New("a store needs a Unix system; `regwarden check` works on every system")
}
