package seal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestNextMasterKeyWaitsBesideTheFile goes through a rotation, one that was broken off before it included.
func TestNextMasterKeyWaitsBesideTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "master.key")
	old, err := LoadOrCreateMasterKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NextMasterKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a next key before any rotation: %v", err)
	}
	next, err := WriteNextMasterKey(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := WriteNextMasterKey(path) // a store may be wrapped with the one that is there
	if err != nil || again != next || next == old {
		t.Errorf("a second attempt draws another key: %v", err)
	}
	if info, err := os.Stat(nextFile(path)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if now, err := LoadMasterKey(path); err != nil || now != old {
		t.Errorf("the key in force changed early: %v", err)
	}
	for range 2 { // another process may have done it
		if err := AdoptNextMasterKey(path); err != nil {
			t.Fatal(err)
		}
		if now, err := LoadMasterKey(path); err != nil || now != next {
			t.Errorf("the next key is not in force: %v", err)
		}
	}
}
