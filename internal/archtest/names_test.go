package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plainName is what files and directories are named with. A redirect in a mistyped command makes other ones.
var plainName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// extensions are those of the files of the repository, and withoutExtension the files that have none. A new kind of file needs a line.
var (
	extensions = strings.Fields(`.go .mod .sum .sql .md .html .css .js .mjs .svg .png .yaml .yml .json .txt .sh .conf .service
		.tpl .gitignore .gitattributes .editorconfig .dockerignore`)
	withoutExtension = strings.Fields(`LICENSE Makefile fuzz .ci/run deploy/Dockerfile deploy/release deploy/ci/install
		deploy/ci/pre-commit test/all test/in-memory test/install-deps test/release-check`)
	directories = strings.Fields(".ci .github api client cmd definitions demo deploy docs egress internal regcheck secret test")
)

// isKnown reports whether the repository has files like the named one: below a known directory, with a known extension.
func isKnown(name string) bool {
	top, _, nested := strings.Cut(name, "/")
	if extension := path.Ext(name); extension == "" {
		return slices.Contains(withoutExtension, name)
	} else if !slices.Contains(extensions, extension) {
		return false
	}
	return !nested || slices.Contains(directories, top)
}

// oddNames returns the files of other kinds, and the files and directories with other names, below root, except in testdata and in what
// .gitignore there lists. It walks the tree, so that a new file counts before it is tracked, and a tree without the history has them too.
func oddNames(t *testing.T, root string) (odd []string) {
	t.Helper()
	ignored := ignoredBy(t, filepath.Join(root, ".gitignore"))
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata" || ignored(name)):
			return fs.SkipDir
		case ignored(name) || name == ".git": // a file in a worktree
		case !plainName.MatchString(entry.Name()) || !entry.IsDir() && !isKnown(name):
			odd = append(odd, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return odd
}

// ignoredBy reads a .gitignore with patterns of paths ("/bin/") and of names ("*.test").
func ignoredBy(t *testing.T, file string) func(name string) bool {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	patterns := strings.Fields(string(content))
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			of := path.Base(name)
			if strings.HasPrefix(pattern, "/") {
				of = "/" + name
			}
			matches, err := path.Match(strings.TrimSuffix(pattern, "/"), of)
			if err != nil {
				t.Fatalf("%s: %q: %v", file, pattern, err)
			}
			return matches
		})
	}
}

func TestFilesHavePlainNames(t *testing.T) {
	for _, name := range oddNames(t, filepath.Join("..", "..")) {
		t.Errorf("%q has no plain name, or is of no known kind: rename or remove it, or add its kind", name)
	}
}

func TestOddNamesAreFound(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{".gitignore": "/bin/\n*.test\n"}
	for _, name := range []string{`arning\\)"|`, "internal/a b.go", "docs/bin/a|b", "bin/a b", "a b.test",
		"internal/testdata/a:b", ".git/a b",
		"Plain_name-1.go", "docs/out", "docs/x.orig", "core.go/x", "new/a.go", "fuzz", "deploy/Dockerfile"} {
		files[name] = ""
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found := oddNames(t, root); !slices.Equal(found,
		[]string{`arning\\)"|`, "core.go/x", "docs/bin/a|b", "docs/out", "docs/x.orig", "internal/a b.go", "new/a.go"}) {
		t.Errorf("found %q", found)
	}
}
