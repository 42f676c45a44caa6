package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ignoreFile has patterns of what is not read, with the meaning of .gitignore.
const ignoreFile = ".regwardenignore"

// tree is a directory without what patterns exclude. Files that others refer to can be opened although they are excluded.
type tree struct {
	fs.FS
	root     *os.Root             // of FS
	at       string               // the directory of the file that was opened last
	in       *os.Root             // of that; nil if there is none
	name     string               // as the user named the directory
	exclude  []pattern            // of the command line
	above    []ignoreList         // of the directories above
	lists    map[string][]pattern // of directories of the tree
	hidden   map[string]bool      // names that do not exist
	excluded int                  // files and directories
	err      error                // of an ignore file
}

// ignoreList has the patterns of a directory above the tree. prefix is the path of the tree in it.
type ignoreList struct {
	prefix   string
	patterns []pattern
}

func (t *tree) hasPatterns() bool { return len(t.exclude)+len(t.above)+len(t.lists) > 0 }

// excludes reports whether a path of the tree is excluded. Patterns of the command line also match the path as results show it.
func (t *tree) excludes(name string, isDir bool) bool {
	if excludes(false, t.exclude, name, isDir) || excludes(false, t.exclude, path.Join(t.name, name), isDir) {
		return true
	}
	is := false
	for _, list := range t.above {
		is = excludes(is, list.patterns, path.Join(list.prefix, name), isDir)
	}
	is = excludes(is, t.lists["."], name, isDir)
	for i, c := range name {
		if c == '/' {
			is = excludes(is, t.lists[name[:i]], name[i+1:], isDir)
		}
	}
	return is
}

// ReadDir returns the entries that are not excluded.
func (t *tree) ReadDir(directory string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.FS, directory)
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ignoreFile && e.Type().IsRegular() }) {
		t.read(directory)
	}
	if t.hidden == nil && !t.hasPatterns() {
		return entries, err
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		name := path.Join(directory, e.Name())
		if t.hidden[name] {
			return true
		}
		is := t.excludes(name, e.IsDir())
		if is {
			t.excluded++
		}
		return is
	}), err
}

// read reads the ignore file of a directory once.
func (t *tree) read(directory string) {
	if _, known := t.lists[directory]; known {
		return
	}
	patterns, err := readPatterns(t.FS, path.Join(directory, ignoreFile))
	if err != nil {
		t.err = errors.Join(t.err, fmt.Errorf("%s: %w", path.Join(t.name, directory, ignoreFile), err))
	}
	if t.lists == nil {
		t.lists = map[string][]pattern{}
	}
	t.lists[directory] = patterns
}

// readPatterns reads an ignore file, nothing if there is none.
func readPatterns(fsys fs.FS, name string) ([]pattern, error) {
	info, err := fs.Lstat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxNamedFile:
		return nil, errors.New("not a regular file of at most 1 MiB")
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return parsePatterns(data)
}

// addAbove adds the ignore files between a directory and the root of its repository. Without a repository there are none.
func (t *tree) addAbove(directory string) error {
	directory, err := filepath.Abs(directory)
	if err != nil || newRepositories().root(directory) == "" {
		return err
	}
	for at, prefix := directory, ""; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return nil
		}
		prefix, at = path.Join(filepath.Base(at), prefix), filepath.Dir(at)
		patterns, err := readPatterns(os.DirFS(at), ignoreFile)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(at, ignoreFile), err)
		}
		t.above = slices.Insert(t.above, 0, ignoreList{prefix, patterns})
	}
}

// excludesFile reports whether a file that the user named, or a directory above it, is excluded.
func (t *tree) excludesFile(name string) bool {
	var prefix []string
	var lists [][]pattern
	for _, list := range t.above {
		lists = append(lists, list.patterns)
	}
	if len(t.above) > 0 {
		prefix = strings.Split(t.above[0].prefix, "/")
	}
	t.read(".")
	lists = append(lists, t.lists["."])
	is := excludes(false, t.exclude, name, false) || excludedPath(strings.Split(path.Join(t.name, name), "/"), [][]pattern{t.exclude}) ||
		excludedPath(append(prefix, name), lists)
	if is {
		t.excluded++
	}
	return is
}

// exists returns the error of a name that is hidden.
func (t *tree) exists(name string) error {
	if t.hidden[name] {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

// Open implements fs.FS. A walk opens all files of a directory, which is found once for them.
func (t *tree) Open(name string) (fs.File, error) {
	if err := t.exists(name); err != nil {
		return nil, err
	}
	directory, base := path.Split(name)
	if directory == "" || !fs.ValidPath(name) || t.enter(path.Clean(directory)) != nil {
		return t.FS.Open(name)
	}
	if opened, err := t.in.Open(base); err == nil {
		return opened, nil
	}
	return t.FS.Open(name) // a link to another directory of the tree, or the error
}

// enter makes in the root of a directory.
func (t *tree) enter(directory string) error {
	if t.in != nil && t.at == directory {
		return nil
	}
	t.leave()
	in, err := t.root.OpenRoot(directory)
	if err == nil {
		t.at, t.in = directory, in
	}
	return err
}

// leave closes the directory that was entered last.
func (t *tree) leave() {
	if t.in != nil {
		_ = t.in.Close()
		t.in = nil
	}
}

// Stat implements fs.StatFS.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	if err := t.exists(name); err != nil {
		return nil, err
	}
	return fs.Stat(t.FS, name)
}

// Whole returns the directory with the names that are hidden. A walk decides by it which directories are left out.
func (t *tree) Whole() fs.FS { return t.FS }

// Lstat implements fs.ReadLinkFS.
func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	if err := t.exists(name); err != nil {
		return nil, err
	}
	return fs.Lstat(t.FS, name)
}

// ReadLink implements fs.ReadLinkFS.
func (t *tree) ReadLink(name string) (string, error) { return fs.ReadLink(t.FS, name) }
