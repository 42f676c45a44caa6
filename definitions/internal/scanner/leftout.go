package scanner

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Directories that a walk leaves out unless Options.All is set: what is there is not what a team uses.
const (
	vendored      = "vendor node_modules third_party bower_components .terraform"
	documentation = "doc docs documentation example examples sample samples"
	testData      = "testdata .chainsaw-test .kyverno-test test-data test_data fixtures __fixtures__ __tests__ __snapshots__"
	testsOfCode   = "test tests e2e spec"
)

// codeFiles are in the root of a program's repository. In others, test may be the name of an environment.
const codeFiles = "go.mod package.json pyproject.toml setup.py Cargo.toml pom.xml build.gradle Gemfile composer.json CMakeLists.txt"

// maxLeftOut limits the directories that a result names.
const maxLeftOut = 1000

// walk is a walk of one tree.
type walk struct {
	s      *Scanner
	name   string // of the tree
	files  int
	ofCode bool // whether the tree is the repository of a program
}

func (s *Scanner) newWalk(name string, fsys fs.FS) *walk {
	w := &walk{s: s, name: name}
	if part, ok := fsys.(interface{ Whole() fs.FS }); ok {
		fsys = part.Whole()
	}
	w.ofCode = slices.ContainsFunc(strings.Fields(codeFiles), func(file string) bool {
		_, err := fs.Stat(fsys, file)
		return err == nil
	})
	return w
}

// skips reports whether a directory is not read, and notes that it is left out.
func (w *walk) skips(p string) bool {
	name := path.Base(p)
	switch {
	case name == ".git":
		return true
	case p == "." || w.s.Options.All:
		return false
	case slices.Contains(strings.Fields(vendored+" "+documentation+" "+testData), name):
	case w.ofCode && slices.Contains(strings.Fields(testsOfCode), name):
	default:
		return false
	}
	if w.s.result.Summary.LeftOut++; w.s.result.Summary.LeftOut <= maxLeftOut {
		w.s.result.LeftOut = append(w.s.result.LeftOut, path.Join(w.name, p))
	}
	return true
}
