package postgrestest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// held is rows that are locked, so that what several transactions do to them happens in an order that a test decides.
type held struct {
	url  string
	conn *pgx.Conn
}

const sqlBlocked = `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

// hold locks rows by a SELECT … FOR UPDATE until release.
func hold(t testing.TB, url, query string) *held {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, sql := range []string{"BEGIN", query} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return &held{url: url, conn: conn}
}

// await returns when so many transactions of the database wait for a lock.
func (h *held) await(t testing.TB, want int64) {
	t.Helper()
	var n int64
	for range 400 { // sooner than a statement's patience ends
		var err error
		if n, err = Number(t.Context(), h.url, sqlBlocked); err != nil {
			t.Fatal(err)
		}
		if n >= want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%d transactions wait for a lock, not %d", n, want)
}

// release lets those go on who wait, in the order in which they came.
func (h *held) release(t testing.TB) {
	t.Helper()
	if _, err := h.conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

// Beside makes changes beside each other. On PostgreSQL each has begun, and waits for the rows of the query or for
// another, before one of them goes on; then they do in this order. Without an address, of a store that has one
// writer, they are begun at once.
func Concurrently(t testing.TB, url, query string, changes ...func() error) {
	t.Helper()
	var wait sync.WaitGroup
	defer wait.Wait()
	begin := func(change func() error) {
		wait.Go(func() {
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
		held.await(t, int64(i+1))
	}
}
