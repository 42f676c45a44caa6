package scan

import (
	"os"
	"path/filepath"
	"strings"
)

// versioned returns a model.Options.Versioned: a file is in a repository if a directory above it has .git, and no .gitignore excludes it.
func versioned() func(file string) bool {
	r := newRepositories()
	return func(file string) bool {
		absolute, err := filepath.Abs(file)
		return err == nil && file != stdinName && r.has(absolute)
	}
}

// repositories remembers what it has read.
type repositories struct {
	roots   map[string]string    // of the repository of a directory; "" without one
	ignored map[string][]pattern // of the .gitignore of a directory
}

func newRepositories() repositories {
	return repositories{roots: map[string]string{}, ignored: map[string][]pattern{}}
}

func (r repositories) has(file string) bool {
	root := r.root(filepath.Dir(file))
	if root == "" {
		return false
	}
	inside, err := filepath.Rel(root, file)
	names := strings.Split(filepath.ToSlash(inside), "/")
	lists := [][]pattern{}
	for i := range names {
		lists = append(lists, r.patterns(filepath.Join(append([]string{root}, names[:i]...)...)))
	}
	return err == nil && !excludedPath(names, lists)
}

func (r repositories) root(directory string) string {
	root, known := r.roots[directory]
	if !known {
		if _, err := os.Lstat(filepath.Join(directory, ".git")); err == nil {
			root = directory
		} else if parent := filepath.Dir(directory); parent != directory {
			root = r.root(parent)
		}
		r.roots[directory] = root
	}
	return root
}

// patterns reads a .gitignore. One that cannot be read excludes nothing.
func (r repositories) patterns(directory string) []pattern {
	patterns, known := r.ignored[directory]
	if !known {
		patterns, _ = readPatterns(os.DirFS(directory), ".gitignore")
		r.ignored[directory] = patterns
	}
	return patterns
}
