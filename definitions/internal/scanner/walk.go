package scanner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/regwarden/regwarden/definitions/model"
)

// AddTree adds the files of a file system. name is put before their paths in sources, as the user named the directory. Symbolic links,
// devices and pipes are not opened; files over 8 MiB, .git, and what Options.All describes are skipped. Files and directories that may
// not be read are problems, not an error.
func (s *Scanner) AddTree(ctx context.Context, name string, fsys fs.FS) error {
	w := s.newWalk(name, fsys)
	return fs.WalkDir(fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.Problem(model.Source{File: path.Join(name, p)}, model.ProblemWrongShape, "The file cannot be read: %v.", errors.Unwrap(err))
			return nil
		case entry.IsDir() && w.skips(p):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			s.result.Summary.Silent.Irregular++
			return nil
		case isForeign(p):
			s.result.Summary.Silent.Foreign++
			return nil
		}
		if w.files++; w.files > maxFiles {
			return fmt.Errorf("%s has more than %d files; give the directories with definitions", path.Join(name, "."), maxFiles)
		}
		s.addWalked(&File{Scanner: s, Name: path.Join(name, p), Tree: fsys, Path: p, found: true}, entry)
		return nil
	})
}

// AddFile adds one file of a file system. It may refer to other files there. With Options.SkipUnknown it is as if a walk found it.
func (s *Scanner) AddFile(name string, fsys fs.FS, p string) error {
	info, err := fs.Stat(fsys, p)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path.Join(name, p))
	}
	switch {
	case s.Options.SkipUnknown && isForeign(p):
		s.result.Summary.Silent.Foreign++
		return nil
	case !s.Options.SkipUnknown && info.Size() > maxFile:
		return errTooLarge
	}
	f := &File{Scanner: s, Name: path.Join(name, p), Tree: fsys, Path: p, found: s.Options.SkipUnknown}
	f.Data, err = readFile(fsys, p)
	s.addRead(f, err)
	return nil
}

// addWalked adds a file of a walk.
func (s *Scanner) addWalked(f *File, entry fs.DirEntry) {
	info, err := entry.Info()
	if err == nil {
		f.Data, err = readRegular(f.Tree, f.Path, info)
	}
	s.addRead(f, err)
}

// addRead adds a file that was read, or the error of reading it.
func (s *Scanner) addRead(f *File, err error) {
	switch {
	case err == nil:
		s.add(f)
	case errors.Is(err, errTooLarge):
		s.result.Summary.Silent.TooLarge++
	default:
		s.Problem(f.At(0, ""), model.ProblemWrongShape, "The file cannot be read: %v.", err)
	}
}

var errTooLarge = fmt.Errorf("larger than %d MiB", maxFile>>20)

// readFile reads a regular file of limited size. A pipe, which would block, is not opened.
func readFile(fsys fs.FS, p string) ([]byte, error) {
	if !fs.ValidPath(p) {
		return nil, fmt.Errorf("%s is outside of the directory that is read", p)
	}
	info, err := fs.Lstat(fsys, p)
	if err != nil {
		return nil, err
	}
	return readRegular(fsys, p, info)
}

func readRegular(fsys fs.FS, p string, info fs.FileInfo) ([]byte, error) {
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > maxFile:
		return nil, errTooLarge
	}
	opened, err := fsys.Open(p)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // so that it does not grow
	if _, err = data.ReadFrom(io.LimitReader(opened, maxFile+1)); err == nil && data.Len() > maxFile {
		err = errTooLarge
	}
	return data.Bytes(), err
}
