package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// nextFile returns the path of the next key during a rotation.
func nextFile(path string) string { return path + ".next" }

// WriteNextMasterKey generates a master key and stores it durably next to the key file at path. If an earlier rotation was
// interrupted, it returns the key of that rotation, since a store may be wrapped with it.
func WriteNextMasterKey(path string) (MasterKey, error) {
	key, err := LoadOrCreateMasterKey(nextFile(path))
	if err != nil {
		return MasterKey{}, fmt.Errorf("write the next master key: %w", err)
	}
	return key, nil
}

// NextMasterKey reads the key of WriteNextMasterKey. The error is fs.ErrNotExist if there is none.
func NextMasterKey(path string) (MasterKey, error) { return LoadMasterKey(nextFile(path)) }

// AdoptNextMasterKey replaces the key file by the next master key, atomically and durably. The former key remains next to
// it under the returned name, because earlier backups require it. Without a next key it does nothing, since another
// process adopted it.
func AdoptNextMasterKey(path string, now time.Time) (former string, err error) {
	if _, err := os.Lstat(nextFile(path)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if former, err = retainFormer(path, now); err != nil {
		return "", fmt.Errorf("retain the former master key: %w", err)
	}
	if err := os.Rename(nextFile(path), path); err != nil {
		return "", fmt.Errorf("replace the master key file: %w", err)
	}
	return former, syncDir(filepath.Dir(path))
}

// retainFormer gives the key file at path a second name, which no earlier rotation has used. Without the file it does
// nothing.
func retainFormer(path string, now time.Time) (string, error) {
	for ; ; now = now.Add(time.Second) {
		former := path + now.UTC().Format(".20060102T150405Z")
		err := os.Link(path, former)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return former, err
		}
	}
}
