package partitions_test

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// The proof that the records are old enough takes long in a large table. A server that stops does not wait for its end.
func TestStopEndsTheProof(t *testing.T) {
	w := mustWorld(t)
	mustAppend(t, w.DB, record(now))
	w.mustExec(t, "UPDATE goose_db_version SET tstamp = tstamp - interval '25 hours'")
	w.mustExec(t, "CREATE FUNCTION slow() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(20); RETURN true; END $$")
	w.mustExec(t, fmt.Sprintf("ALTER TABLE audits ADD CONSTRAINT audits_first CHECK (at < %d AND slow()) NOT VALID", now.AddDate(0, 4, 0).UnixMilli()))
	ctx, stop := context.WithCancel(t.Context())
	divided := make(chan error)
	go func() { divided <- divide(ctx, w.DB, now) }()
	w.await(t, "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%VALIDATE%' AND wait_event = 'PgSleep'", "1")
	began := time.Now()
	stop()
	if err := <-divided; err == nil {
		t.Error("it is divided")
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the stop took %v", took)
	}
	w.await(t, "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'", "0")
}

// await waits until a query has that result.
func (w *world) await(t *testing.T, query, want string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); w.text(t, query) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is never %s", query, want)
		}
	}
}
