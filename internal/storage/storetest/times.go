package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

func times(t *testing.T, db *store.DB) {
	newer := start.Add(time.Hour)
	for _, s := range []struct {
		name string
		do   func(context.Context, store.Times) error
		want time.Time
	}{
		{"none", func(context.Context, store.Times) error { return nil }, time.UnixMilli(0)},
		{"the first", func(ctx context.Context, tx store.Times) error { return tx.Note(ctx, start) }, start},
		{"an older one", func(ctx context.Context, tx store.Times) error { return tx.Note(ctx, start.Add(-time.Hour)) }, start},
		{"a newer one", func(ctx context.Context, tx store.Times) error { return tx.Note(ctx, newer) }, newer},
		{"set", func(ctx context.Context, tx store.Times) error { return tx.Set(ctx, start) }, start},
	} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return s.do(ctx, tx.Times) })
		got, err := store.Read(t.Context(), db, func(tx *store.Tx) (time.Time, error) { return tx.Times.Newest(t.Context()) })
		if err != nil || !got.Equal(s.want) {
			t.Errorf("%s: %v, %v, want %v", s.name, got, err, s.want)
		}
	}
}
