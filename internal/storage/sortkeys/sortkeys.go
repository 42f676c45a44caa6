// Package sortkeys stores the order of the names of registries that programs wrote which do not know it.
package sortkeys

import (
	"context"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

const (
	batch = 1000 // rows of a statement

	sqlUnsorted = `SELECT uid, canonical FROM registries WHERE sort_key IS NULL ORDER BY uid LIMIT $1`
	// A row that was renamed in between is left for the next batch.
	fill = `WITH keys (uid, canonical, sort_key) AS (VALUES %s) UPDATE registries SET sort_key = k.sort_key FROM keys k
		WHERE registries.uid = k.uid AND registries.canonical = k.canonical AND registries.sort_key IS NULL`
)

// Fill sets the sort keys that are missing.
func Fill(ctx context.Context, db *sqldb.Raw) error {
	for {
		filled, err := fillBatch(ctx, db)
		if err != nil {
			return fmt.Errorf("sort the names of registries: %w", sqldb.Translate(err))
		}
		if filled == 0 {
			return nil
		}
	}
}

func fillBatch(ctx context.Context, db *sqldb.Raw) (int64, error) {
	args, err := unsorted(ctx, db)
	if err != nil || len(args) == 0 {
		return 0, err
	}
	result, err := db.ExecDurably(ctx, fmt.Sprintf(fill, placeholders(len(args))), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// unsorted returns uid, canonical name and sort key of a batch of rows without it.
func unsorted(ctx context.Context, db *sqldb.Raw) (args []any, err error) {
	found, err := db.QueryContext(ctx, sqlUnsorted, batch)
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var uid, canonical string
		if err := found.Scan(&uid, &canonical); err != nil {
			return nil, err
		}
		args = append(args, uid, canonical, names.SortKey(canonical))
	}
	return args, found.Err()
}

func placeholders(count int) string {
	var list []string
	for i := 1; i <= count; i += 3 {
		list = append(list, fmt.Sprintf("($%d, $%d, $%d)", i, i+1, i+2))
	}
	return strings.Join(list, ", ")
}
