package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeFile writes a file so that its readers see the old or the new content. A device or a pipe is written to as it is, and a symbolic
// link stays. /dev/stdout is appended to, also if it is a file: others write to it too.
func writeFile(name string, content []byte) error {
	if isDevice(name) {
		return appendTo(name, os.O_APPEND|os.O_WRONLY, content)
	}
	name, info := destination(name)
	if info != nil && !info.Mode().IsRegular() {
		return os.WriteFile(name, content, 0o600)
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails after the rename
	_, err = temporary.Write(content)
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(temporary.Name(), 0o644); err != nil { // #nosec G302 -- other programs read reports
		return err
	}
	return os.Rename(temporary.Name(), name)
}

// CheckWritable returns why writeFile could not write a file, before a scan. It does not open a device or a pipe.
func CheckWritable(name string) error {
	path, info := destination(name)
	switch {
	case isDevice(name) && info == nil:
		return fmt.Errorf("cannot write %q: it does not exist", name)
	case info != nil && info.IsDir():
		return fmt.Errorf("cannot write %q: it is a directory", name)
	case info != nil && (isDevice(name) || !info.Mode().IsRegular()):
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("cannot write %q: its directory %s", name, cause(err))
	}
	return errors.Join(temporary.Close(), os.Remove(temporary.Name()))
}

// isDevice reports whether a name is that of a device or of an open file, such as /dev/stdout and /proc/self/fd/3. A regular file that it
// leads to belongs to the program that opened it, and must not be replaced.
func isDevice(name string) bool {
	clean := filepath.Clean(name)
	return strings.HasPrefix(clean, "/dev/") && !strings.HasPrefix(clean, "/dev/shm/") || strings.HasPrefix(clean, "/proc/")
}

// destination returns the file that symbolic links lead to, with nil if it does not exist. A link to a file that does not exist is
// returned itself: a write through it creates the file. /dev/stdout is such a link if standard output is a pipe.
func destination(name string) (string, fs.FileInfo) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	info, err := os.Lstat(name)
	if err != nil {
		return name, nil
	}
	return name, info
}

func cause(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "may not be written to"
	}
	return "cannot be written to: " + err.Error()
}

// appendFile appends to a file, which is created if it does not exist.
func appendFile(name string, content []byte) error {
	return appendTo(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, content)
}

func appendTo(name string, flags int, content []byte) error {
	file, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}
