package postgrestest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Held is rows that are locked, so that what several transactions do to them happens in an order that a test decides.
type Held struct {
	url  string
	conn *pgx.Conn
}

const sqlBlocked = `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

// Hold locks rows by a SELECT … FOR UPDATE until Release.
func Hold(t testing.TB, url, query string) *Held {
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
	return &Held{url: url, conn: conn}
}

// Await returns when so many transactions of the database wait for a lock.
func (h *Held) Await(t testing.TB, want int64) {
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

// Release lets those go on who wait, in the order in which they came.
func (h *Held) Release(t testing.TB) {
	t.Helper()
	if _, err := h.conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}
