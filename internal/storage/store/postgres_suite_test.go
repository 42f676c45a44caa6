package store_test

import (
	"testing"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

func TestPostgreSQL(t *testing.T) {
	server := store.Shared.Server(t)
	storetest.Run(t, func(t *testing.T) *store.DB {
		dir := t.TempDir()
		return mustOpen(t, store.Options{DataDir: dir, DatabaseURL: secret.String(storetest.Create(t, dir, server)),
			Timeout: storetest.LongTimeout})
	})
}
