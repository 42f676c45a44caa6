package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/store/sqldb"
)

// TestAddressesOfOldChannelsAreConfirmed upgrades a store: addresses that got alerts before still get them.
func TestAddressesOfOldChannelsAreConfirmed(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		dir := t.TempDir()
		open := func() *DB {
			db, err := Open(t.Context(), Options{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			return db
		}
		pool := func() *sql.DB {
			file, err := sqldb.OpenFile(filepath.Join(dir, sqldb.FileName), false)
			if err != nil {
				t.Fatal(err)
			}
			return file.DB
		}
		upgrade(t, open, pool, "migrations/sqlite")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		url := Shared.Server(t).NewDatabase(t)
		pool := func() *sql.DB {
			pool, err := sql.Open("pgx", url)
			if err != nil {
				t.Fatal(err)
			}
			return pool
		}
		upgrade(t, func() *DB { return mustOpenURL(t, url, Options{MasterKey: testKey}) }, pool, "migrations/postgres", pgx.QueryExecModeSimpleProtocol)
	})
}

func upgrade(t *testing.T, open func() *DB, pool func() *sql.DB, dir string, scriptArgs ...any) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	db := open()
	if err := db.InTx(t.Context(), func(tx *Tx) error { return oldChannels(t.Context(), tx, at) }); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	upgradeAgain(t, pool(), dir, scriptArgs)
	db = open()
	defer func() { _ = db.Close() }()
	for org, want := range map[string][]string{"all": {"a@example.com", `"b\\"@example.com`, "member@example.com", "ü@example.com"}, "own": {"a@example.com"}, "none": nil} {
		var got []string
		if err := db.View(t.Context(), func(tx *Tx) error {
			list, err := tx.Addresses.List(t.Context(), org)
			for _, a := range list {
				if !a.ConfirmedAt.Equal(at) {
					t.Errorf("%s is confirmed at %v", a.Address, a.ConfirmedAt)
				}
				got = append(got, a.Address)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: confirmed %q, want %q", org, got, want)
		}
	}
}

// oldChannels stores three organizations: one with users that get alerts, one with addresses only, one with a webhook.
func oldChannels(ctx context.Context, tx *Tx, at time.Time) error {
	for _, c := range []Channel{
		{OrgUID: "all", Type: "email", AlertAllUsers: true, Identifiers: []string{"a@example.com", "A@EXAMPLE.com", `"b\\"@example.com`, "ü@example.com"}},
		{OrgUID: "own", Type: "email", Identifiers: []string{"a@example.com"}},
		{OrgUID: "none", Type: "http", AlertAllUsers: true, Identifiers: []string{"a@example.com"}},
	} {
		project := Project{UID: "project of " + c.OrgUID, OrgUID: c.OrgUID, Name: "P", Canonical: "p", CreatedAt: at}
		user := User{UID: "user of " + c.OrgUID, OrgUID: c.OrgUID, Email: "Member@example.com", Canonical: "member@example.com", Role: "member", PasswordChangedAt: at, CreatedAt: at}
		c.UID, c.ProjectUID, c.Component, c.CreatedAt = "channel of "+c.OrgUID, project.UID, "c", at
		for _, step := range []func() error{
			func() error {
				return tx.Orgs.Insert(ctx, Org{UID: c.OrgUID, Name: c.OrgUID, Canonical: c.OrgUID, CreatedAt: at})
			},
			func() error { return tx.Projects.Insert(ctx, project) },
			func() error { return tx.Users.Insert(ctx, user) },
			func() error { return tx.Channels.Insert(ctx, c) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return nil
}

// upgradeAgain creates the table of addresses again, as the migration does in a store with channels.
func upgradeAgain(t *testing.T, pool *sql.DB, dir string, scriptArgs []any) {
	t.Helper()
	defer func() { _ = pool.Close() }()
	text, err := migrations.ReadFile(dir + "/00012_alert_addresses.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), "DROP TABLE alert_addresses; "+string(text), scriptArgs...); err != nil {
		t.Fatal(err)
	}
}
