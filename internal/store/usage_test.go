package store

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A store of an older version is counted when it is migrated.
func TestMigrationCountsUsage(t *testing.T) {
	dir := t.TempDir()
	r := Registry{UID: "r", OrgUID: "o", Name: "name", Canonical: "name", Version: 1, CreatedAt: time.Now(), UpdatedAt: time.Now(), Endpoint: "https://r", CA: "ca",
		Annotations: map[string]string{"a": "b"}}
	openStore(t, dir, func(ctx context.Context, db *DB) {
		mustChange(t, db, func(ctx context.Context, tx *Tx) error {
			if err := tx.Orgs.Insert(ctx, Org{UID: "o", Name: "o", Canonical: "o", CreatedAt: time.Now()}); err != nil {
				return err
			}
			return tx.Registries.Insert(ctx, r)
		})
		for _, statement := range strings.Split("DROP TABLE org_usage; ALTER TABLE registries DROP COLUMN bytes; DELETE FROM goose_db_version WHERE version_id >= 13", ";") {
			mustChange(t, db, func(ctx context.Context, tx *Tx) error {
				_, err := tx.change(ctx, statement)
				return err
			})
		}
	})
	openStore(t, dir, func(ctx context.Context, db *DB) {
		err := db.View(ctx, func(tx *Tx) error {
			usage, err := tx.Registries.Usage(ctx, "o")
			pairs := int64(len(`{"a":"b"}`) - len("ab")) // as they are stored
			if want := (Usage{Registries: 1, Bytes: r.size() + pairs}); usage != want {
				t.Errorf("%+v, want %+v", usage, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func openStore(t *testing.T, dir string, use func(context.Context, *DB)) {
	t.Helper()
	db, err := Open(t.Context(), Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	use(t.Context(), db)
}
