package datamigration_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/datamigration"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// shared runs PostgreSQL for all tests.
var shared = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}}

func TestMain(m *testing.M) {
	shared.Tests = m
	goleak.VerifyTestMain(shared)
}

func mustOpen(t *testing.T, o store.Options) *store.DB {
	t.Helper()
	o.Timeout = storetest.LongTimeout
	db, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// furnished creates a store with rows in tables that refer to each other, secrets, and texts that are hard to copy.
func furnished(t *testing.T) (dir, orgUID, registryUID string) {
	t.Helper()
	dir, orgUID, registryUID = t.TempDir(), uuid.NewString(), uuid.NewString()
	db := mustOpen(t, store.Options{DataDir: dir})
	ctx := t.Context()
	if err := db.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Orgs.Insert(ctx, store.Org{UID: orgUID, Name: "Zwölf \\N \t Boxkämpfer\n", Canonical: "zwölf",
			CreatedAt: start}); err != nil {
			return err
		}
		user := store.User{UID: uuid.NewString(), OrgUID: orgUID, Email: "a@b.example", Canonical: "a@b.example", Role: "admin",
			PasswordHash: "hash", PasswordChangedAt: start, CreatedAt: start}
		if err := tx.Users.Insert(ctx, user); err != nil {
			return err
		}
		for i := range 300 {
			s := store.Session{UID: uuid.NewString(), OrgUID: orgUID, UserUID: user.UID, Generation: int64(i), Address: "192.0.2.1",
				CreatedAt: start, IdleUntil: start.Add(time.Hour), MaxUntil: start.Add(24 * time.Hour)}
			if err := tx.Sessions.Insert(ctx, s); err != nil {
				return err
			}
		}
		if err := tx.Audits.Append(ctx,
			audit.Record{UID: uuid.NewString(), At: start, OrgUID: orgUID, Action: audit.Login, Outcome: audit.Valid,
				Report: []byte{0, 1, 2, 0xff}}); err != nil {
			return err
		}
		if err := tx.Registries.Insert(ctx,
			store.Registry{UID: registryUID, OrgUID: orgUID, Name: "r", Canonical: "r", Version: 1, CreatedAt: start, UpdatedAt: start,
				Endpoint: "https://r.example", Secrets: store.RegistrySecrets{Password: "hunter2-copied"}}); err != nil {
			return err
		}
		if err := tx.Syncs.Schedule(ctx, orgUID, registryUID, start); err != nil {
			return err
		}
		runs, err := tx.Syncs.Claim(ctx, "w", start, start.Add(time.Hour), []store.Share{{OrgUID: orgUID, Count: 1}})
		if err != nil {
			return err
		}
		// Names of the maximum length, which an index cannot compress.
		return tx.Contents.Add(ctx, runs[0], []store.RegistryContent{{Repository: digits(255), Tag: digits(128), Kind: "helm"}})
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.InTx(ctx, func(tx *store.Tx) error { return tx.Changes.Note(ctx, "u") }); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, orgUID, registryUID
}

func digits(length int) string {
	var b strings.Builder
	for i := 0; b.Len() < length; i++ {
		fmt.Fprintf(&b, "%x", sha256.Sum256([]byte{byte(i)}))
	}
	return b.String()[:length]
}

func TestCopyToPostgres(t *testing.T) {
	server := shared.Server(t)
	dir, orgUID, registryUID := furnished(t)
	target := secret.String(server.NewDatabase(t))
	counts := rowCounts(t, "sqlite", filepath.Join(dir, "regwarden.db"), nil)
	createForeignTable(t, dir)
	copied, err := datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: dir}, store.Options{DatabaseURL: target}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for _, c := range copied.Tables {
		tables = append(tables, c.Table)
		if c.Rows != counts[c.Table] {
			t.Errorf("%s: %d rows were copied, of %d", c.Table, c.Rows, counts[c.Table])
		}
	}
	if len(copied.Tables) != len(counts) || counts["sessions"] != 300 || !slices.Equal(copied.LeftOut, []string{"_litestream_seq"}) {
		t.Errorf("copied %v, of %v", copied, counts)
	}
	for name, n := range rowCounts(t, "pgx", target.Reveal(), tables) {
		if n != counts[name] {
			t.Errorf("%s: %d rows in the new database, %d in the old", name, n, counts[name])
		}
	}
	there := mustOpen(t, store.Options{DatabaseURL: target, MasterKeyFile: filepath.Join(dir, "master.key")})
	if err := there.View(t.Context(), func(tx *store.Tx) error {
		r, err := tx.Registries.Get(t.Context(), orgUID, registryUID)
		if r.Secrets.Password != "hunter2-copied" {
			t.Errorf("the encrypted password is now %q", r.Secrets.Password.Reveal())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	// The numbers of changes continue.
	if err := there.InTx(t.Context(), func(tx *store.Tx) error { return tx.Changes.Note(t.Context(), "v") }); err != nil {
		t.Error(err)
	}
	_, err = datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: dir}, store.Options{DatabaseURL: target}, nil)
	if !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("a second time: %v", err)
	}
	// The file in the directory is no longer the store, so a copy of it is not a backup.
	if _, err := there.Backup(t.Context(), filepath.Join(t.TempDir(), "backup.db")); !errors.Is(err, sqldb.ErrNoFile) {
		t.Errorf("backup: %v", err)
	}
}

