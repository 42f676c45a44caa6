package store

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/secret"
)

// TestOnPostgreSQL tests the parts that only PostgreSQL has, and the suite (storetest) cannot test.
func TestOnPostgreSQL(t *testing.T) {
	server := Shared.Server(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *postgrestest.Server)
	}{
		{"ten open a new store at once", tenOpen},
		{"the master key is shared, not generated again", keyIsShared},
		{"every query is understood", queriesPrepare},
		{"texts compare byte by byte", textsAreBytes},
		{"the tables are those of SQLite", schemasAgree},
		{"other processes are notified of a change", changesNotify},
		{"claims skip what another replica claims", claimsSkip},
		{"replicas claim each row once, without a deadlock", claimsAreHot},
		{"due rows are found among many organizations", dueIsFound},
		{"lists by name are read in the order of an index", namesAreInOrder},
		{"claims of checks change no index", claimsLeaveIndexes},
		{"servers of an earlier version claim too", oldServersClaim},
		{"sessions that are deleted are not written before", deletedSessionsAreLocked},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, server) })
	}
}

func mustOpenURL(t *testing.T, url string, o Options) *DB {
	t.Helper()
	o.DatabaseURL, o.Timeout = secret.String(url), time.Minute // a busy machine does not exceed it
	if o.MasterKey.IsZero() && o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustConnect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// lookUp returns the text that a query gives.
func lookUp(t *testing.T, url, query string) (found string) {
	t.Helper()
	if err := mustConnect(t, url).QueryRow(t.Context(), query).Scan(&found); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

func insertOrg(ctx context.Context, tx *Tx, name string) error {
	return tx.Orgs.Insert(ctx, Org{UID: uuid.NewString(), Name: name, Canonical: name, CreatedAt: noon})
}

func tenOpen(t *testing.T, server *postgrestest.Server) {
	url, key := server.NewDatabase(t), seal.NewMasterKey()
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			db, err := Open(t.Context(), Options{DatabaseURL: secret.String(url), MasterKey: key, Timeout: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = db.Close() }()
			err = db.InTx(t.Context(), func(tx *Tx) error {
				_, err := tx.Keys.Insert(t.Context(),
					ServiceKey{UID: uuid.NewString(), Purpose: KeyMAC, Secret: []byte("s"), CreatedAt: noon})
				if err != nil {
					return err
				}
				keys, err := tx.Keys.List(t.Context()) // decrypts them, so all stores must have the same keyring
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
	twice := lookUp(t, url, "SELECT COUNT(*)::text FROM (SELECT version_id FROM goose_db_version GROUP BY version_id HAVING COUNT(*) > "+
		"1) AS t")
	if twice != "0" {
		t.Errorf("%s migrations ran twice", twice)
	}
}

func keyIsShared(t *testing.T, server *postgrestest.Server) {
	url, first, second := server.NewDatabase(t), t.TempDir(), filepath.Join(t.TempDir(), "second")
	options := func(dir string) Options { return Options{DatabaseURL: secret.String(url), DataDir: dir} }
	if _, err := Open(t.Context(),
		Options{DatabaseURL: secret.String(url), DataDir: second, Existing: true}); !errors.Is(err, sqldb.ErrEmpty) {
		t.Errorf("a command on an empty database: %v", err)
	}
	const counted = "SELECT COUNT(*)::text FROM information_schema.tables WHERE table_schema = current_schema()"
	if tables := lookUp(t, url, counted); tables != "0" {
		t.Errorf("a command on an empty database created %s tables", tables)
	}
	if err := mustOpenURL(t, url, Options{DataDir: first}).Close(); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		return lookUp(t, url, "SELECT (SELECT string_agg(k::text, ',') FROM data_keyset k) || (SELECT string_agg(v::text, ',' ORDER BY "+
			"id) FROM goose_db_version v)")
	}
	before := state()
	if _, err := Open(t.Context(), options(second)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the key: %v", err)
	}
	if _, err := os.Stat(second); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory was created for a key that must be shared: %v", err)
	}
	wrong := options(second)
	wrong.MasterKey = seal.NewMasterKey()
	if _, err := Open(t.Context(), wrong); !errors.Is(err, seal.ErrWrongKey) {
		t.Errorf("with another key: %v", err)
	}
	if after := state(); after != before {
		t.Errorf("the store was changed from %s to %s", before, after)
	}
	shared := options(second)
	shared.MasterKeyFile = filepath.Join(first, "master.key")
	mustOpenURL(t, url, shared)
}

// queriesPrepare has PostgreSQL parse every query text of the store, and infer the types of its parameters.
func queriesPrepare(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	mustOpenURL(t, url, Options{})
	conn, queries := mustConnect(t, url), queryTexts(t, ".")
	maps.Copy(queries, queryTexts(t, "../audits"))
	if len(queries) < 80 {
		t.Errorf("only %d queries were found", len(queries))
	}
	for name, query := range queries {
		if strings.Contains(query, "sqlite_master") || strings.Contains(query, "pragma_") {
			continue // reads the state of SQLite
		}
		if _, err := conn.Prepare(t.Context(), name, query); err != nil {
			t.Errorf("%s: %v\n%s", name, err, query)
		}
	}
}

// textsAreBytes looks for a text column without the collation of the migrations: the order of a language
// changes with the machine, and unique indexes with it.
func textsAreBytes(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	db := mustOpenURL(t, url, Options{})
	const query = `SELECT COALESCE(string_agg(table_name || '.' || column_name, ', '), '') FROM information_schema.columns
		WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`
	if found := lookUp(t, url, query); found != "" {
		t.Errorf("not byte by byte: %s", found)
	}
	var names []string
	err := db.InTx(t.Context(), func(tx *Tx) error {
		for _, name := range []string{"ä", "b", "Z", "a-b", "a"} {
			if err := insertOrg(t.Context(), tx, name); err != nil {
				return err
			}
		}
		orgs, err := tx.Orgs.List(t.Context())
		for _, org := range orgs {
			names = append(names, org.Name)
		}
		return err
	})
	if got := strings.Join(names, " "); got != "Z a a-b b ä" || err != nil {
		t.Errorf("sorted %s, %v", got, err)
	}
}

func changesNotify(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	one, two := mustOpenURL(t, url, Options{MasterKey: testKey}), mustOpenURL(t, url, Options{MasterKey: testKey})
	<-two.Changed() // the first value, for changes before that
	if err := one.InTx(t.Context(), func(tx *Tx) error { return tx.Changes.Note(t.Context(), "subject") }); err != nil {
		t.Fatal(err)
	}
	<-two.Changed()
}

// deletedSessionsAreLocked deletes a user and an organization. To change each of their sessions before took twice as long as to delete
// them.
func deletedSessionsAreLocked(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	db, conn := mustOpenURL(t, url, Options{}), mustConnect(t, url)
	mustExec(t, conn, `INSERT INTO orgs (uid, name, canonical, created_at) VALUES ('org', 'org', 'org', 0)`)
	mustExec(t, conn, `INSERT INTO users (uid, org_uid, email, canonical, role, password_hash, password_changed_at, created_at)
		SELECT 'user' || n, 'org', n, n, 'member', '', 0, 0 FROM generate_series(1, 2) AS n`)
	mustExec(t, conn, `INSERT INTO sessions (uid, org_uid, user_uid, generation, address, created_at, advanced_at, used_at, idle_until,
		max_until)
		SELECT n, 'org', 'user' || n % 2 + 1, 0, '', 0, 0, 0, 0, 0 FROM generate_series(1, 100) AS n`)
	if err := db.InTx(t.Context(), func(tx *Tx) error { return tx.Users.Delete(t.Context(), "org", "user1") }); err != nil {
		t.Fatal(err)
	}
	if err := db.InTx(t.Context(), func(tx *Tx) error { return tx.Orgs.Delete(t.Context(), "org") }); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil { // its connections report what they counted at their end
		t.Fatal(err)
	}
	const counted = `SELECT n_tup_del || ' deleted, ' || n_tup_upd || ' updated' FROM pg_stat_user_tables WHERE relname = 'sessions'`
	found := lookUp(t, url, counted)
	for deadline := time.Now().Add(10 * time.Second); !strings.HasPrefix(found, "100 ") &&
		time.Now().Before(deadline); found = lookUp(t, url, counted) {
		time.Sleep(50 * time.Millisecond)
	}
	if found != "100 deleted, 0 updated" {
		t.Errorf("sessions: %s", found)
	}
}
