package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// AdoptNextMasterKey puts the next master key into the place of the key file, at once and durable. Another
// process may have done so.
func AdoptNextMasterKey(path string) error {
	if err := os.Rename(nextFile(path), path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put the next master key into its place: %w", err)
	}
	return syncDir(filepath.Dir(path))
}
