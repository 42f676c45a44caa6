package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const trailerBytes = 140 // of the line at the end of a backup

// backedUp returns a data directory with a store, and a backup of it.
func backedUp(t *testing.T) (dir, backup string) {
	t.Helper()
	dir, backup = t.TempDir(), filepath.Join(t.TempDir(), "backup.db")
	if _, err := mustOpen(t, store.Options{DataDir: dir}).Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	return dir, backup
}

// changeFile runs statements on a database file that no other process has open.
func changeFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sqldb.OpenFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range append([]string{"PRAGMA journal_mode = DELETE"}, statements...) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// withoutCode returns a copy of a backup as an older program wrote it.
func withoutCode(t *testing.T, backup string) string {
	t.Helper()
	content := mustRead(t, backup)
	return writeFile(t, filepath.Join(t.TempDir(), "old.db"), content[:len(content)-trailerBytes])
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func restoreInto(t *testing.T, keyOf, backup string, o store.RestoreOptions) (to string, at time.Time, err error) {
	t.Helper()
	to = t.TempDir()
	masterKeyOf(t, keyOf, to)
	before := listFiles(t, to)
	at, err = store.Restore(t.Context(), store.Options{DataDir: to}, backup, o)
	if after := listFiles(t, to); err != nil && after != before {
		t.Errorf("the directory was changed from\n%s to\n%s", before, after)
	}
	return to, at, err
}

// TestRestoreAuthenticates changes single bytes of a backup: no option makes Restore accept it.
func TestRestoreAuthenticates(t *testing.T) {
	dir, backup := backedUp(t)
	whole := mustRead(t, backup)
	content, code := whole[:len(whole)-trailerBytes], whole[len(whole)-trailerBytes:]
	later := bytes.Replace(code, []byte("v1 20"), []byte("v1 21"), 1)
	changed := bytes.Clone(content)
	changed[len(changed)/2] ^= 1
	_, other := backedUp(t)
	otherCode := mustRead(t, other)
	otherCode = otherCode[len(otherCode)-trailerBytes:]
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"a changed page":            {append(changed, code...), sqldb.ErrNoBackup},
		"a changed time":            {append(bytes.Clone(content), later...), sqldb.ErrNoBackup},
		"a page more":               {append(append(bytes.Clone(content), make([]byte, 4096)...), code...), sqldb.ErrNoBackup},
		"bytes appended":            {append(bytes.Clone(whole), "\n"...), sqldb.ErrNoBackup},
		"a page appended":           {append(bytes.Clone(whole), make([]byte, 4096)...), sqldb.ErrNoBackup},
		"cut by a byte":             {whole[:len(whole)-1], sqldb.ErrNoBackup},
		"cut in the middle":         {whole[:len(whole)/2], sqldb.ErrNoBackup},
		"the code of another store": {append(bytes.Clone(content), otherCode...), seal.ErrWrongKey},
		"only the code":             {code, sqldb.ErrNoBackup},
		"nothing":                   {nil, sqldb.ErrNoBackup},
	} {
		for _, allow := range []bool{false, true} {
			path := writeFile(t, filepath.Join(t.TempDir(), "backup.db"), c.file)
			if _, _, err := restoreInto(t, dir, path, store.RestoreOptions{AllowUnauthenticated: allow}); !errors.Is(err, c.want) {
				t.Errorf("%s (allowed: %v): %v, want %v", name, allow, err, c.want)
			}
		}
	}
	began := time.Now()
	to, at, err := restoreInto(t, dir, backup, store.RestoreOptions{})
	if err != nil || at.After(began) || began.Sub(at) > time.Minute {
		t.Errorf("the backup itself: %v, %v", at, err)
	}
	mustOpen(t, store.Options{DataDir: to})
}

// TestRestoreNeedsConsentWithoutCode restores what an older program wrote.
func TestRestoreNeedsConsentWithoutCode(t *testing.T) {
	dir, backup := backedUp(t)
	old := withoutCode(t, backup)
	_, _, err := restoreInto(t, dir, old, store.RestoreOptions{})
	if !errors.Is(err, sqldb.ErrNoBackup) || !strings.Contains(err.Error(), "--allow-unauthenticated") {
		t.Errorf("without the option: %v", err)
	}
	changeFile(t, old, "ANALYZE") // as an operator may
	to, at, err := restoreInto(t, dir, old, store.RestoreOptions{AllowUnauthenticated: true})
	if err != nil || !at.IsZero() {
		t.Errorf("with the option: %v, %v", at, err)
	}
	mustOpen(t, store.Options{DataDir: to})
}

