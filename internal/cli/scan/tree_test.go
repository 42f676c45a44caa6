package scan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository writes files with a definition each, and those with text, and makes their directory the working directory.
func repository(t *testing.T, definitions []string, texts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for i, name := range definitions {
		write(t, filepath.Join(dir, name), strings.ReplaceAll(definition, "one.test", string(rune('a'+i))+".test"))
	}
	for name, text := range texts {
		write(t, filepath.Join(dir, name), text)
	}
	t.Chdir(dir)
}

func TestExcluded(t *testing.T) {
	all := []string{"a.json", "apps/b.json", "apps/keep.json", "apps/test/c.json", "test/d.json", "other/e.json"}
	for _, row := range []struct {
		name    string
		ignored map[string]string
		exclude []string
		paths   string
		want    string
	}{
		{"nothing", nil, nil, ".", "a.json apps/b.json apps/keep.json apps/test/c.json other/e.json test/d.json"},
		{"flag", nil, []string{"test/", "/a.json"}, ".", "apps/b.json apps/keep.json other/e.json"},
		{"flag with the path that is shown", nil, []string{"/apps/test", "!x"}, "apps", "apps/b.json apps/keep.json"},
		{"file", map[string]string{".regwardenignore": "test\n"}, nil, ".", "a.json apps/b.json apps/keep.json other/e.json"},
		{"file below", map[string]string{"apps/.regwardenignore": "*.json\n!keep.json\n"}, nil, ".",
			"a.json apps/keep.json other/e.json test/d.json"},
		{"file above", map[string]string{".regwardenignore": "/apps/test/\n", ".git/HEAD": ""}, nil, "apps", "apps/b.json apps/keep.json"},
		{"file above without a repository", map[string]string{".regwardenignore": "/apps/test/\n"}, nil, "apps",
			"apps/b.json apps/keep.json apps/test/c.json"},
		{"named file", map[string]string{".regwardenignore": "/apps/test/\n", ".git/HEAD": ""}, nil, "apps/test/c.json apps/b.json",
			"apps/b.json"},
		{"named file in a directory of a flag", nil, []string{"test/"}, "apps/test/c.json apps/b.json", "apps/b.json"},
		{"named file and flag", nil, []string{"*.json"}, "apps/b.json", ""},
		{"named directory", map[string]string{".regwardenignore": "/test/\n", ".git/HEAD": ""}, nil, "test", "test/d.json"},
	} {
		t.Run(row.name, func(t *testing.T) {
			repository(t, all, row.ignored)
			result, err := Read(t.Context(), strings.Fields(row.paths), nil, ReadOptions{Exclude: row.exclude})
			if err != nil {
				t.Fatal(err)
			}
			names := files(result)
			slices.Sort(names)
			excludes := row.exclude != nil || strings.HasSuffix(row.name, "file")
			if got := strings.Join(names, " "); got != row.want || excludes && result.Summary.Excluded == 0 {
				t.Errorf("got %q, %d excluded", got, result.Summary.Excluded)
			}
		})
	}
}

func TestIgnoreFileThatCannotBeUsed(t *testing.T) {
	repository(t, []string{"a.json"}, map[string]string{"apps/.regwardenignore": "ok\n[\n"})
	_, err := Read(t.Context(), []string{"."}, nil, ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), `apps/.regwardenignore: line 2: the pattern "[" is not valid`) {
		t.Error(err)
	}
	if _, err := Read(t.Context(), []string{"a.json"}, nil, ReadOptions{Exclude: []string{"[a"}}); err == nil ||
		!strings.Contains(err.Error(), "--exclude") {
		t.Error(err)
	}
}

// An ignore file that is a link is not followed, nor are links in a tree with one.
func TestTreeFollowsNoLinks(t *testing.T) {
	repository(t, []string{"a.json", "out/b.json"}, map[string]string{"patterns": "*\n"})
	for link, target := range map[string]string{"tree/.regwardenignore": "../patterns", "tree/link.json": "../a.json"} {
		if err := os.MkdirAll("tree", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "tree/c.json", definition)
	result, err := Read(t.Context(), []string{"tree"}, nil, ReadOptions{})
	if got := strings.Join(files(result), " "); err != nil || got != "tree/c.json" {
		t.Errorf("%v, %q", err, got)
	}
}

func TestVersioned(t *testing.T) {
	repository(t, []string{"a/b/c.json", "d/e.json"},
		map[string]string{"a/.git/HEAD": "", "a/.gitignore": "*.env\n", "a/b/.gitignore": "/out/\n"})
	is := versioned()
	for name, want := range map[string]bool{"a/b/c.json": true, "a/x": true, "d/e.json": false, stdinName: false,
		"a/b/my.env": false, "a/b/out/c.json": false, "a/out/c.json": true} {
		if is(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
