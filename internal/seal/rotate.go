package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// nextFile is where the successor of a key file waits for its turn.
func nextFile(path string) string { return path + ".next" }

// WriteNextMasterKey draws a master key and writes it beside the key file at path, durable. One that is there
// already is from a rotation that did not come to its end; it is used, since a store may be wrapped with it.
func WriteNextMasterKey(path string) (MasterKey, error) {
	key, err := LoadOrCreateMasterKey(nextFile(path))
	if err != nil {
		return MasterKey{}, fmt.Errorf("write the next master key: %w", err)
	}
	return key, nil
}

// NextMasterKey reads what WriteNextMasterKey wrote; there being none is fs.ErrNotExist.
func NextMasterKey(path string) (MasterKey, error) { return LoadMasterKey(nextFile(path)) }

// AdoptNextMasterKey puts the next master key into the place of the key file, at once and durable. The former key stays
// beside it under the name that is returned, because backups made before the rotation open only with it. Without a next
// key nothing happens: another process was first.
func AdoptNextMasterKey(path string, now time.Time) (former string, err error) {
	if _, err := os.Lstat(nextFile(path)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if former, err = keepFormer(path, now); err != nil {
		return "", fmt.Errorf("keep the former master key: %w", err)
	}
	if err := os.Rename(nextFile(path), path); err != nil {
		return "", fmt.Errorf("put the next master key into its place: %w", err)
	}
	return former, syncDir(filepath.Dir(path))
}

// keepFormer gives the key file at path a second name, which no earlier rotation has. Without the file there is
// nothing to keep.
func keepFormer(path string, now time.Time) (string, error) {
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
