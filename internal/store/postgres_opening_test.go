package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/secret"
)

// TestADatabaseWithoutRoomForTheStoreIsTold has databases in which the lock of opening cannot be made: that is told at
// once, and with its cause, and not tried for as long as another process could be at it.
func TestADatabaseWithoutRoomForTheStoreIsTold(t *testing.T) {
	server := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	for name, row := range map[string]struct {
		prepare, parameter, want string
	}{
		"no schema":     {"SELECT 1", "&search_path=nowhere", "search_path"},
		"another table": {"CREATE TABLE opening_lock (id BIGINT PRIMARY KEY CHECK (id > 1))", "", "23514"},
	} {
		url := server.NewDatabase(t)
		rawly(t, url, row.prepare)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := Open(ctx, Options{DatabaseURL: secret.String(url + row.parameter), MasterKey: testKey})
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: told %v", name, err)
		}
		cancel()
	}
}
