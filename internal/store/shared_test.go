package store

import (
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

// Shared runs PostgreSQL for the tests of both packages that do not end it.
var Shared = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: []string{"deadlock_timeout = 50ms"}}}

// slowConnect lets a connection take a minute, the most that the setting can be, so that a busy machine is not taken for a database that is away.
const slowConnect = "&connect_timeout=60"

// OpenPatient opens a store whose time limits no busy machine exceeds, for tests whose subject they are not.
func OpenPatient(t *testing.T, url string) *DB {
	t.Helper()
	db, err := Open(t.Context(), Options{DatabaseURL: secret.String(url + slowConnect), DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	p := patient(db)
	p.writers.timeout, p.readers.timeout = time.Hour, time.Hour
	return db
}

// patient lets transactions and questions wait for an hour.
func patient(db *DB) *postgres {
	p := db.database.(*postgres)
	p.limit = time.Hour
	return p
}
