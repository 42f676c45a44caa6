package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// masterKeyOf copies the key from one data directory to another, as an operator does before a restore.
func masterKeyOf(t *testing.T, from, to string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(from, "master.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "master.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func addOrg(ctx context.Context, db *store.DB, name string) error {
	return db.InTx(ctx, func(tx *store.Tx) error {
		return tx.Orgs.Insert(ctx, store.Org{UID: uuid.NewString(), Name: name, Canonical: name, CreatedAt: time.Now()})
	})
}

// TestBackupWhileOthersWrite creates a backup during writes: every write acknowledged before it began is in
// it, and it is one moment: organizations are written in order, so there may be no gap.
func TestBackupWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, store.Options{DataDir: dir})
	var written atomic.Int64
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := addOrg(t.Context(), db, fmt.Sprintf("org-%06d", i)); err != nil {
				ended <- err
				return
			}
			written.Store(int64(i + 1))
		}
	}()
	for written.Load() < 50 {
		time.Sleep(time.Millisecond)
	}
	before := written.Load()
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the backup: %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(backup + "?*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	again := t.TempDir()
	masterKeyOf(t, dir, again)
	if _, err := store.Restore(t.Context(), store.Options{DataDir: again}, backup, store.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	restored := mustOpen(t, store.Options{DataDir: again})
	if err := restored.View(t.Context(), func(tx *store.Tx) error {
		orgs, err := tx.Orgs.List(t.Context())
		if int64(len(orgs)) < before {
			t.Errorf("%d organizations were acknowledged before the backup, %d are in it", before, len(orgs))
		}
		for i, org := range orgs {
			if org.Name != fmt.Sprintf("org-%06d", i) {
				t.Fatalf("organization %d is %s: the backup is not of one moment", i, org.Name)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestBackupReplacesNothing(t *testing.T) {
	db := mustOpen(t, store.Options{DataDir: t.TempDir()})
	path := filepath.Join(t.TempDir(), "backup.db")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), path); !errors.Is(err, sqldb.ErrFileExists) {
		t.Errorf("over a file: %v", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "mine" {
		t.Errorf("the file is now %q, %v", content, err)
	}
}

func TestRestoreRejects(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, store.Options{DataDir: dir})
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string) (file string)
		want    error
	}{
		{"a directory with a database", func(t *testing.T, to string) string {
			masterKeyOf(t, dir, to)
			writeFile(t, filepath.Join(to, "regwarden.db"), []byte("x"))
			return backup
		}, sqldb.ErrFileExists},
		{"a log without its database", func(t *testing.T, to string) string {
			masterKeyOf(t, dir, to)
			writeFile(t, filepath.Join(to, "regwarden.db-wal"), []byte("x"))
			return backup
		}, sqldb.ErrFileExists},
		{"no master key", func(*testing.T, string) string { return backup }, fs.ErrNotExist},
		{"another master key", func(t *testing.T, to string) string {
			if _, err := seal.LoadOrCreateMasterKey(filepath.Join(to, "master.key")); err != nil {
				t.Fatal(err)
			}
			return backup
		}, seal.ErrWrongKey},
		{"no backup", func(t *testing.T, to string) string {
			masterKeyOf(t, dir, to)
			return writeFile(t, filepath.Join(t.TempDir(), "text"), []byte("this is not a database, whatever its name is"))
		}, sqldb.ErrNoBackup},
		{"half a backup", func(t *testing.T, to string) string {
			masterKeyOf(t, dir, to)
			whole, err := os.ReadFile(backup)
			if err != nil {
				t.Fatal(err)
			}
			return writeFile(t, filepath.Join(t.TempDir(), "half"), whole[:len(whole)/2])
		}, sqldb.ErrNoBackup},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := t.TempDir()
			file := c.prepare(t, to)
			before := listFiles(t, to)
			if _, err := store.Restore(t.Context(), store.Options{DataDir: to}, file, store.RestoreOptions{}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if after := listFiles(t, to); after != before {
				t.Errorf("the directory was changed from\n%s to\n%s", before, after)
			}
		})
	}
	t.Run("while a server runs", func(t *testing.T) {
		to := t.TempDir()
		lock, err := sqldb.LockServer(to)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = lock.Release() }()
		if _, err := store.Restore(t.Context(), store.Options{DataDir: to}, backup,
			store.RestoreOptions{}); !errors.Is(err, sqldb.ErrLocked) {
			t.Errorf("got %v", err)
		}
	})
}

func writeFile(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// listFiles returns names and content of the files in a directory, except lock files.
func listFiles(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".lock" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list += fmt.Sprintf("%s %q\n", e.Name(), content)
	}
	return list
}

// Files that commands of root create in the data directory of a service belong to the service.
func TestFilesBelongToTheOwnerOfTheDirectory(t *testing.T) {
	dir, again := t.TempDir(), t.TempDir()
	want := os.Geteuid()
	if want == 0 {
		want = 65532
	}
	for _, directory := range []string{dir, again} {
		if err := os.Chown(directory, want, -1); err != nil {
			t.Fatal(err)
		}
	}
	db := mustOpen(t, store.Options{DataDir: dir})
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	masterKeyOf(t, dir, again)
	if err := os.Chown(filepath.Join(again, "master.key"), want, -1); err != nil { // as the operator copied it
		t.Fatal(err)
	}
	if _, err := store.Restore(t.Context(), store.Options{DataDir: again}, backup, store.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, directory := range []string{dir, again} {
		files, err := os.ReadDir(directory)
		if err != nil || len(files) < 3 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, file := range files {
			info, err := file.Info()
			if err != nil {
				t.Fatal(err)
			}
			if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != want {
				t.Errorf("%s belongs to user %d, want %d", file.Name(), owner, want)
			}
		}
	}
}

// A killed backup leaves its part file. A running backup holds the lock of its file.
func TestBackupReplacesAStalePartFile(t *testing.T) {
	db := mustOpen(t, store.Options{DataDir: t.TempDir()})
	target := filepath.Join(t.TempDir(), "backup.db")
	part := target + ".part"
	if err := os.WriteFile(part, []byte("half of a backup"), 0o644); err != nil {
		t.Fatal(err)
	}
	running, err := os.Open(part)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(running.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), target); !errors.Is(err, sqldb.ErrFileExists) {
		t.Errorf("next to a running backup: %v", err)
	}
	if err := running.Close(); err != nil { // as the end of the process does
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(part); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the part file remains: %v", err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	other := target + "2"
	if err := os.Symlink(target, other+".part"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Backup(t.Context(), other); !errors.Is(err, sqldb.ErrFileExists) {
		t.Errorf("with a link in the place of the part file: %v", err)
	}
}
