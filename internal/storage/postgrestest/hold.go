package postgrestest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// held is a set of locked rows, so that a test determines the order in which several transactions change them.
type held struct{ conn, look *pgx.Conn }

const sqlBlocked = `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

// hold locks rows by a SELECT … FOR UPDATE until release.
func hold(t testing.TB, url, query string) *held {
	t.Helper()
	connect := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	h := &held{connect(), connect()}
	for _, sql := range []string{"BEGIN", query} {
		if _, err := h.conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// await returns when that number of changes have ended, or wait for a lock of the database. It looks often, and over one connection: on a
// busy machine another one takes a part of the two seconds that a change waits for a lock.
func (h *held) await(t testing.TB, want int64, ended *atomic.Int64) {
	t.Helper()
	var n int64
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if err := h.look.QueryRow(t.Context(), sqlBlocked).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n += ended.Load(); n >= want {
			return
		}
	}
	t.Fatalf("%d changes have ended or wait for a lock, not %d", n, want)
}

// release unlocks the rows. The waiting transactions continue in the order in which they began to wait.
func (h *held) release(t testing.TB) {
	t.Helper()
	if _, err := h.conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

// Concurrently runs changes concurrently. On PostgreSQL all of them have begun, and have ended or wait for the rows of the query
// or for each other, before one of them continues; then they continue in this order. Without an address, for a store with one
// writer, all of them are started at once.
func Concurrently(t testing.TB, url, query string, changes ...func() error) {
	t.Helper()
	var wait sync.WaitGroup
	var ended atomic.Int64
	defer wait.Wait()
	begin := func(change func() error) {
		wait.Go(func() {
			defer ended.Add(1)
			if err := change(); err != nil {
				t.Error(err)
			}
		})
	}
	if url == "" {
		for _, change := range changes {
			begin(change)
		}
		return
	}
	held := hold(t, url, query)
	defer held.release(t)
	for i, change := range changes {
		begin(change)
		held.await(t, int64(i+1), &ended)
	}
}
