package serve

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/cli/settings"
)

func TestThePasswordFileIsForItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	lax, link := filepath.Join(dir, "lax"), filepath.Join(dir, "link")
	if err := os.WriteFile(lax, []byte("old"), 0o644); err != nil { // #nosec G306 -- what is tried here
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{lax, link, filepath.Join(dir, "new")} {
		if err := writePasswordFile(path, "hunter2"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if got, err := readPasswordFile(path); err != nil || got.Reveal() != "hunter2" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link was followed: %v", err)
	}
}

func TestFirstStartNamesTheConsole(t *testing.T) {
	for _, console := range []bool{true, false} {
		var out strings.Builder
		first{org: firstOrg, email: firstEmail, password: "hunter2"}.print(&out, slog.New(slog.DiscardHandler), "http://127.0.0.1:8080", "",
			console)
		if named := strings.Contains(out.String(), "\n  http://127.0.0.1:8080/console/\n"); named != console {
			t.Errorf("console %t: %s", console, out.String())
		}
	}
}

// A first start that fails after the administrator was created says how to log in: no later start does.
func TestFailedFirstStartShowsThePassword(t *testing.T) {
	dir := t.TempDir()
	s := settings.New()
	args := []string{"--data-dir", dir, "--listen", "127.0.0.1:0", "--login-isolation", settings.IsolateNothing,
		"--kubernetes", "--kubeconfig", filepath.Join(dir, "missing")}
	if err := errors.Join(s.Flags.Parse(args), s.Load(func(string) string { return "" })); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := (&process{settings: s, version: "test", out: &out}).run(t.Context(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "kubeconfig") {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "password      in the file "+filepath.Join(dir, firstPasswordFile)) {
		t.Errorf("shown: %q", out.String())
	}
}
