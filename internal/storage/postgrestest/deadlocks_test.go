package postgrestest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestDeadlocksAreCounted provokes a deadlock. Tests whose server resolved one fail, unless they expect it.
func TestDeadlocksAreCounted(t *testing.T) {
	requirePackage(t)
	for _, expected := range []bool{false, true} {
		server, err := New(Options{NoSync: true, Deadlocks: expected, Settings: []string{"deadlock_timeout = 10ms"}})
		if err != nil {
			t.Fatal(err)
		}
		deadlock(t, server.NewDatabase(t))
		if n, err := server.Deadlocks(); n != 1 || err != nil {
			t.Errorf("%d deadlocks: %v, want 1", n, err)
		}
		err = server.Remove()
		if found := err != nil && strings.Contains(err.Error(), "1 deadlocks"); found == expected {
			t.Errorf("expected %v: %v", expected, err)
		}
		for _, statement := range []string{"WHERE id = 1", "WHERE id = 2"} { // those of both processes
			if !expected && !strings.Contains(err.Error(), ": UPDATE pair SET id = id "+statement) {
				t.Errorf("no %q in %v", statement, err)
			}
		}
	}
}

// deadlock has two transactions change two rows in opposite orders.
func deadlock(t *testing.T, url string) {
	t.Helper()
	first, second := connect(t, url), connect(t, url)
	must := func(conn *pgx.Conn, statement string) {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	must(first, "CREATE TABLE pair (id BIGINT); INSERT INTO pair VALUES (1), (2)")
	must(first, "BEGIN; UPDATE pair SET id = id WHERE id = 1")
	must(second, "BEGIN; UPDATE pair SET id = id WHERE id = 2")
	var both sync.WaitGroup
	both.Go(func() { _, _ = first.Exec(t.Context(), "UPDATE pair SET id = id WHERE id = 2; COMMIT") })
	both.Go(func() { _, _ = second.Exec(t.Context(), "UPDATE pair SET id = id WHERE id = 1; COMMIT") })
	both.Wait()
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
