package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/regwarden/regwarden/secret"
)

// Maximum sizes of files: with a secret, of which private keys in PEM are the longest, and without.
const (
	maxSecretFile = 64 << 10
	maxFile       = 1 << 20
)

// ErrLaxMode is matched by the error for a file with a secret that users other than its owner can read or write.
var ErrLaxMode = errors.New("the file is accessible to other users")

// modeError is an ErrLaxMode with the command that corrects the mode.
type modeError struct {
	path string
	mode fs.FileMode
}

func (e *modeError) Error() string {
	return fmt.Sprintf("%s has mode %04o; run chmod 600 %s", e.path, e.mode, e.path)
}

func (e *modeError) Is(target error) bool { return target == ErrLaxMode }

// ReadSecretFile returns the content of a file with a secret, at most 64 KiB. It rejects a file that its group or others may
// use (ErrLaxMode), except one of root that our group may read, and everything that ReadFile rejects. The error texts begin with the path.
func ReadSecretFile(path string) (secret.String, error) {
	text, err := readFile(path, maxSecretFile, func(info fs.FileInfo) error {
		owner, self := ownerOf(info)
		// On Windows, the access lists of the directory decide, and modes say nothing.
		if mode := info.Mode().Perm(); runtime.GOOS != "windows" && lax(mode, owner, self) {
			return &modeError{path, mode}
		}
		return nil
	})
	return secret.String(text), err
}

// ReadFile returns the content of a settings file or a certificate, at most 1 MiB. It rejects anything that is not a regular file, since
// opening and reading a pipe may not end. The error texts begin with the path.
func ReadFile(path string) ([]byte, error) {
	return readFile(path, maxFile, func(fs.FileInfo) error { return nil })
}

func readFile(path string, limit int64, check func(fs.FileInfo) error) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|noWait, 0) // #nosec G304 -- the operator names the file
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s: %w", path, failed.Err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat() // of the open file, so that the file cannot be replaced in between
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := check(info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s must be at most %d KiB", path, limit>>10)
	}
	return text, err
}

// lax reports whether users other than its owner may use a file of ours. The group may read a file of root if this process
// is not root: Kubernetes and systemd pass secrets to services so, and PostgreSQL has the same rule for key files.
func lax(mode fs.FileMode, owner, self int) bool {
	if owner == 0 && self != 0 {
		return mode&0o037 != 0
	}
	return mode&0o077 != 0
}
