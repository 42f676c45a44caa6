package auditchain_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auditchain"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

var postgres = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}}

func TestMain(m *testing.M) {
	postgres.Tests = m
	goleak.VerifyTestMain(postgres)
}

var start = registriestest.Start

// later is when every record of these tests can be linked.
var later = start.Add(48 * time.Hour)

func linker(db *store.DB, now time.Time) *auditchain.Linker {
	return auditchain.NewLinker(db, slog.New(slog.DiscardHandler), func() time.Time { return now })
}

func mustLink(t *testing.T, db *store.DB, now time.Time) {
	t.Helper()
	if err := linker(db, now).Link(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func mustVerify(t *testing.T, db *store.DB, noted []byte) auditchain.Result {
	t.Helper()
	result, err := auditchain.Verify(t.Context(), db, noted)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// wantRecords requires that so many records fit, and so many are not linked yet.
func wantRecords(t *testing.T, db *store.DB, records, unlinked int64) auditchain.Result {
	t.Helper()
	r := mustVerify(t, db, nil)
	if r.Problems != 0 || r.Records != records || r.Unlinked != unlinked {
		t.Errorf("%d records fit, %d are not linked, %d problems, first %+v; want %d, %d and none", r.Records, r.Unlinked, r.Problems,
			r.First, records, unlinked)
	}
	return r
}

func mustWrite(t *testing.T, db *store.DB, records ...audit.Record) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *store.Tx) (err error) {
		for _, r := range records {
			err = errors.Join(err, tx.Audits.Append(t.Context(), r))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// mustSweep notes that the records from before a moment are being deleted, as the retention time does, in steps.
func mustSweep(t *testing.T, db *store.DB, before time.Time) {
	t.Helper()
	for more := true; more; {
		err := db.InTx(t.Context(), func(tx *store.Tx) (err error) {
			more, err = tx.Audits.Sweep(t.Context(), before, 3)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func mustDeleteBefore(t *testing.T, db *store.DB, before time.Time) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Audits.DeleteBefore(t.Context(), before, 1000)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func login(org string, at time.Time) audit.Record {
	return audit.Record{UID: audit.NewUID(), At: at, OrgUID: org, ActorUID: "user", ActorName: "u@example.com\n",
		Method: audit.MethodPassword,
		Action: audit.Login, Outcome: audit.Succeeded, Target: "https://hooks.example.com:443",
		Origin: audit.Origin{RequestID: "ref", Address: "192.0.2.1"}}
}

func refusal(at time.Time) audit.Record {
	r := login("org-a", at)
	r.Outcome, r.Reason = audit.Refused, "OperationForbidden"
	return r
}

// mustExec changes the database as somebody without the key of the service could.
func mustExec(t *testing.T, f registriestest.Fixture, script string) {
	t.Helper()
	var err error
	if f.URL == "" {
		file, errOpen := sqldb.OpenFile(filepath.Join(f.Dir, sqldb.FileName), false)
		if errOpen != nil {
			t.Fatal(errOpen)
		}
		_, err = file.ExecContext(t.Context(), script)
		err = errors.Join(err, file.Close())
	} else {
		pool, errOpen := sql.Open("pgx", f.URL)
		if errOpen != nil {
			t.Fatal(errOpen)
		}
		_, err = pool.ExecContext(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
		err = errors.Join(err, pool.Close())
	}
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
}
