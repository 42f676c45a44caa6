package scan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/needs"
)

// ignoreRules are patterns with paths, of which those that end with a slash are directories.
var ignoreRules = []struct{ patterns, paths string }{
	{"*.yaml", "a.yaml sub/b.yaml a.yml yaml"},
	{"/a.yaml", "a.yaml sub/a.yaml"},
	{"sub/a.yaml", "sub/a.yaml x/sub/a.yaml"},
	{"test/", "test/ sub/test/ sub/file x/test"},
	{"test", "test/ sub/test/ other"},
	{"**/gen", "gen/ a/gen/ a/b/gen/ generated/"},
	{"a/**", "a/ a/b a/c/d b/a"},
	{"a/**/z", "a/z a/b/z a/b/c/z z b/a/z"},
	{"a/**/b/**/c", "a/b/c a/x/b/y/c a/c a/b/b/c a/x/c"},
	{"*.yaml\n!keep.yaml", "a.yaml keep.yaml sub/keep.yaml"},
	{"sub/\n!sub/keep.yaml", "sub/keep.yaml sub/a.yaml"},
	{"/*\n!/apps", "apps/ apps/a.yaml other/ other/a.yaml"},
	{"# comment\n\n\\#a\n\\!b\nc\\ \nd ", "#a !b d comment a b"},
	{"file[0-9].yaml\nfile[!a-z].txt", "file1.yaml filea.yaml file1.txt filea.txt"},
	{"fo?", "foo fo fooo a/foo"},
	{"**", "a b/c"},
	{"/", "a b/c"},
	{"a\\*b", "a*b axb"},
	{"*", "a sub/b"},
	{"x/*", "x/a x/c/b x/"},
}

// Patterns have the meaning that git gives them in .gitignore.
func TestPatternsAreThoseOfGit(t *testing.T) {
	git := needs.Program(t, "git", "git")
	for _, row := range ignoreRules {
		dir := t.TempDir()
		if out, err := exec.Command(git, "-C", dir, "init", "-q").CombinedOutput(); err != nil { // #nosec G204
			t.Fatalf("%v\n%s", err, out)
		}
		write(t, filepath.Join(dir, ".gitignore"), row.patterns+"\n")
		for _, name := range strings.Fields(row.paths) {
			create(t, dir, name)
		}
		for _, name := range strings.Fields(row.paths) {
			cmd := exec.Command(git, "-C", dir, "check-ignore", "-q", "--no-index", "--", strings.TrimSuffix(name, "/")) // #nosec G204
			want := cmd.Run() == nil
			if got := ignored(t, row.patterns, name); got != want {
				t.Errorf("%q and %s: excluded is %v, for git %v", row.patterns, name, got, want)
			}
		}
	}
}

// create creates a file, or a directory if the name ends with a slash.
func create(t *testing.T, dir, name string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if strings.HasSuffix(name, "/") {
		if err := os.MkdirAll(full, 0o700); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := os.Stat(full); err != nil {
		write(t, full, "x")
	}
}

// ignored reports whether a path or a directory above it is excluded.
func ignored(t *testing.T, text, name string) bool {
	t.Helper()
	patterns, err := parsePatterns([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	name, isDir := strings.CutSuffix(name, "/")
	segments := strings.Split(name, "/")
	for i := range segments {
		if excludes(false, patterns, strings.Join(segments[:i+1], "/"), isDir || i < len(segments)-1) {
			return true
		}
	}
	return false
}

func TestPatterns(t *testing.T) {
	for _, row := range []struct {
		patterns, name string
		want           bool
	}{
		{"*.yaml", "sub/b.yaml", true}, {"/a.yaml", "sub/a.yaml", false}, {"test/", "sub/test/", true}, {"test/", "test", false},
		{"a/**/z", "a/b/c/z", true}, {"a/**", "a/", false}, {"*.yaml\n!keep.yaml", "keep.yaml", false},
		{"file[!a-z].txt", "file1.txt", true},
	} {
		if got := ignored(t, row.patterns, row.name); got != row.want {
			t.Errorf("%q and %s: %v", row.patterns, row.name, got)
		}
	}
	if _, err := parsePatterns([]byte("ok\n[a\n")); err == nil || !strings.Contains(err.Error(), `line 2: the pattern "[a" is not valid`) {
		t.Error(err)
	}
	if _, err := parsePatterns([]byte(strings.Repeat("a\n", maxPatterns+1))); err == nil || err.Error() != "more than 1000 patterns" {
		t.Error(err)
	}
}

// FuzzPatterns finds patterns that panic, take long, or match in spite of being a comment.
func FuzzPatterns(f *testing.F) {
	for _, row := range ignoreRules {
		f.Add(row.patterns, strings.Fields(row.paths)[0])
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		patterns, err := parsePatterns([]byte(text))
		if err != nil {
			return
		}
		if len(patterns) > strings.Count(text, "\n")+1 {
			t.Errorf("%d patterns in %q", len(patterns), text)
		}
		if excludes(false, patterns, name, true) && len(patterns) == 0 {
			t.Errorf("nothing excludes %q", name)
		}
	})
}
