package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

// TestOnPostgreSQL has what the suite (storetest) cannot ask: what is of PostgreSQL alone.
func TestOnPostgreSQL(t *testing.T) {
	server := Shared.Server(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *postgrestest.Server)
	}{
		{"ten open a new store at once", tenOpen},
		{"the master key is shared, not made anew", keyIsShared},
		{"every query is understood", queriesPrepare},
		{"texts compare byte by byte", textsAreBytes},
		{"the tables are those of SQLite", schemasAgree},
		{"serialization failures and deadlocks are retried", failuresAreRetried},
		{"a stuck lock holds nobody for long", stuckLock},
		{"commits are durable whatever the role says", commitsAreDurable},
		{"a store of a newer program", newerStore},
		{"text that PostgreSQL cannot hold", unstorableText},
		{"the password is in no error", passwordIsHidden},
		{"others are woken by a change", othersAreWoken},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, server) })
	}
}

func mustOpenURL(t *testing.T, url string, o Options) *DB {
	t.Helper()
	o.DatabaseURL = secret.String(url)
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

// rawly runs statements beside the store.
func rawly(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn := mustConnect(t, url)
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
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
			db, err := Open(t.Context(), Options{DatabaseURL: secret.String(url), MasterKey: key})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = db.Close() }()
			err = db.InTx(t.Context(), func(tx *Tx) error {
				_, err := tx.Keys.Insert(t.Context(), ServiceKey{UID: uuid.NewString(), Purpose: KeyMAC, Secret: []byte("s"), CreatedAt: noon})
				if err != nil {
					return err
				}
				keys, err := tx.Keys.List(t.Context()) // opens them with the keyring, which has to be one
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
	twice := lookUp(t, url, "SELECT COUNT(*)::text FROM (SELECT version_id FROM goose_db_version GROUP BY version_id HAVING COUNT(*) > 1) AS t")
	if twice != "0" {
		t.Errorf("%s migrations ran twice", twice)
	}
}

func keyIsShared(t *testing.T, server *postgrestest.Server) {
	url, first, second := server.NewDatabase(t), t.TempDir(), filepath.Join(t.TempDir(), "second")
	options := func(dir string) Options { return Options{DatabaseURL: secret.String(url), DataDir: dir} }
	if _, err := Open(t.Context(), Options{DatabaseURL: secret.String(url), DataDir: second, Existing: true}); !errors.Is(err, ErrEmpty) {
		t.Errorf("a command on an empty database: %v", err)
	}
	if tables := lookUp(t, url, "SELECT COUNT(*)::text FROM information_schema.tables WHERE table_schema = current_schema()"); tables != "0" {
		t.Errorf("a command on an empty database created %s tables", tables)
	}
	if err := mustOpenURL(t, url, Options{DataDir: first}).Close(); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		return lookUp(t, url, "SELECT (SELECT string_agg(k::text, ',') FROM data_keyset k) || (SELECT string_agg(v::text, ',' ORDER BY id) FROM goose_db_version v)")
	}
	before := state()
	if _, err := Open(t.Context(), options(second)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the key: %v", err)
	}
	if _, err := os.Stat(second); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made for a key that must be shared: %v", err)
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

// queriesPrepare has PostgreSQL parse every query text of this package, and infer the types of its parameters.
func queriesPrepare(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	mustOpenURL(t, url, Options{})
	conn, queries := mustConnect(t, url), queryTexts(t)
	if len(queries) < 80 {
		t.Errorf("only %d queries were found", len(queries))
	}
	for name, query := range queries {
		if strings.Contains(query, "sqlite_master") || strings.Contains(query, "pragma_") {
			continue // asks SQLite about itself
		}
		if _, err := conn.Prepare(t.Context(), name, query); err != nil {
			t.Errorf("%s: %v\n%s", name, err, query)
		}
	}
}

// textsAreBytes looks for a text column that was made without the migrations' own collation: the order of a language
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

// failuresAreRetried has PostgreSQL refuse transactions as a distributed database does: read, then written, under
// serializable isolation; and locks taken crosswise.
func failuresAreRetried(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t), Options{})
	db.database.(*postgres).begin = "BEGIN ISOLATION LEVEL SERIALIZABLE"
	const counters = 4
	var runs atomic.Int64
	var wait, haveRead sync.WaitGroup
	haveRead.Add(counters)
	for range counters {
		wait.Go(func() {
			retried := false
			err := db.InTx(t.Context(), func(tx *Tx) error {
				runs.Add(1)
				last, err := tx.Changes.Last(t.Context())
				if !retried { // all have read the same before one writes
					retried = true
					haveRead.Done()
					haveRead.Wait()
				}
				if err != nil {
					return err
				}
				return tx.changeOne(t.Context(), "UPDATE change_counter SET last = $1 WHERE id = 1", last.Seq+1)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	err := db.View(t.Context(), func(tx *Tx) error {
		last, err := tx.Changes.Last(t.Context())
		if last.Seq != counters || runs.Load() <= counters {
			t.Errorf("counted to %d in %d runs", last.Seq, runs.Load())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	crosswise(t, db)
}

func crosswise(t *testing.T, db *DB) {
	t.Helper()
	db.database.(*postgres).begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
	names := []string{"one", "two"}
	if err := db.InTx(t.Context(), func(tx *Tx) error {
		return errors.Join(insertOrg(t.Context(), tx, names[0]), insertOrg(t.Context(), tx, names[1]))
	}); err != nil {
		t.Fatal(err)
	}
	var runs atomic.Int64
	var meet, wait sync.WaitGroup
	meet.Add(2)
	for i := range 2 {
		wait.Go(func() {
			first := true
			err := db.InTx(t.Context(), func(tx *Tx) error {
				runs.Add(1)
				if err := tx.changeOne(t.Context(), "UPDATE orgs SET created_at = created_at + 1 WHERE canonical = $1", names[i]); err != nil {
					return err
				}
				if first {
					first = false
					meet.Done()
					meet.Wait() // each has one lock, and wants the other's
				}
				return tx.changeOne(t.Context(), "UPDATE orgs SET created_at = created_at + 1 WHERE canonical = $1", names[1-i])
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if runs.Load() < 3 {
		t.Errorf("%d runs: there was no deadlock", runs.Load())
	}
}

func stuckLock(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	db := mustOpenURL(t, url, Options{})
	if err := db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, "locked") }); err != nil {
		t.Fatal(err)
	}
	conn := mustConnect(t, url)
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE orgs"); err != nil {
		t.Fatal(err)
	}
	write := func() error {
		return db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, "free") })
	}
	const lockNotAvailable = "55P03" // by lock_timeout; statement_timeout, which is longer, is 57014
	if err := write(); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), lockNotAvailable) {
		t.Errorf("told %v", err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("once it was free: %v", err)
	}
}

func commitsAreDurable(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	for _, row := range []struct{ has, gets string }{{"off", "on"}, {"local", "on"}, {"remote_apply", "remote_apply"}} {
		rawly(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = "+row.has+"', current_database()); END $$")
		db := mustOpenURL(t, url, Options{MasterKey: testKey})
		err := db.InTx(t.Context(), func(tx *Tx) error {
			return tx.each(t.Context(), func(answer scanner) error {
				var got string
				if err := answer.Scan(&got); err != nil || got != row.gets {
					t.Errorf("%s became %s, %v", row.has, got, err)
				}
				return nil
			}, "SELECT current_setting('synchronous_commit')")
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func newerStore(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	open := func() error {
		db, err := Open(t.Context(), Options{DatabaseURL: secret.String(url), MasterKey: testKey})
		if err != nil {
			return err
		}
		return db.Close()
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	rawly(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
	if err := open(); err != nil {
		t.Errorf("a newer store that only has more: %v", err)
	}
	rawly(t, url, "UPDATE schema_floor SET least = 9999")
	if err := open(); !errors.Is(err, ErrTooNew) {
		t.Errorf("a newer store that says so: %v", err)
	}
}

func unstorableText(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t), Options{})
	for _, name := range []string{"a\x00b", "a\xffb"} {
		ask := func(tx *Tx) error {
			_, err := tx.Orgs.ByName(t.Context(), name)
			return err
		}
		if err := db.View(t.Context(), ask); !errors.Is(err, ErrNotFound) {
			t.Errorf("looked up %q: %v", name, err)
		}
		if err := db.InTx(t.Context(), ask); !errors.Is(err, ErrNotFound) {
			t.Errorf("looked up %q: %v", name, err)
		}
		if err := db.InTx(t.Context(), func(tx *Tx) error { return insertOrg(t.Context(), tx, name) }); fault.KindOf(err) != fault.Invalid {
			t.Errorf("kept %q: %v", name, err)
		}
	}
}

func passwordIsHidden(t *testing.T, server *postgrestest.Server) {
	good := server.NewDatabase(t)
	marked := strings.NewReplacer("marked", "marked-wrong")
	for name, url := range map[string]string{
		"wrong password": marked.Replace(good),
		"no database":    server.URL("nowhere"),
		"no server":      server.URLVia("127.0.0.1:1", "postgres"),
		"no host":        server.URLVia("no.such.host.invalid:5432", "postgres"),
		"TLS":            strings.ReplaceAll(good, "sslmode=disable", "sslmode=verify-full"),
		"wrong port":     strings.ReplaceAll(good, "127.0.0.1:", "127.0.0.1:99"),
		"no URL":         "postgres://regwarden:" + postgrestest.Password + "@127.0.0.1/test",
		"no such mode":   strings.ReplaceAll(good, "sslmode=disable", "sslmode=marked"),
	} {
		_, err := Open(t.Context(), Options{DatabaseURL: secret.String(url), DataDir: t.TempDir()})
		if err == nil {
			t.Errorf("%s: opened", name)
		}
		if _, holds := errors.AsType[*pgconn.ConnectError](err); holds {
			t.Errorf("%s: the error holds the configuration", name)
		}
		for _, form := range []string{"%v", "%+v", "%#v", "%q"} {
			if text := fmt.Sprintf(form, err); strings.Contains(text, "marked") {
				t.Errorf("%s: told %s", name, text)
			}
		}
	}
}

func othersAreWoken(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	one, two := mustOpenURL(t, url, Options{MasterKey: testKey}), mustOpenURL(t, url, Options{MasterKey: testKey})
	<-two.Changed() // for what was missed before it listened
	note := func(also error) error {
		return one.InTx(t.Context(), func(tx *Tx) error { return errors.Join(tx.Changes.Note(t.Context(), "subject"), also) })
	}
	if err := note(nil); err != nil {
		t.Fatal(err)
	}
	<-two.Changed()
	rawly(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()")
	<-two.Changed() // what was missed meanwhile has to be looked for
	// Notifications come in the order of commits: between two changes, none is for one that was not committed.
	hearing := mustConnect(t, url)
	if _, err := hearing.Exec(t.Context(), sqlListen); err != nil {
		t.Fatal(err)
	}
	onPurpose := errors.New("on purpose")
	if err := errors.Join(note(nil), note(nil)); err != nil || !errors.Is(note(onPurpose), onPurpose) {
		t.Fatal(err)
	}
	rawly(t, url, "SELECT pg_notify('regwarden_changes', 'last')")
	for n := 0; ; n++ {
		notification, err := hearing.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if notification.Payload == "last" {
			if n != 2 {
				t.Errorf("%d notifications of 2 changes", n)
			}
			break
		}
	}
}
