package store

import (
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Shared runs PostgreSQL for the tests of both packages.
var Shared = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}}

// OpenWithLongTimeouts opens a store whose time limits a busy machine does not exceed, for tests of other properties.
func OpenWithLongTimeouts(t *testing.T, dir, url string) *DB {
	t.Helper()
	o := Options{DatabaseURL: secret.String(url), DataDir: dir}
	d := o.database()
	d.Timeout = time.Hour
	db, err := open(t.Context(), o, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
