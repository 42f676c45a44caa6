package partitions_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/partitions"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

var shared = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}}

func TestMain(m *testing.M) {
	shared.Tests = m
	goleak.VerifyTestMain(shared)
}

// now is in the middle of a month.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a store as the former version left it, with servers that share it.
type world struct {
	*store.DB
	conn *pgx.Conn
	url  string
	key  seal.MasterKey
}

func mustWorld(t *testing.T) *world {
	t.Helper()
	w := &world{url: shared.Server(t).NewDatabase(t), key: seal.NewMasterKey()}
	w.DB = w.mustOpen(t)
	conn, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	w.conn = conn
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return w
}

func (w *world) mustOpen(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(),
		store.Options{DatabaseURL: secret.String(w.url), MasterKey: w.key, Timeout: storetest.LongTimeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (w *world) mustExec(t *testing.T, statement string) {
	t.Helper()
	if _, err := w.conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (w *world) text(t *testing.T, query string) (text string) {
	t.Helper()
	if err := w.conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

// parts are the names of the partitions.
func (w *world) parts(t *testing.T) string {
	t.Helper()
	return w.text(t, "SELECT COALESCE(string_agg(inhrelid::regclass::text, ' ' ORDER BY inhrelid::regclass::text), '') FROM pg_inherits "+
		"WHERE inhparent = 'audits'::regclass")
}

func divide(ctx context.Context, db *store.DB, at time.Time) error {
	err := partitions.Divide(ctx, db.DB, at, func() (*sqldb.DB, error) { return db.OpenLonger(ctx, time.Minute) })
	return errors.Join(err, partitions.Extend(ctx, db.DB, at))
}

func (w *world) mustDivide(t *testing.T, at time.Time) {
	t.Helper()
	if err := divide(t.Context(), w.DB, at); err != nil {
		t.Fatal(err)
	}
}

func (w *world) mustDrop(t *testing.T, at, before time.Time) time.Time {
	t.Helper()
	single, err := partitions.Drop(t.Context(), w.DB.DB, at, before)
	if err != nil {
		t.Fatal(err)
	}
	return single
}

func record(at time.Time) audit.Record {
	return audit.Record{UID: uuid.NewString(), At: at, OrgUID: "org", ActorUID: "user",
		Action: audit.RegistryValidate, Outcome: audit.Valid}
}

func refusal(at time.Time) audit.Record {
	r := record(at)
	r.Outcome, r.Reason = audit.Refused, "OperationForbidden"
	return r
}

func mustAppend(t *testing.T, db *store.DB, records ...audit.Record) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *store.Tx) (err error) {
		for _, r := range records {
			err = errors.Join(err, tx.Audits.Append(t.Context(), r))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// wantRecords requires that the log has so many records, and that they count so many repeats.
func (w *world) wantRecords(t *testing.T, records int, repeats int64) {
	t.Helper()
	list, err := store.Read(t.Context(), w.DB, func(tx *store.Tx) ([]audit.Record, error) {
		return tx.Audits.List(t.Context(), audits.Filter{OrgUID: "org"}, 1000)
	})
	var counted int64
	for _, r := range list {
		counted += r.Repeats
	}
	if err != nil || len(list) != records || counted != repeats {
		t.Errorf("%d records with %d repeats, %v; want %d with %d", len(list), counted, err, records, repeats)
	}
}

// The table of a former version stays as it is for a day, for servers of that version. Then it becomes a partition, with its rows in place.
func TestDivide(t *testing.T) {
	w := mustWorld(t)
	mustAppend(t, w.DB, record(now.AddDate(-1, 0, 0)), record(now), refusal(now), refusal(now))
	w.mustDivide(t, now)
	if parts := w.parts(t); parts != "" {
		t.Fatalf("it is divided at once: %s", parts)
	}
	file := w.text(t, "SELECT pg_relation_filepath('audits')")
	w.mustExec(t, "UPDATE goose_db_version SET tstamp = tstamp - interval '25 hours'")
	w.mustDivide(t, now)
	if parts := w.parts(t); parts != "audits_default audits_first" {
		t.Fatalf("partitions %q", parts)
	}
	if moved := w.text(t, "SELECT pg_relation_filepath('audits_first')"); moved != file {
		t.Errorf("the rows were moved from %s to %s", file, moved)
	}
	if rebuilt := w.text(t, "SELECT count(*)::text FROM pg_indexes WHERE tablename = 'audits_first'"); rebuilt != "5" {
		t.Errorf("the first partition has %s indexes, want the five that it had", rebuilt)
	}
	if floor := w.text(t, "SELECT least::text FROM schema_floor"); floor != "28" {
		t.Errorf("programs from migration %s on may use it", floor)
	}
	mustAppend(t, w.DB, refusal(now.Add(time.Second)), record(now.AddDate(0, 1, 0)))
	w.wantRecords(t, 4, 2)
}

// A new store is divided at once, and has the partitions of the next months from then on. A record of a clock that was ahead moves to its
// month.
func TestExtend(t *testing.T) {
	w := mustWorld(t)
	w.mustDivide(t, now)
	ahead := now.AddDate(0, 4, 0)
	mustAppend(t, w.DB, record(now), record(ahead), record(now.AddDate(9, 0, 0)))
	if in := w.text(t, "SELECT count(*)::text FROM audits_default"); in != "2" {
		t.Errorf("%s records are in the default partition", in)
	}
	for _, step := range []struct {
		at   time.Time
		want string
	}{
		{now, "audits_default audits_first"},
		{now.AddDate(0, 2, 0), "audits_2027_02 audits_2027_03 audits_default audits_first"},
		{now.AddDate(0, 1, 0), "audits_2027_02 audits_2027_03 audits_default audits_first"}, // another server, whose clock is behind
		{now.AddDate(0, 4, 0), "audits_2027_02 audits_2027_03 audits_2027_04 audits_2027_05 audits_default audits_first"},
	} {
		w.mustDivide(t, step.at)
		if parts := w.parts(t); parts != step.want {
			t.Errorf("at %v: partitions %q, want %q", step.at, parts, step.want)
		}
	}
	if in := w.text(t, "SELECT count(*)::text FROM audits_2027_03"); in != "1" {
		t.Errorf("%s records are in the month of the clock that was ahead", in)
	}
	w.wantRecords(t, 3, 0)
}

// Replicas divide and extend at once, while they write and read. Nothing fails, and nothing is lost or counted twice.
func TestReplicas(t *testing.T) {
	w := mustWorld(t)
	mustAppend(t, w.DB, record(now))
	w.mustExec(t, "UPDATE goose_db_version SET tstamp = tstamp - interval '25 hours'")
	w.work(t, 0, 3)        // no later than the bound that is being proved
	w.work(t, 3, 12)       // some in months without a partition so far
	for month := range 4 { // a partition that no replica could create, because of its lock, is tried again
		w.mustDivide(t, now.AddDate(0, 3+month, 0))
	}
	w.wantRecords(t, 2+2*replicas*records, 2*replicas*records-1)
	if months := w.text(t, "SELECT count(*)::text FROM pg_inherits WHERE inhparent = 'audits'::regclass"); months != "8" {
		t.Errorf("%s partitions: %s", months, w.parts(t))
	}
}

// A replica that has read that the table is not divided goes on after another one divided it.
func TestDividedByAnotherReplica(t *testing.T) {
	w := mustWorld(t)
	w.mustDivide(t, now)
	if upper, err := partitions.Bound(t.Context(), w.DB.DB, now); upper != 0 || err != nil {
		t.Errorf("bound %d, %v", upper, err)
	}
}

const replicas, records = 3, 40

// work has replicas divide, extend, write and read at once: in months from a first one on, and records of so many months.
func (w *world) work(t *testing.T, first, spread int) {
	var running sync.WaitGroup
	for i := range replicas {
		db := w.mustOpen(t)
		running.Go(func() {
			for month := range 4 {
				if err := divide(t.Context(), db, now.AddDate(0, first+month, 0)); err != nil {
					t.Errorf("replica %d: %v", i, err)
				}
			}
		})
		running.Go(func() {
			for n := range records {
				if err := db.InTx(t.Context(), func(tx *store.Tx) error {
					return errors.Join(tx.Audits.Append(t.Context(), record(now.AddDate(0, n%spread, 0))),
						tx.Audits.Append(t.Context(), refusal(now)))
				}); err != nil {
					t.Errorf("replica %d: %v", i, err)
				}
				if _, err := store.Read(t.Context(), db, func(tx *store.Tx) (int64, error) {
					return tx.Audits.Count(t.Context(), audits.Filter{}, 1000)
				}); err != nil {
					t.Errorf("replica %d: %v", i, err)
				}
			}
		})
	}
	running.Wait()
}

// Retention drops whole months, and leaves single records of a month to the whole. Those of the first partition are deleted one by one.
func TestDrop(t *testing.T) {
	w := mustWorld(t)
	w.mustDivide(t, now)
	for month := range 9 {
		w.mustDivide(t, now.AddDate(0, month, 0))
		mustAppend(t, w.DB, record(now.AddDate(0, month, 0)))
	}
	at := now.AddDate(0, 9, 0)
	if single := w.mustDrop(t, at, now); !single.Equal(now) {
		t.Errorf("in the first partition single records are deleted until %v", single)
	}
	w.wantRecords(t, 9, 0)
	before := now.AddDate(0, 4, 0) // 21 March: the first one has November, December and January
	if single := w.mustDrop(t, at, before); !single.Equal(time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("single records are deleted until %v, want the beginning of the month of the moment", single)
	}
	w.wantRecords(t, 5, 0)
	if single := w.mustDrop(t, before.Add(48*time.Hour), before); !single.Equal(before) {
		t.Errorf("with a short retention time single records are deleted until %v", single)
	}
}

// A reader that lasts, such as pg_dump, lets no other wait: a partition is dropped later.
func TestDropDelaysNoOther(t *testing.T) {
	w := mustWorld(t)
	w.mustDivide(t, now)
	mustAppend(t, w.DB, record(now))
	w.mustDivide(t, now.AddDate(0, 3, 0))
	w.mustExec(t, "BEGIN")
	w.mustExec(t, "LOCK TABLE audits IN ACCESS SHARE MODE")
	ctx, stop := context.WithCancel(t.Context())
	longest := make(chan time.Duration, 1)
	go func() {
		var slowest time.Duration
		defer func() { longest <- slowest }()
		for more := true; more; more = ctx.Err() == nil {
			began := time.Now()
			if err := w.InTx(t.Context(), func(tx *store.Tx) error {
				return tx.Audits.Append(t.Context(), record(now.AddDate(0, 3, 0)))
			}); err != nil {
				t.Error(err)
				return
			}
			slowest = max(slowest, time.Since(began))
		}
	}()
	end := sync.OnceValue(func() time.Duration { stop(); return <-longest })
	defer end()
	w.mustDrop(t, now.AddDate(1, 0, 0), now.AddDate(0, 3, 0))
	if slowest := end(); slowest > 10*time.Second { // 200 ms on an idle machine; a busy one stops for seconds
		t.Errorf("a record waited for %v", slowest)
	}
	if parts := w.parts(t); parts != "audits_2027_02 audits_2027_03 audits_2027_04 audits_default audits_first" {
		t.Errorf("partitions while it reads: %s", parts)
	}
	w.mustExec(t, "ROLLBACK")
	w.mustDrop(t, now.AddDate(1, 0, 0), now.AddDate(0, 3, 0))
	if parts := w.parts(t); parts != "audits_2027_02 audits_2027_03 audits_2027_04 audits_default" {
		t.Errorf("partitions: %s", parts)
	}
}

// An attempt that was interrupted is continued, or begun anew if its bound is near: it would refuse records.
func TestInterruptedDivision(t *testing.T) {
	for name, upper := range map[string]time.Time{"continued": now.AddDate(0, 4, 0), "begun anew": now.AddDate(0, 1, 0)} {
		w := mustWorld(t)
		w.mustExec(t, fmt.Sprintf("ALTER TABLE audits ADD CONSTRAINT audits_first CHECK (at < %d) NOT VALID", upper.UnixMilli()))
		if name != "continued" {
			w.mustDivide(t, now)
			if left := w.text(t, "SELECT count(*)::text FROM pg_constraint WHERE conname = 'audits_first'"); left != "0" {
				t.Errorf("%s: the near bound is still there", name)
			}
		}
		w.mustDivide(t, now)
		if parts := w.parts(t); parts != "audits_default audits_first" {
			t.Errorf("%s: partitions %q", name, parts)
		}
		mustAppend(t, w.DB, record(now), record(now.AddDate(1, 0, 0)))
		w.wantRecords(t, 2, 0)
	}
}
