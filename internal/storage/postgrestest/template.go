package postgrestest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Initdb is slow, so its result is stored in the user's cache directory and copied for each server. The directory is created under
// another name and renamed, so that every test process finds all of it or none.

// createCluster creates the data directory without our settings.
func (s *Server) createCluster(args []string) error {
	template := s.templateFor(args)
	if _, err := os.Stat(template); template != "" && err == nil {
		return copyTree(template, s.data())
	}
	if out, err := s.command("initdb", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if template != "" {
		return storeTemplate(s.data(), template)
	}
	return nil
}

// templateFor returns the template for this PostgreSQL, these arguments and this user; empty without a cache directory.
func (s *Server) templateFor(args []string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	key := strings.ReplaceAll(strings.Join(append(args, s.bin, hashedPassword(), fmt.Sprint(s.owner)), "\n"), s.Dir, "")
	return filepath.Join(cache, "regwarden-test", fmt.Sprintf("postgresql-%x", sha256.Sum256([]byte(key))))
}

func storeTemplate(data, template string) error {
	if err := os.MkdirAll(filepath.Dir(template), 0o700); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(template), "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := copyTree(data, filepath.Join(temporary, "data")); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(temporary, "data"), template)
	if _, exists := os.Stat(template); exists == nil {
		return nil // another process was first
	}
	return err
}

// copyTree preserves owners and modes, which PostgreSQL checks.
func copyTree(from, to string) error {
	if out, err := exec.Command("cp", "-a", "--reflink=auto", from, to).CombinedOutput(); err != nil { // #nosec G204 -- paths of the test
		return fmt.Errorf("copy %s: %w\n%s", from, err, out)
	}
	return nil
}
