package store

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A store of an older version is counted when it is migrated.
func TestMigrationCountsUsage(t *testing.T) {
	r := Registry{UID: "r", OrgUID: "o", Name: "name", Canonical: "name", Version: 1, CreatedAt: time.Now(), UpdatedAt: time.Now(),
		Endpoint: "https://r", CA: "ca",
		Annotations: map[string]string{"a": "b"}}
	upgrade{file: "00013_org_usage.sql", undo: "DROP TABLE org_usage; ALTER TABLE registries DROP COLUMN bytes",
		before: func(ctx context.Context, tx *Tx) error {
			return errors.Join(tx.Orgs.Insert(ctx, Org{UID: "o", Name: "o", Canonical: "o", CreatedAt: time.Now()}),
				tx.Registries.Insert(ctx, r))
		},
		after: func(t *testing.T, tx *Tx) error {
			usage, err := tx.Registries.Usage(t.Context(), "o")
			pairs := int64(len(`{"a":"b"}`) - len("ab")) // as they are stored
			if want := (Usage{Registries: 1, Bytes: r.size() + pairs}); usage != want {
				t.Errorf("%+v, want %+v", usage, want)
			}
			return err
		}}.run(t)
}
