package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/secret"
)

// TestADatabaseWithoutRoomForTheStoreIsTold has databases in which the lock of opening cannot be made: that is told at
// once, and with its cause, and not tried for as long as another process could be at it.
func TestADatabaseWithoutRoomForTheStoreIsTold(t *testing.T) {
	server := Shared.Server(t)
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

// TestEveryConnectionIsDurableAndMissed looks at the settings of connections to a database whose defaults are bad: what
// opening writes is durable like everything else, and who vanished is missed soon.
func TestEveryConnectionIsDurableAndMissed(t *testing.T) {
	url := Shared.Server(t).NewDatabase(t)
	rawly(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$")
	db := mustOpenURL(t, url, Options{MasterKey: testKey})
	const query = "SELECT current_setting('synchronous_commit') || ' ' || current_setting('tcp_keepalives_idle') || ' ' || " +
		"current_setting('tcp_keepalives_interval') || ' ' || current_setting('tcp_keepalives_count') || ' ' || current_setting('client_connection_check_interval')"
	ask := func(tx *Tx) (got string, err error) {
		err = tx.each(t.Context(), func(answer scanner) error { return answer.Scan(&got) }, query)
		return got, err
	}
	opening := db.database.(*postgres).openingPool()
	defer opening.Close()
	for name, of := range map[string]func() (string, error){
		"opening": func() (got string, err error) {
			err = opening.QueryRowContext(t.Context(), query).Scan(&got)
			return got, err
		},
		"writer": func() (got string, err error) {
			err = db.InTx(t.Context(), func(tx *Tx) (err error) {
				got, err = ask(tx)
				return err
			})
			return got, err
		},
		"reader": func() (got string, err error) {
			err = db.View(t.Context(), func(tx *Tx) (err error) {
				got, err = ask(tx)
				return err
			})
			return got, err
		},
	} {
		if got, err := of(); err != nil || got != "on 5 3 3 2s" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
