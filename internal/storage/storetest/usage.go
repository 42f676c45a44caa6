package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// usage is counted with each change, also of concurrent callers, and by organization.
func usage(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	wantUsage(t, db, org, store.Usage{})
	foreign := fullRegistry(other, "Foreign")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Insert(ctx, foreign) })
	const count = 20
	stored := make([]store.Registry, count)
	var wait sync.WaitGroup
	for i := range stored {
		stored[i] = store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: fmt.Sprintf("%02d", i), Canonical: fmt.Sprintf("%02d", i),
			Version: 1, CreatedAt: start, UpdatedAt: start}
		wait.Go(func() {
			tryWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Insert(ctx, stored[i]) })
		})
	}
	wait.Wait()
	const each = 1024 + 4
	wantUsage(t, db, org, store.Usage{Registries: count, Bytes: count * each})

	undone := errors.New("undone")
	wantError(t, db, undone, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Registries.Delete(ctx, org.UID, stored[1].UID), undone)
	})
	larger := stored[0]
	larger.Endpoint, larger.CA, larger.Secrets.Password, larger.Labels = "1234", "12345678", "12", map[string]string{"1": "2"}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Replace(ctx, larger) })
	wantUsage(t, db, org, store.Usage{Registries: count, Bytes: count*each + 16})
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Replace(ctx, larger) })
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.RecountUsage(ctx, org.UID) })
	wantUsage(t, db, org, store.Usage{Registries: count, Bytes: count*each + 16})
	for _, r := range stored {
		wait.Go(func() {
			tryWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Delete(ctx, org.UID, r.UID) })
		})
	}
	wait.Wait()
	wantUsage(t, db, org, store.Usage{})
}

func wantUsage(t *testing.T, db *store.DB, org store.Org, want store.Usage) {
	t.Helper()
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		got, err := tx.Registries.Usage(ctx, org.UID)
		if got != want {
			t.Errorf("%s stores %+v, want %+v", org.Name, got, want)
		}
		return err
	})
}

// tryWrite is mustWrite for goroutines other than the test's.
func tryWrite(t *testing.T, db *store.DB, fn func(context.Context, *store.Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Error(err)
	}
}
