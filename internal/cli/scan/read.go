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

// ReadOptions is what to read and how.
type ReadOptions struct {
	model.Options
	Exclude []string  // patterns of paths that are not read, with the meaning of .gitignore
	Stdin   io.Writer // gets a copy of standard input; nil: none is needed
	Since   string    // revision of git; not empty: what is in files that changed since then, or depends on one
	// Complete changes what was found, before Since leaves out what did not change: it may depend on all of it. nil: nothing is changed.
	Complete func(*model.Result)
}

// Read returns what files and directories have. Those outside of the named directories, or of the directory of a named file, are not
// opened, also not through symbolic links. The error means that a path cannot be read.
func Read(ctx context.Context, paths []string, stdin io.Reader, o ReadOptions) (result model.Result, err error) {
	o.Versioned = versioned()
	r := reader{ReadOptions: o, stdin: stdin}
	for _, text := range o.Exclude {
		p, ok, err := parsePattern(text)
		if err != nil {
			return result, fmt.Errorf("--exclude: %w", err)
		}
		if ok {
			r.exclude = append(r.exclude, p)
		}
	}
	if o.Since != "" {
		result, err = r.since(ctx, paths)
	} else {
		result, err = r.read(ctx, paths)
	}
	result.Validate()
	return result, err
}

// reader reads the paths of a command line.
type reader struct {
	ReadOptions
	stdin    io.Reader
	exclude  []pattern
	scanner  *definitions.Scanner
	excluded int
	changes  map[string]changes // by path; nil unless what changed is not read
}

func (r *reader) read(ctx context.Context, paths []string) (model.Result, error) {
	r.scanner, r.excluded = definitions.NewScanner(r.Options), 0
	for _, path := range paths {
		if err := r.add(ctx, path); err != nil {
			return model.Result{}, err
		}
	}
	result := r.scanner.Result()
	result.Summary.Excluded = r.excluded
	if r.Complete != nil {
		r.Complete(&result)
	}
	return result, nil
}

func (r *reader) add(ctx context.Context, path string) error {
	if path == Stdin {
		return r.addStdin()
	}
	found, info, err := find(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return r.inTree(path, path, found, func(t *tree) error { return r.scanner.AddTree(ctx, t.name, t) })
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot read %q: not a file or directory; to read a pipe, give it as standard input and %s as the path", path,
			Stdin)
	}
	name := filepath.Base(found)
	return r.inTree(path, filepath.Dir(path), filepath.Dir(found), func(t *tree) error {
		if t.hidden[name] || t.excludesFile(name) {
			return nil
		}
		return cannotRead(path, r.scanner.AddFile(t.name, t, name))
	})
}

// find returns where a path leads. The user may name a link; links below it are not followed.
func find(path string) (string, fs.FileInfo, error) {
	found, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, cannotRead(path, err)
	}
	info, err := os.Stat(found)
	return found, info, cannotRead(path, err)
}

func (r *reader) addStdin() error {
	counted := &counter{Reader: r.stdin}
	if r.Stdin != nil {
		counted.Reader = io.TeeReader(r.stdin, r.Stdin)
	}
	if err := r.scanner.AddReader(stdinName, counted); err != nil {
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

// inTree calls read with a file system that no symbolic link leaves. name is that of the directory as the user named it.
func (r *reader) inTree(path, name, directory string, read func(*tree) error) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return cannotRead(path, err)
	}
	defer root.Close()
	t := &tree{FS: root.FS(), root: root, name: filepath.ToSlash(name), exclude: r.exclude, hidden: r.changes[path].names}
	defer t.leave()
	if err := t.addAbove(directory); err != nil {
		return err
	}
	if err := read(t); err != nil {
		return err
	}
	r.excluded += t.excluded
	return t.err
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
