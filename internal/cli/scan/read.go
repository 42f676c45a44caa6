package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// stdinName is how sources name standard input.
const stdinName = "standard input"

// Read returns what files and directories have. Those outside of the named directories, or of the directory of a named file, are not
// opened, also not through symbolic links. The error means that a path cannot be read.
func Read(ctx context.Context, paths []string, stdin io.Reader, o model.Options) (model.Result, error) {
	s := definitions.NewScanner(o)
	for _, path := range paths {
		if err := add(ctx, s, path, stdin); err != nil {
			return model.Result{}, err
		}
	}
	result := s.Result()
	result.Validate()
	return result, nil
}

func add(ctx context.Context, s *definitions.Scanner, path string, stdin io.Reader) error {
	if path == Stdin {
		return addStdin(s, stdin)
	}
	found, err := filepath.EvalSymlinks(path) // the user may name a link; links below it are not followed
	if err != nil {
		return cannotRead(path, err)
	}
	info, err := os.Stat(found)
	switch {
	case err != nil:
		return cannotRead(path, err)
	case info.IsDir():
		return inRoot(path, found, func(tree fs.FS) error { return s.AddTree(ctx, filepath.ToSlash(path), tree) })
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot read %q: not a file or directory; to read a pipe, give it as standard input and %s as the path", path,
			Stdin)
	}
	return inRoot(path, filepath.Dir(found), func(tree fs.FS) error {
		return cannotRead(path, s.AddFile(filepath.ToSlash(filepath.Dir(path)), tree, filepath.Base(found)))
	})
}

func addStdin(s *definitions.Scanner, stdin io.Reader) error {
	counted := &counter{Reader: stdin}
	if err := s.AddReader(stdinName, counted); err != nil {
		return err
	}
	if counted.n == 0 { // the command before the pipe failed
		return errors.New("standard input is empty")
	}
	return nil
}

// counter counts what is read.
type counter struct {
	io.Reader
	n int
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// inRoot calls read with a file system that no symbolic link leaves.
func inRoot(path, directory string, read func(fs.FS) error) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return cannotRead(path, err)
	}
	defer root.Close()
	return read(root.FS())
}

// cannotRead adds the path that the user gave to an error.
func cannotRead(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read %q: no such file or directory", path)
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("cannot read %q: %w", path, err)
}

// maxNamedFile is the size of a file that a scanned file names, such as a certificate.
const maxNamedFile = 1 << 20

// ReadFile reads a regular file of limited size. It is a model.Options.ReadFile.
func ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxNamedFile {
		return nil, errors.New("not a regular file of at most 1 MiB")
	}
	return os.ReadFile(name)
}
