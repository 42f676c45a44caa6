package partitions_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
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
	if parts := w.parts(t); parts != "audits_2027_04 audits_2027_05 audits_2035_11 audits_2035_12 audits_2036_01 audits_default "+
		"audits_first" {
		t.Errorf("partitions %q", parts)
	}
}

// What another role may do with the table, such as one of pg_dump, it may do with every part of it.
func TestPrivileges(t *testing.T) {
	w := mustWorld(t)
	role := w.newRole(t, "dump-")
	w.mustExec(t, "GRANT SELECT ON audits TO "+role+" WITH GRANT OPTION; GRANT SELECT, INSERT ON audits TO PUBLIC")
	w.mustDivide(t, now)
	w.mustDivide(t, now.AddDate(0, 3, 0))
	const privileges = "SELECT string_agg(DISTINCT COALESCE(relacl::text, 'none'), ' ') FROM pg_class WHERE relname LIKE 'audits%' AND " +
		"relkind IN ('r', 'p')"
	if all, one := w.text(t, privileges), w.text(t, "SELECT relacl::text FROM pg_class WHERE relname = 'audits_first'"); all != one {
		t.Errorf("the tables have the privileges %s, want those of the first, %s", all, one)
	}
}

// newRole returns the name of a new role that can log in, as it is in a statement.
func (w *world) newRole(t *testing.T, prefix string) string {
	t.Helper()
	role := `"` + prefix + uuid.NewString() + `"`
	w.mustExec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'limited'")
	t.Cleanup(func() {
		if _, err := w.conn.Exec(context.Background(),
			"REASSIGN OWNED BY "+role+" TO CURRENT_USER; DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	return role
}

// A role that cannot divide the table leaves it as it is. A bound of the first partition would stay, and would refuse records in some
// months.
func TestRoleThatCannotDivide(t *testing.T) {
	for name, grant := range map[string]string{
		"it cannot create tables":        "ALTER TABLE audits OWNER TO %s",
		"the table is of another role's": "GRANT CREATE ON SCHEMA public TO %s",
	} {
		w := mustWorld(t)
		role := w.newRole(t, "limited-")
		w.mustExec(t, "REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role+
			"; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO "+role+"; "+fmt.Sprintf(grant, role))
		address, err := url.Parse(w.url)
		if err != nil {
			t.Fatal(err)
		}
		address.User = url.UserPassword(strings.Trim(role, `"`), "limited")
		limited := &world{url: address.String(), key: w.key}
		if err := divide(t.Context(), limited.mustOpen(t), now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left := w.text(t, "SELECT count(*)::text FROM pg_constraint WHERE conname = 'audits_first'"); left != "0" {
			t.Errorf("%s: a bound is left behind", name)
		}
	}
}

// The proof that the records are old enough takes long in a large table. A server that stops does not wait for its end.
func TestStopEndsTheProof(t *testing.T) {
	w := mustWorld(t)
	mustAppend(t, w.DB, record(now))
	w.mustExec(t, "UPDATE goose_db_version SET tstamp = tstamp - interval '25 hours'")
	w.mustExec(t, "CREATE FUNCTION slow() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(50); RETURN true; END $$")
	w.mustExec(t, fmt.Sprintf("ALTER TABLE audits ADD CONSTRAINT audits_first CHECK (at < %d AND slow()) NOT VALID",
		now.AddDate(0, 4, 0).UnixMilli()))
	ctx, stop := context.WithCancel(t.Context())
	divided := make(chan error)
	go func() { divided <- divide(ctx, w.DB, now) }()
	w.await(t, "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%VALIDATE%' AND "+
		"wait_event = 'PgSleep'", "1")
	began := time.Now()
	stop()
	if err := <-divided; err == nil {
		t.Error("it is divided")
	}
	if took := time.Since(began); took > 30*time.Second { // a busy machine is slow
		t.Errorf("the stop took %v", took)
	}
	w.await(t, "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'", "0")
}

// await waits until a query has that result.
func (w *world) await(t *testing.T, query, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); w.text(t, query) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is never %s", query, want)
		}
	}
}
