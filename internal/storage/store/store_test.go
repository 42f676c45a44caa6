package store_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	store.Shared.Tests = m
	goleak.VerifyTestMain(store.Shared)
}

func mustOpen(t *testing.T, o store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.DB {
		t.Parallel() // each store waits for the disk most of the time
		dir := t.TempDir()
		storetest.Create(t, dir, nil)
		return mustOpen(t, store.Options{DataDir: dir})
	})
}

// TestExistingCreatesNothing opens directories without a store, as a command does with a mistyped --data-dir.
func TestExistingCreatesNothing(t *testing.T) {
	missing, empty, killed := filepath.Join(t.TempDir(), "missing"), t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(killed, "regwarden.db"), nil) // a first start that was killed
	for dir, want := range map[string]string{empty: "", killed: "regwarden.db \"\"\n"} {
		_, err := store.Open(t.Context(), store.Options{DataDir: dir, Existing: true})
		if entries, _ := os.ReadDir(dir); !errors.Is(err, sqldb.ErrEmpty) || listFiles(t, dir) != want || len(entries) > 1 {
			t.Errorf("%v, and the directory has %v", err, entries)
		}
	}
	if _, err := store.Open(t.Context(), store.Options{DataDir: missing, Existing: true}); !errors.Is(err, sqldb.ErrEmpty) {
		t.Errorf("a directory that does not exist: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was created: %v", err)
	}
}

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a ?%# directory", "data")
	db := mustOpen(t, store.Options{DataDir: dir})
	if err := db.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.Orgs.Insert(t.Context(), store.Org{UID: "u", Name: "n", Canonical: "n"})
	}); err == nil {
		t.Error("an organization without its time of creation was stored")
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 4 { // database, -wal, -shm, master.key
		t.Errorf("found %v, %v", entries, err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
	}
}

func TestModeOfADatabaseFileIsRestricted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "regwarden.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil { // #nosec G302 -- the mode is tested
		t.Fatal(err)
	}
	mustOpen(t, store.Options{DataDir: dir})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// files returns every file of a directory except the locks, which are empty.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	content := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		body, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > 0 {
			content[entry.Name()] = body
		}
	}
	return content
}

func TestWrongMasterKeyIsRejectedAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpen(t, store.Options{DataDir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(dir, "master.key")
	before := files(t, dir)

	if _, err := store.Open(t.Context(), store.Options{DataDir: dir, MasterKey: seal.NewMasterKey()}); !errors.Is(err, seal.ErrWrongKey) {
		t.Errorf("another key given: %v", err)
	}
	if _, err := store.Open(t.Context(),
		store.Options{DataDir: dir, MasterKeyFile: filepath.Join(dir, "gone")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no key file: %v", err)
	}
	if err := os.Chmod(keyFile, 0o640); err != nil { // #nosec G302 -- the mode is tested
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Options{DataDir: dir}); !errors.Is(err, seal.ErrLaxMode) {
		t.Errorf("a key file open to others: %v", err)
	}
	after := files(t, dir)
	if len(before) != len(after) {
		t.Errorf("files before %d, after %d", len(before), len(after))
	}
	for name := range before {
		if !bytes.Equal(before[name], after[name]) {
			t.Errorf("%s was changed", name)
		}
	}
	if err := os.Chmod(keyFile, 0o600); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, store.Options{DataDir: dir})
}

// A rotation that fails, as one does that a crash ends before the commit, leaves the master key in its file.
func TestAFailedRotationKeepsTheMasterKey(t *testing.T) {
	options := store.Options{DataDir: t.TempDir()}
	db := mustOpen(t, options)
	refused := errors.New("no record")
	if _, err := db.RotateMaster(t.Context(), seal.MasterKey{}, func(*store.Tx) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("the rotation: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, options)
	if _, err := again.RotateMaster(t.Context(), seal.MasterKey{}, func(*store.Tx) error { return nil }); err != nil {
		t.Errorf("the next rotation: %v", err)
	}
}

func TestGivenMasterKeyNeedsNoFile(t *testing.T) {
	dir, key := t.TempDir(), seal.NewMasterKey()
	for range 2 {
		if err := mustOpen(t, store.Options{DataDir: dir, MasterKey: key}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "master.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key file was created: %v", err)
	}
}

func TestConcurrentOpenOfANewStore(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			db, err := store.Open(t.Context(), store.Options{DataDir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = db.Close() }()
			err = db.InTx(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Keys.Insert(t.Context(),
					store.ServiceKey{UID: "k", Purpose: store.KeyMAC, Secret: []byte("s"), CreatedAt: start})
				if err != nil {
					return err
				}
				keys, err := tx.Keys.List(t.Context())
				if len(keys) != 1 {
					t.Errorf("%d keys", len(keys))
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestOneServerForADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	lock, err := sqldb.LockServer(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqldb.LockServer(dir); !errors.Is(err, sqldb.ErrLocked) {
		t.Errorf("the second server: %v", err)
	}
	mustOpen(t, store.Options{DataDir: dir}) // a command while the server runs
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := sqldb.LockServer(dir)
	if err != nil {
		t.Fatalf("after the first server ended: %v", err)
	}
	_ = again.Release()
}

func TestNoSecretInTheFiles(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, store.Options{DataDir: dir})
	secret := []byte("marked-secret-marked-secret")
	if err := db.InTx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Keys.Insert(t.Context(), store.ServiceKey{UID: "k", Purpose: store.KeyMAC, Secret: secret, CreatedAt: start})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name, body := range files(t, dir) {
		if bytes.Contains(body, secret) {
			t.Errorf("%s holds the secret", name)
		}
	}
}