// TestRestoreComparesTables changes what SQLite would run or miss.
func TestRestoreComparesTables(t *testing.T) {
	dir, backup := backedUp(t)
	for _, c := range []struct {
		change, says string
		want         error
	}{
		{"CREATE TRIGGER t AFTER INSERT ON sessions BEGIN DELETE FROM users; END", `"trigger t" is unknown`, sqldb.ErrNoBackup},
		{"CREATE VIEW v AS SELECT * FROM users", `"view v" is unknown`, sqldb.ErrNoBackup},
		{"CREATE TABLE t (x)", `"table t" is unknown`, sqldb.ErrNoBackup},
		{"CREATE INDEX i ON users (role)", `"index i" is unknown`, sqldb.ErrNoBackup},
		{"CREATE VIRTUAL TABLE t USING fts5(x)", `"table t" is unknown`, sqldb.ErrNoBackup},
		{"DROP TABLE login_throttles", `"table login_throttles" is missing`, sqldb.ErrNoBackup},
		{"DROP INDEX audits_at", `"index audits_at" is missing`, sqldb.ErrNoBackup},
		{"ALTER TABLE users ADD COLUMN more TEXT DEFAULT (hex(randomblob(8)))", `"table users" is different`, sqldb.ErrNoBackup},
		{"DROP TABLE goose_db_version; CREATE VIEW goose_db_version AS SELECT 1", "table goose_db_version", sqldb.ErrNoBackup},
		{"DELETE FROM goose_db_version WHERE version_id = 3", "list of migrations is not complete", sqldb.ErrNoBackup},
		{"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)", "version 99999", sqldb.ErrTooNew},
	} {
		old := withoutCode(t, backup)
		changeFile(t, old, c.change)
		_, _, err := restoreInto(t, dir, old, store.RestoreOptions{AllowUnauthenticated: true})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.change, err)
		}
	}
}

// TestRestoreComparesHiddenTriggers stores the text of a trigger as that of a known index, before the row of that index.
func TestRestoreComparesHiddenTriggers(t *testing.T) {
	dir, backup := backedUp(t)
	const trigger = "CREATE TRIGGER t AFTER INSERT ON sessions BEGIN UPDATE users SET role = 'admin'; END"
	old := withoutCode(t, backup)
	db, err := sql.Open("sqlite", old)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{trigger, `PRAGMA writable_schema = ON;
		UPDATE sqlite_master SET rowid = rowid + 1000 WHERE name = 'audits_at'; -- is read last
		UPDATE sqlite_master SET type = 'index', name = 'audits_at', tbl_name = 'audits' WHERE type = 'trigger'`} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := restoreInto(t, dir, old, store.RestoreOptions{AllowUnauthenticated: true}); !errors.Is(err, sqldb.ErrNoBackup) {
		t.Errorf("%v", err)
	}
}

// TestBackupComparesTables: a backup that could not be restored is not written.
func TestBackupComparesTables(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, store.Options{DataDir: dir})
	file, err := sqldb.OpenFile(filepath.Join(dir, sqldb.FileName), false)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.ExecContext(t.Context(), "CREATE INDEX mine ON users (email)"); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	_, err = db.Backup(t.Context(), filepath.Join(to, "backup.db"))
	if !errors.Is(err, sqldb.ErrOtherSchema) || !strings.Contains(err.Error(), `"index mine"`) {
		t.Errorf("%v", err)
	}
	if left := listFiles(t, to); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// TestRestoreRemovesTheLogOfAKilledOne: SQLite would add its pages to another backup.
func TestRestoreRemovesTheLogOfAKilledOne(t *testing.T) {
	dir, backup := backedUp(t)
	to := t.TempDir()
	masterKeyOf(t, dir, to)
	part := filepath.Join(to, sqldb.FileName+".part")
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		writeFile(t, part+suffix, []byte("of a killed restore"))
	}
	if _, err := store.Restore(t.Context(), store.Options{DataDir: to}, backup, store.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(part + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestBackupLeavesForeignTablesOut: a backup is written although another program has tables in the database, without them and what they
// had. It can be restored.
func TestBackupLeavesForeignTablesOut(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, store.Options{DataDir: dir})
	file, err := sqldb.OpenFile(filepath.Join(dir, sqldb.FileName), false)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, statement := range []string{
		"CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER, note TEXT)",
		`CREATE TABLE "a ""table" (seq REFERENCES _litestream_seq (id), member REFERENCES users (uid))`,
		"CREATE INDEX theirs ON _litestream_seq (seq)",
		"CREATE TRIGGER theirs AFTER INSERT ON _litestream_seq BEGIN DELETE FROM users; END",
		"INSERT INTO _litestream_seq (seq, note) VALUES (1, 'of-another-program'), (2, printf('%20000c', '') || 'of-another-program')",
		`INSERT INTO "a ""table" (seq) VALUES (1)`,
	} {
		if _, err := file.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	leftOut, err := db.Backup(t.Context(), backup)
	if err != nil || !slices.Equal(leftOut, []string{"_litestream_seq", `a "table`}) {
		t.Fatalf("left out: %q, %v", leftOut, err)
	}
	if bytes.Contains(mustRead(t, backup), []byte("of-another-program")) {
		t.Error("the content of a foreign table is in the backup")
	}
	copied, err := sqldb.OpenFile(backup, true)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	var free int
	if err := copied.QueryRowContext(t.Context(), "PRAGMA freelist_count").Scan(&free); err != nil || free == 0 {
		t.Errorf("%d free pages, %v: the copy was made smaller, which needs memory for all of it", free, err)
	}
	if _, _, err := restoreInto(t, dir, backup, store.RestoreOptions{}); err != nil {
		t.Error(err)
	}
}
