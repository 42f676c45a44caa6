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

// maxSecretFile is the maximum size of a file with a secret. Private keys in PEM are the longest.
const maxSecretFile = 64 << 10

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
// use (ErrLaxMode), except one of root that our group may read, and anything that is not a regular file, since reading a
// pipe may not end. The error texts begin with the path.
func ReadSecretFile(path string) (secret.String, error) {
	file, err := os.Open(path) // #nosec G304 -- the operator names the file
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return "", fmt.Errorf("%s: %w", path, failed.Err)
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat() // of the open file, so that the file cannot be replaced in between
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	owner, self := ownerOf(info)
	// On Windows, the access lists of the directory decide, and modes say nothing.
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && lax(mode, owner, self) {
		return "", &modeError{path, mode}
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	if err == nil && len(text) > maxSecretFile {
		err = fmt.Errorf("%s must be at most %d KiB", path, maxSecretFile>>10)
	}
	return secret.String(text), err
}

// lax reports whether users other than its owner may use a file of ours. The group may read a file of root if this process
// is not root: Kubernetes and systemd pass secrets to services so, and PostgreSQL has the same rule for key files.
func lax(mode fs.FileMode, owner, self int) bool {
	if owner == 0 && self != 0 {
		return mode&0o037 != 0
	}
	return mode&0o077 != 0
}
