package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// upgrade tests a migration on both databases: undo changes the store back to what it was before, so that the migration can run again on
// what before stored. Later migrations are not run again.
type upgrade struct {
	file, undo string
	before     func(context.Context, *Tx) error
	after      func(*testing.T, *Tx) error
}

func (u upgrade) run(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		dir := t.TempDir()
		u.test(t, func() *DB {
			db, err := Open(t.Context(), Options{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			return db
		}, func(script string) error {
			file, err := sqldb.OpenFile(filepath.Join(dir, sqldb.FileName), false)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			_, err = file.ExecContext(t.Context(), script)
			return err
		}, "migrations/sqlite/")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		url := Shared.Server(t).NewDatabase(t)
		u.test(t, func() *DB { return mustOpenURL(t, url, Options{MasterKey: testKey}) }, func(script string) error {
			pool, err := sql.Open("pgx", url)
			if err != nil {
				return err
			}
			defer func() { _ = pool.Close() }()
			_, err = pool.ExecContext(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
			return err
		}, "migrations/postgres/")
	})
}

func (u upgrade) test(t *testing.T, open func() *DB, exec func(script string) error, dir string) {
	db := open()
	if err := db.InTx(t.Context(), func(tx *Tx) error { return u.before(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	text, err := Migrations.ReadFile(dir + u.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec(u.undo + "; " + string(text)); err != nil {
		t.Fatal(err)
	}
	db = open()
	defer func() { _ = db.Close() }()
	if err := db.View(t.Context(), func(tx *Tx) error { return u.after(t, tx) }); err != nil {
		t.Fatal(err)
	}
}
