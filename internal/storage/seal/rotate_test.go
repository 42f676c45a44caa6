package seal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The rotation includes an earlier one that was interrupted.
func TestRotateMasterKey(t *testing.T) {
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
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, want := range []string{path + ".20261121T120000Z", ""} { // another process may have done it
		if former, err := AdoptNextMasterKey(path, at); err != nil || former != want {
			t.Fatalf("the former key is %q, %v; want %q", former, err, want)
		}
		if now, err := LoadMasterKey(path); err != nil || now != next {
			t.Errorf("the next key is not in force: %v", err)
		}
	}
	if former, err := LoadMasterKey(path + ".20261121T120000Z"); err != nil || former != old {
		t.Errorf("the former key is lost: %v", err)
	}
}

// TestFormerMasterKeysAreRetained rotates twice in one second.
func TestFormerMasterKeysAreRetained(t *testing.T) {
	path, at := filepath.Join(t.TempDir(), "master.key"), time.Now()
	first, err := LoadOrCreateMasterKey(path)
	if err != nil {
		t.Fatal(err)
	}
	retained := map[MasterKey]bool{}
	for range 2 {
		if _, err := WriteNextMasterKey(path); err != nil {
			t.Fatal(err)
		}
		former, err := AdoptNextMasterKey(path, at)
		if err != nil {
			t.Fatal(err)
		}
		key, err := LoadMasterKey(former)
		if err != nil {
			t.Fatal(err)
		}
		retained[key] = true
	}
	if len(retained) != 2 || !retained[first] {
		t.Errorf("%d of 2 former keys were retained", len(retained))
	}
}
