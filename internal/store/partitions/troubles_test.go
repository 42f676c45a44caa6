package partitions_test

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// A clock that was years ahead for a while does not end the creation of partitions, nor does a table that has the name of one.
func TestExtendAfterWrongClock(t *testing.T) {
	w := mustWorld(t)
	w.mustDivide(t, now)
	w.mustDivide(t, now.AddDate(9, 0, 0))
	w.mustExec(t, "CREATE TABLE audits_2027_03 (uid TEXT)")
	if err := divide(t.Context(), w.DB, now.AddDate(0, 4, 0)); err == nil {
		t.Error("no error for the month whose name is in use")
	}
	if parts := w.parts(t); parts != "audits_2027_04 audits_2027_05 audits_2035_11 audits_2035_12 audits_2036_01 audits_default audits_first" {
		t.Errorf("partitions %q", parts)
	}
}

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
