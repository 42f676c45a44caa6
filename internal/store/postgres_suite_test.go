package store_test

import (
	"testing"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/storetest"
)

func TestPostgreSQL(t *testing.T) {
	server := store.Shared.Server(t)
	storetest.Run(t, func(t *testing.T) *store.DB {
		dir := t.TempDir()
		return store.OpenWithLongTimeouts(t, dir, storetest.Create(t, dir, server))
	})
}
