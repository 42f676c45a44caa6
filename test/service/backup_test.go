package service_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/test/instance"
)

const memberEmail = "mallory@example.com"

// TestChangedBackupIsRefused changes a backup as somebody could who can write to its storage, but does not have the master key. The
// original backup is restored, and what is in place is never changed.
func TestChangedBackupIsRefused(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	server.Admin(t, "correct horse battery staple 9\n", "user", "create", "--org", instance.Org, "--email", memberEmail, "--password-stdin")
	backup := filepath.Join(t.TempDir(), "backup.db")
	server.Admin(t, "", "backup", backup)
	for _, change := range []string{
		"UPDATE users SET role = 'admin' WHERE email = '" + memberEmail + "'",
		"CREATE TRIGGER t AFTER UPDATE ON users BEGIN UPDATE users SET role = 'admin'; END",
		"DROP TABLE login_throttles",
	} {
		changed := changedBackup(t, backup, change)
		for _, flags := range [][]string{nil, {"--allow-unauthenticated"}} {
			dir := dirWithKey(t, server.DataDir)
			result := instance.Run(t, "", append([]string{"restore", changed, "--data-dir", dir}, flags...)...)
			if result.Code != 2 || !strings.Contains(result.Err, "changed or damaged after it was written") {
				t.Errorf("%s, flags %v: exit code %d, %s", change, flags, result.Code, result.Err)
			}
			if _, err := os.Lstat(filepath.Join(dir, sqldb.FileName)); !os.IsNotExist(err) {
				t.Errorf("%s, flags %v: a database is there, %v", change, flags, err)
			}
			if over := instance.Run(t, "",
				append([]string{"restore", changed, "--data-dir", server.DataDir}, flags...)...); over.Code == 0 {
				t.Errorf("restored over the data of a running server: %s", over.Err)
			}
		}
	}
	server.Client(t).Login()
	dir := dirWithKey(t, server.DataDir)
	if result := instance.Run(t, "", "restore", backup, "--data-dir", dir); result.Code != 0 {
		t.Fatalf("the backup itself: %s", result.Err)
	}
	restored := instance.Start(t, instance.Options{DataDir: dir})
	restored.Client(t).Login()
	if list := restored.Admin(t, "", "user", "list", "--org", instance.Org); !strings.Contains(list, memberEmail) {
		t.Errorf("the member is missing:\n%s", list)
	}
}

// dirWithKey returns a data directory that has only the master key of another.
func dirWithKey(t *testing.T, of string) string {
	t.Helper()
	dir := t.TempDir()
	key, err := os.ReadFile(filepath.Join(of, "master.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "master.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// changedBackup returns a copy of a backup after a statement, with the authentication code of the original.
func changedBackup(t *testing.T, backup, statement string) string {
	t.Helper()
	content, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndex(content, []byte("\nregwarden-backup-v1 "))
	path := filepath.Join(t.TempDir(), "changed.db")
	if err := os.WriteFile(path, content[:end], 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.OpenFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"PRAGMA journal_mode = DELETE", statement} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	changed, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(changed, content[end:]...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRestoreKilled kills a restore at different moments: the directory then has no database, and another restore works, or the
// whole one.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	for i := range 20 {
		server.Admin(t, "", "org", "create", "org-"+string(rune('a'+i)))
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	server.Admin(t, "", "backup", backup)
	began := time.Now()
	if result := instance.Run(t, "", "restore", backup, "--data-dir", dirWithKey(t, server.DataDir)); result.Code != 0 {
		t.Fatal(result.Err)
	}
	whole, completed := time.Since(began), 0
	const moments = 12
	for i := range moments {
		dir := dirWithKey(t, server.DataDir)
		ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(i+1)/moments)
		_ = instance.Command(ctx, t, "restore", backup, "--data-dir", dir).Run() // killed with ctx
		cancel()
		if _, err := os.Lstat(filepath.Join(dir, sqldb.FileName)); err == nil {
			completed++
		} else if result := instance.Run(t, "", "restore", backup, "--data-dir", dir); result.Code != 0 {
			t.Errorf("repeated after a kill: %s", result.Err)
		}
		if result := instance.Run(t, "", "org", "list", "--data-dir", dir); result.Code != 0 || strings.Count(result.Out, "org-") != 20 {
			t.Errorf("killed after %d/%d of the time: exit code %d\n%s%s", i+1, moments, result.Code, result.Out, result.Err)
		}
	}
	t.Logf("a restore takes %v; %d of %d were whole when they were killed", whole, completed, moments)
	if completed == moments {
		t.Error("no restore was killed, so the test shows nothing")
	}
}
