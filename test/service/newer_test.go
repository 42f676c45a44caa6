package service_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/test/instance"
)

// TestNewerDatabaseNeedsConsent goes back to this version after a newer one migrated the database.
func TestNewerDatabaseNeedsConsent(t *testing.T) {
	t.Parallel()
	first := instance.Start(t, instance.Options{})
	first.Kill()
	withStoreFile(t, first.DataDir, func(db *sqldb.Raw) error {
		_, err := db.ExecContext(t.Context(), `CREATE TABLE of_the_newer (id);
			INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`)
		return err
	})
	backup := filepath.Join(t.TempDir(), "backup.db")
	for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"org", "list"}, {"backup", backup}} {
		result := instance.Run(t, "", append(command, "--data-dir", first.DataDir)...)
		if result.Code == 0 || !strings.Contains(result.Err, "changed by a newer regwarden: start that one, ") ||
			!strings.Contains(result.Err, "version 99999") {
			t.Errorf("%v: exit code %d, %s", command, result.Code, result.Err)
		}
	}
	server := instance.Start(t, instance.Options{DataDir: first.DataDir, Flags: []string{"--allow-newer-database"}})
	server.Client(t).Login()
	if result := instance.Run(t, "", "backup", backup, "--data-dir", first.DataDir, "--allow-newer-database"); result.Code != 0 {
		t.Errorf("backup: %s", result.Err)
	}
	result := instance.Run(t, "", "restore", backup, "--data-dir", dirWithKey(t, first.DataDir))
	if result.Code != 2 || !strings.Contains(result.Err, "was changed by a newer regwarden") {
		t.Errorf("restored by the older program: exit code %d, %s", result.Code, result.Err)
	}
}
