package store_test

import (
	"testing"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/internal/store/storetest"
	"github.com/regwarden/regwarden/secret"
)

func mustOpenIn(t *testing.T, server *postgrestest.Server) *store.DB {
	t.Helper()
	return mustOpen(t, store.Options{DatabaseURL: secret.String(server.NewDatabase(t)), DataDir: t.TempDir()})
}

func TestPostgreSQL(t *testing.T) {
	server := store.Shared.Server(t)
	storetest.Run(t, func(t *testing.T) *store.DB { return mustOpenIn(t, server) })
}