// createForeignTable creates a table in the database of a directory as Litestream does.
func createForeignTable(t *testing.T, dir string) {
	t.Helper()
	file, err := sqldb.OpenFile(filepath.Join(dir, sqldb.FileName), false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.ExecContext(t.Context(), "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, member REFERENCES users (uid))")
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// Tables that the migrations did not create are not copied.
func TestForeignTablesAreNotListed(t *testing.T) {
	dir, _, _ := furnished(t)
	createForeignTable(t, dir)
	tables, leftOut, err := datamigration.TablesOf(t.Context(), store.Options{DataDir: dir})
	if err != nil || !slices.Equal(leftOut, []string{"_litestream_seq"}) || slices.Contains(tables, "_litestream_seq") ||
		!slices.Contains(tables, "sessions") {
		t.Errorf("%v, left out %v, %v", tables, leftOut, err)
	}
}

// rowCounts counts the rows of the named tables, or all tables of the database of a directory.
func rowCounts(t *testing.T, driver, address string, tables []string) map[string]int64 {
	t.Helper()
	if driver == "sqlite" {
		address = (&url.URL{Scheme: "file", Path: address}).String()
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if tables == nil {
		rows, err := db.Query(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%'`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			tables = append(tables, name)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	counts := map[string]int64{}
	for _, name := range tables {
		var n int64
		if err := db.QueryRow("SELECT COUNT(*) FROM " + name).Scan(&n); err != nil {
			t.Fatal(err)
		}
		counts[name] = n
	}
	return counts
}

func TestCopyToPostgresIsAllOrNothing(t *testing.T) {
	server := shared.Server(t)
	t.Run("a value that PostgreSQL cannot store", func(t *testing.T) {
		dir, _, _ := furnished(t)
		spoil(t, dir, `UPDATE sessions SET address = 'a' || char(0) || 'b' WHERE generation = 7`)
		target := secret.String(server.NewDatabase(t))
		if _, err := datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: dir},
			store.Options{DatabaseURL: target}, nil); err == nil {
			t.Fatal("a truncated text was copied")
		}
		for name, n := range rowCounts(t, "pgx", target.Reveal(), []string{"orgs", "sessions", "data_keyset"}) {
			if n != 0 {
				t.Errorf("%d rows of %s are in the new database", n, name)
			}
		}
		// What was corrected can be copied into the same database.
		spoil(t, dir, `UPDATE sessions SET address = 'ab' WHERE generation = 7`)
		if _, err := datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: dir},
			store.Options{DatabaseURL: target}, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("a value of another kind than its column", func(t *testing.T) {
		dir, _, _ := furnished(t)
		spoil(t, dir, `UPDATE sessions SET address = CAST('ab' AS BLOB) WHERE generation = 7`)
		target := secret.String(server.NewDatabase(t))
		if _, err := datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: dir},
			store.Options{DatabaseURL: target}, nil); err == nil {
			t.Error("bytes were copied as text")
		}
	})
	t.Run("a directory that does not exist", func(t *testing.T) {
		missing := filepath.Join(t.TempDir(), "missing")
		if _, err := datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: missing}, store.Options{},
			nil); !errors.Is(err, sqldb.ErrEmpty) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory was created: %v", err)
		}
	})
	t.Run("while a server runs", func(t *testing.T) {
		dir, _, _ := furnished(t)
		lock, err := sqldb.LockServer(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = lock.Release() }()
		_, err = datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: dir},
			store.Options{DatabaseURL: secret.String(server.NewDatabase(t))}, nil)
		if !errors.Is(err, sqldb.ErrLocked) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the wrong master key", func(t *testing.T) {
		dir, _, _ := furnished(t)
		target := secret.String(server.NewDatabase(t))
		_, err := datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: dir, MasterKey: seal.NewMasterKey()},
			store.Options{DatabaseURL: target}, nil)
		if !errors.Is(err, seal.ErrWrongKey) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a database that is in use", func(t *testing.T) {
		dir, _, _ := furnished(t)
		target := secret.String(server.NewDatabase(t))
		mustOpen(t, store.Options{DatabaseURL: target, DataDir: t.TempDir()})
		_, err := datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: dir}, store.Options{DatabaseURL: target}, nil)
		if !errors.Is(err, store.ErrNotEmpty) {
			t.Errorf("got %v", err)
		}
	})
}

func spoil(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s/regwarden.db", dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if result, err := db.ExecContext(context.Background(), statement); err != nil {
		t.Fatal(err)
	} else if n, err := result.RowsAffected(); n != 1 || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
}
