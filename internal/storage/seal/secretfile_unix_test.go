//go:build unix

package seal_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/seal"
)

// A named pipe is refused, and nothing waits for its writer.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "master.key")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir, "/dev/zero"} {
		for name, read := range map[string]func(string) error{
			"secret":     func(path string) error { _, err := seal.ReadSecretFile(path); return err },
			"settings":   func(path string) error { _, err := seal.ReadFile(path); return err },
			"master key": func(path string) error { _, err := seal.LoadOrCreateMasterKey(path); return err },
		} {
			ended := make(chan error, 1)
			go func() { ended <- read(path) }()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), path+" is not a regular file") {
					t.Errorf("%s of %s: %v", name, path, err)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s of %s waits", name, path)
			}
		}
	}
}

func TestLongFilesAreRejected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.yaml")
	for size, wantErr := range map[int]bool{1 << 20: false, 1<<20 + 1: true} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := seal.ReadFile(path); wantErr != (err != nil) || !wantErr && len(text) != size {
			t.Errorf("%d bytes: %d read, %v", size, len(text), err)
		}
	}
}
