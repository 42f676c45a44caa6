package sqldb

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

func TestPostgreSQL(t *testing.T) {
	server := shared.Server(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *postgrestest.Server)
	}{
		{"serialization failures and deadlocks are retried", failuresAreRetried},
		{"a stuck lock delays no caller for long", stuckLock},
		{"commits are durable and waits are bounded whatever the defaults of the database are", settings},
		{"a database of a newer program", newerDatabase},
		{"text that PostgreSQL cannot hold", unstorableText},
		{"no error contains the password", passwordIsHidden},
		{"the reason of a failed connection is known", connectionReasons},
		{"other processes are notified of a commit", othersAreNotified},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, server) })
	}
}

// failuresAreRetried makes PostgreSQL refuse transactions as a distributed database does: read, then written, under
// serializable isolation; and locks taken crosswise.
func failuresAreRetried(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t))
	db.engine.(*postgres).begin = "BEGIN ISOLATION LEVEL SERIALIZABLE"
	const counters = 4
	var runs atomic.Int64
	var wait, haveRead sync.WaitGroup
	haveRead.Add(counters)
	for range counters {
		wait.Go(func() {
			arrive := sync.OnceFunc(haveRead.Done)
			defer arrive() // also if no transaction begins
			err := db.InTx(t.Context(), func(q Querier) error {
				runs.Add(1)
				last, err := lastCount(t.Context(), q)
				arrive()
				haveRead.Wait() // all have read the same before one writes
				if err != nil {
					return err
				}
				n, err := q.Exec(t.Context(), "UPDATE counter SET last = $1 WHERE id = 1", []any{last + 1})
				if n != 1 && err == nil {
					t.Errorf("%d rows were updated", n)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	err := db.View(func(q Querier) error {
		last, err := lastCount(t.Context(), q)
		if last != counters || runs.Load() <= counters {
			t.Errorf("counted to %d in %d runs", last, runs.Load())
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
	db.engine.(*postgres).begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
	const update = "UPDATE names SET name = name WHERE name = $1"
	names := []string{"one", "two"}
	if err := db.InTx(t.Context(), func(q Querier) error {
		return errors.Join(insertName(t.Context(), q, names[0]), insertName(t.Context(), q, names[1]))
	}); err != nil {
		t.Fatal(err)
	}
	var runs atomic.Int64
	var meet, wait sync.WaitGroup
	meet.Add(2)
	for i := range 2 {
		wait.Go(func() {
			arrive := sync.OnceFunc(meet.Done)
			defer arrive() // also without the lock
			err := db.InTx(t.Context(), func(q Querier) error {
				runs.Add(1)
				if _, err := q.Exec(t.Context(), update, []any{names[i]}); err != nil {
					return err
				}
				arrive()
				meet.Wait() // each has one lock, and requests the lock of the other
				_, err := q.Exec(t.Context(), update, []any{names[1-i]})
				return err
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
	db := mustOpenURL(t, url)
	if err := insertAlone(t, db, "locked"); err != nil {
		t.Fatal(err)
	}
	conn := mustConnect(t, url)
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE names"); err != nil {
		t.Fatal(err)
	}
	const lockNotAvailable = "55P03" // by lock_timeout; statement_timeout, which is longer, is 57014
	if err := insertAlone(t, db, "free"); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), lockNotAvailable) {
		t.Errorf("got %v", err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := insertAlone(t, db, "free"); err != nil {
		t.Errorf("after the lock was released: %v", err)
	}
}

func settings(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	for _, row := range []struct{ name, has, gets string }{
		{"synchronous_commit", "off", "on"}, {"synchronous_commit", "local", "on"}, {"synchronous_commit", "remote_apply", "remote_apply"},
		{"lock_timeout", "0", "2s"}, {"lock_timeout", "'1s'", "1s"}, {"statement_timeout", "0", "4s"}, {"statement_timeout", "'3s'", "3s"},
	} {
		execDirectly(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "+row.name+" = "+strings.ReplaceAll(row.has, "'",
			"''")+"', current_database()); END $$")
		db := mustOpenURL(t, url)
		err := db.InTx(t.Context(), func(q Querier) error {
			got, err := queryText(t.Context(), q, "SELECT current_setting('"+row.name+"')")
			if got != row.gets {
				t.Errorf("%s of %s became %s", row.name, row.has, got)
			}
			return err
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func newerDatabase(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	refuseNewer(t, Options{URL: secret.String(url)}, func(query string) { execDirectly(t, url, query) })
}

func TestNewerDatabaseInAFile(t *testing.T) {
	dir := t.TempDir()
	refuseNewer(t, Options{Dir: dir}, func(query string) {
		file, err := OpenFile(filepath.Join(dir, FileName), false)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if _, err := file.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	})
}

// refuseNewer opens a database that a newer program migrated, which needs consent, and one that an older program cannot use at all.
func refuseNewer(t *testing.T, o Options, exec func(query string)) {
	open := func(allowNewer bool) error {
		db, err := Open(t.Context(), o, func(ctx context.Context, db *Raw) error { return db.Migrate(ctx, migrations, allowNewer) })
		if err != nil {
			return err
		}
		return db.Close()
	}
	if err := open(false); err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
	err := open(false)
	if !errors.Is(err, ErrTooNew) {
		t.Fatalf("a newer database: %v", err)
	}
	for _, text := range []string{"version 9999", "up to 1", "start that one", "--allow-newer-database"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not contain %q: %v", text, err)
		}
	}
	if err := open(true); err != nil {
		t.Errorf("a newer database with additional tables, allowed: %v", err)
	}
	exec("UPDATE schema_floor SET least = 9999")
	if err := open(true); !errors.Is(err, ErrTooNew) || strings.Contains(err.Error(), "--allow-newer-database") {
		t.Errorf("a newer database that cannot be used: %v", err)
	}
}

func unstorableText(t *testing.T, server *postgrestest.Server) {
	db := mustOpenURL(t, server.NewDatabase(t))
	for _, name := range []string{"a\x00b", "a\xffb"} {
		rows := 0
		lookUp := func(q Querier) error {
			return q.Each(t.Context(), "SELECT name FROM names WHERE name = $1", []any{name}, func(Scanner) error { rows++; return nil })
		}
		if err := errors.Join(db.View(lookUp), db.InTx(t.Context(), lookUp)); err != nil || rows != 0 {
			t.Errorf("looked up %q: %d rows, %v", name, rows, err)
		}
		if err := insertAlone(t, db, name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("stored %q: %v", name, err)
		}
	}
}

func passwordIsHidden(t *testing.T, server *postgrestest.Server) {
	good := server.NewDatabase(t)
	marked := strings.NewReplacer("marked", "marked-wrong")
	for name, url := range map[string]string{
		"wrong password": marked.Replace(good),
		"no database":    server.URL("missing"),
		"no server":      server.URLVia("127.0.0.1:1", "postgres"),
		"no host":        server.URLVia("no.such.host.invalid:5432", "postgres"),
		"TLS":            strings.ReplaceAll(good, "sslmode=disable", "sslmode=verify-full"),
		"wrong port":     strings.ReplaceAll(good, "127.0.0.1:", "127.0.0.1:99"),
		"no URL":         "postgres://regwarden:" + postgrestest.Password + "@127.0.0.1/test",
		"no such mode":   strings.ReplaceAll(good, "sslmode=disable", "sslmode=marked"),
	} {
		_, err := Open(t.Context(), Options{URL: secret.String(url)}, setup)
		if err == nil {
			t.Errorf("%s: opened", name)
		}
		if _, holds := errors.AsType[*pgconn.ConnectError](err); holds {
			t.Errorf("%s: the error contains the configuration", name)
		}
		for _, form := range []string{"%v", "%+v", "%#v", "%q"} {
			if text := fmt.Sprintf(form, err); strings.Contains(text, "marked") {
				t.Errorf("%s: got %s", name, text)
			}
		}
	}
}

func othersAreNotified(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	one, two := mustOpenURL(t, url), mustOpenURL(t, url)
	<-two.Changed() // for notifications from before it listened
	note := func(also error) error {
		return one.InTx(t.Context(), func(q Querier) error {
			q.Notify()
			return errors.Join(insertName(t.Context(), q, uuid.NewString()), also)
		})
	}
	if err := note(nil); err != nil {
		t.Fatal(err)
	}
	<-two.Changed()
	execDirectly(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()")
	<-two.Changed() // a value for notifications that were missed
	// Notifications come in the order of commits, and none of a transaction that was rolled back.
	listening := mustConnect(t, url)
	if _, err := listening.Exec(t.Context(), sqlListen); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(note(nil), note(nil)); err != nil || !errors.Is(note(errOnPurpose), errOnPurpose) {
		t.Fatal(err)
	}
	execDirectly(t, url, "SELECT pg_notify('regwarden_changes', 'last')")
	for n := 0; ; n++ {
		notification, err := listening.WaitForNotification(t.Context())
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
