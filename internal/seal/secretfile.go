package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/regwarden/regwarden/secret"
)

// maxSecretFile bounds a file that holds a secret: a private key in PEM is the longest.
const maxSecretFile = 64 << 10

// ErrLaxMode is returned for a file with a secret that others than its owner can read or write.
var ErrLaxMode = errors.New("the file is open to other users")

// ReadSecretFile returns the content of a file that holds a secret, at most 64 KiB. It refuses a file that its group or
// others may use (ErrLaxMode), except one of root's that our group may read. A missing file is fs.ErrNotExist. What is
// not a regular file is refused as well: reading a pipe may never end.
func ReadSecretFile(path string) (secret.String, error) {
	file, err := os.Open(path) // #nosec G304 -- the operator names the file
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat() // of the open file, so that it cannot be changed in between
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	owner, self := ownerOf(info)
	if mode := info.Mode().Perm(); lax(mode, owner, self) {
		return "", fmt.Errorf("%s has mode %04o; run chmod 600 %s: %w", path, mode, path, ErrLaxMode)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	if err == nil && len(text) > maxSecretFile {
		err = fmt.Errorf("%s is longer than %d KiB", path, maxSecretFile>>10)
	}
	return secret.String(text), err
}

// lax reports whether others than its owner may use a file of ours. A file of root's may be read by its group
// while we are not root: that is how Kubernetes and systemd pass a secret to a service (PostgreSQL checks its
// key files the same way).
func lax(mode fs.FileMode, owner, self int) bool {
	if owner == 0 && self != 0 {
		return mode&0o037 != 0
	}
	return mode&0o077 != 0
}
