package datamigration

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// TablesOf returns the tables that are copied from a directory, and those that are left out.
func TablesOf(ctx context.Context, o store.Options) (names, leftOut []string, err error) {
	s, err := openSource(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	tables, err := tablesOf(ctx, s)
	for _, t := range tables {
		names = append(names, t.name)
	}
	return names, s.foreign, errors.Join(err, s.close())
}
