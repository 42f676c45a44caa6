package scan

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
)

const definition = `{"endpoint": "https://one.test", "auth": {"type": "basic", "username": "ada", "password": "hunter2"}}`

func write(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func files(result model.Result) (names []string) {
	for _, r := range result.Registries {
		for _, s := range r.Sources {
			names = append(names, s.File)
		}
	}
	return names
}

func TestReadPaths(t *testing.T) {
	dir := t.TempDir()
	outside := write(t, filepath.Join(dir, "outside.json"), strings.ReplaceAll(definition, "one.test", "outside.test"))
	tree := filepath.Join(dir, "tree")
	file := write(t, filepath.Join(tree, "sub", "a.json"), definition)
	write(t, filepath.Join(tree, ".git", "b.json"), definition)
	write(t, filepath.Join(tree, "node_modules", "c.json"), definition)
	for link, target := range map[string]string{"out.json": outside, "up": dir, "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(tree, link)); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(dir, "linked.json")
	if err := os.Symlink(file, linked); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		want       string
	}{
		{"directory", tree, tree + "/sub/a.json"},
		{"file", file, file},
		{"link to a file, which the user named", linked, dir + "/a.json"},
		{"standard input", Stdin, stdinName},
	} {
		result, err := Read(t.Context(), []string{tt.path}, strings.NewReader(definition), ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := strings.Join(files(result), " "); got != tt.want {
			t.Errorf("%s: definitions in %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPathsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	large := write(t, filepath.Join(dir, "large.yaml"), "")
	if err := os.Truncate(large, 1<<30); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"): "no such file or directory", loop: "too many links", large: "larger than 8 MiB",
		os.DevNull: "not a file or directory", Stdin: "standard input is empty",
	} {
		if _, err := Read(t.Context(), []string{path}, strings.NewReader(""), ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, []string{dir}, nil, ReadOptions{}); err == nil {
		t.Error("reads although ctx ended")
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	small, large := write(t, filepath.Join(dir, "ca.crt"), "pem"), write(t, filepath.Join(dir, "large"),
		strings.Repeat("x", maxNamedFile+1))
	if data, err := ReadFile(small); err != nil || string(data) != "pem" {
		t.Errorf("%q %v", data, err)
	}
	for _, name := range []string{large, dir, os.DevNull} {
		if _, err := ReadFile(name); err == nil {
			t.Errorf("reads %s", name)
		}
	}
}

func TestWriteFileReplaces(t *testing.T) {
	dir := t.TempDir()
	name := write(t, filepath.Join(dir, "report.xml"), "old")
	if err := writeFile(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	entries, _ := os.ReadDir(dir)
	if err != nil || string(got) != "new" || len(entries) != 1 {
		t.Errorf("%q %v, %d files", got, err, len(entries))
	}
	if err := writeFile(os.DevNull, []byte("new")); err != nil {
		t.Errorf("a device: %v", err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Error("the device was replaced")
	}
	if err := writeFile(filepath.Join(dir, "missing", "x"), nil); err == nil {
		t.Error("no error without the directory")
	}
}
