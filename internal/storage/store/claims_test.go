package store

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/rows"
)

// claimed are the tables of jobs, with an insert of $2 rows for each of $1 organizations, due at $3.
var claimed = map[string]struct {
	insert          string
	due, walk, take string
	claim           func(ctx context.Context, tx *Tx, owner string, shares []Share) ([]string, error)
}{
	"registry_watch": {insert: `INSERT INTO registry_watch (registry_uid, org_uid, next_at, phase) SELECT gen_random_uuid(), ` +
		orgAndTime + `, 0` + eachRow,
		due: sqlWatchDue, walk: sqlWatchOrgs, take: postgresClaimWatch,
		claim: func(ctx context.Context, tx *Tx, owner string, shares []Share) ([]string, error) {
			rows, err := tx.Watch.Claim(ctx, owner, noon, noon.Add(time.Minute), shares)
			return uidsOf(rows, func(w Watched) string { return w.RegistryUID }), err
		}},
	"registry_sync": {insert: `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message) SELECT ` +
		`gen_random_uuid(), ` + orgAndTime + `, r % 2, 'Pending', ''` + eachRow,
		due: sqlSyncDue, walk: sqlSyncOrgs, take: postgresClaimSyncs,
		claim: func(ctx context.Context, tx *Tx, owner string, shares []Share) ([]string, error) {
			rows, err := tx.Syncs.Claim(ctx, owner, noon, noon.Add(time.Minute), shares)
			return uidsOf(rows, func(s RegistrySync) string { return s.RegistryUID }), err
		}},
	"alert_channels": {insert: `INSERT INTO alert_channels (uid, org_uid, next_at, project_uid, component, position, type, active,
		alert_all_users, identifiers, created_at)
			SELECT gen_random_uuid(), ` + orgAndTime + `, '', '', 0, 'http', 1, 0, '[]', 0` + eachRow,
		due: sqlChannelsDue, walk: sqlChannelOrgs, take: postgresClaimChannels,
		claim: func(ctx context.Context, tx *Tx, owner string, shares []Share) ([]string, error) {
			rows, err := tx.Outbox.Claim(ctx, owner, noon, noon.Add(time.Minute), shares)
			return uidsOf(rows, func(c ClaimedChannel) string { return c.UID }), err
		}},
}

const (
	orgAndTime = `CAST(CAST(md5(CAST(o AS TEXT)) AS UUID) AS TEXT), CAST($3 AS BIGINT)`
	eachRow    = ` FROM generate_series(1, CAST($1 AS INT)) AS o, generate_series(1, CAST($2 AS INT)) AS r`
	orgUIDs    = `SELECT CAST(CAST(md5(CAST(o AS TEXT)) AS UUID) AS TEXT) FROM generate_series(1, CAST($1 AS INT)) AS o`
)

func uidsOf[T any](rows []T, uid func(T) string) (uids []string) {
	for _, row := range rows {
		uids = append(uids, uid(row))
	}
	return uids
}

// mustFill inserts rows without those that they refer to, and returns the organizations.
func mustFill(t *testing.T, url, table string, orgs, rows int, due time.Time) (*pgx.Conn, []string) {
	t.Helper()
	conn := mustConnect(t, url)
	mustExec(t, conn, "SET session_replication_role = replica") // no foreign keys
	mustExec(t, conn, claimed[table].insert, orgs, rows, due.UnixMilli())
	found, err := conn.Query(t.Context(), orgUIDs, orgs)
	if err != nil {
		t.Fatal(err)
	}
	uids, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return conn, uids
}

func mustExec(t *testing.T, conn *pgx.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%.200s: %v", statement, err)
	}
}

// claimsSkip has two replicas claim from the same organizations in opposite orders, neither of which waits for the other.
func claimsSkip(t *testing.T, server *postgrestest.Server) {
	for table, of := range claimed {
		url := server.NewDatabase(t)
		one, two := mustOpenURL(t, url, Options{MasterKey: testKey}), mustOpenURL(t, url, Options{MasterKey: testKey})
		_, orgs := mustFill(t, url, table, 2, 2, noon)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var uids []string
		claim := func(db *DB, then func() error, counts ...int) error {
			return db.InTx(ctx, func(tx *Tx) error {
				shares := []Share{{orgs[0], counts[0]}, {orgs[1], counts[1]}}
				if then == nil {
					slices.Reverse(shares)
				}
				rows, err := of.claim(ctx, tx, "owner", shares)
				uids = append(uids, rows...)
				if err == nil && then != nil {
					err = then()
				}
				return err
			})
		}
		err := claim(one, func() error { return claim(two, nil, 2, 2) }, 1, 0)
		distinct := slices.Compact(slices.Sorted(slices.Values(uids)))
		if err != nil || len(uids) != 4 || len(distinct) != 4 {
			t.Errorf("%s: claimed %d rows, %d of them distinct, want all 4: %v", table, len(uids), len(distinct), err)
		}
	}
}

// claimsAreHot has three replicas claim all rows of many organizations, each beginning at another one.
func claimsAreHot(t *testing.T, server *postgrestest.Server) {
	const orgs, rows, callers = 60, 4, 6
	for table, of := range claimed {
		url := server.NewDatabase(t)
		var stores []*DB
		for range 3 {
			stores = append(stores, mustOpenURL(t, url, Options{MasterKey: testKey}))
		}
		_, uids := mustFill(t, url, table, orgs, rows, noon)
		var mu sync.Mutex
		var all sync.WaitGroup
		taken := map[string]int{}
		for caller := range callers {
			all.Go(func() {
				for i := range 3 * rows { // a caller leaves rows that another one claims
					begin := (caller*orgs/callers + i*7) % orgs
					var shares []Share
					for _, org := range slices.Concat(uids[begin:], uids[:begin]) {
						shares = append(shares, Share{org, 1})
					}
					claimed, err := Write(t.Context(), stores[caller%len(stores)], func(tx *Tx) ([]string, error) {
						return of.claim(t.Context(), tx, fmt.Sprint("owner", caller), shares)
					})
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					for _, uid := range claimed {
						taken[uid]++
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		for uid, n := range taken {
			if n != 1 {
				t.Errorf("%s %s was claimed %d times", table, uid, n)
			}
		}
		if n, err := server.Deadlocks(); n != 0 || err != nil || len(taken) != orgs*rows {
			t.Errorf("%s: %d of %d were claimed, with %d deadlocks: %v", table, len(taken), orgs*rows, n, err)
		}
	}
}

var buffersRead = regexp.MustCompile(`Buffers: shared hit=(\d+)(?: read=(\d+))?`)

// dueIsFound searches for work in tables of many organizations, when that of none is due, and that of all. PostgreSQL's statistics are from
// before, when nothing was due: the worst that they can be. Neither a search nor a claim may read more than a few pages for each row.
func dueIsFound(t *testing.T, server *postgrestest.Server) {
	const mostPages = 3000 // 500 rows of 500 organizations; reading a whole table is 10 times more
	for table, orgs := range map[string]int{"registry_watch": 100_000, "registry_sync": 10_000, "alert_channels": 10_000} {
		url, of := server.NewDatabase(t), claimed[table]
		mustOpenURL(t, url, Options{MasterKey: testKey})
		conn, _ := mustFill(t, url, table, 1000, 1, noon.Add(time.Hour))
		mustExec(t, conn, "ALTER TABLE "+table+" SET (autovacuum_enabled = off)")
		mustExec(t, conn, "ANALYZE "+table)
		conn, uids := mustFill(t, url, table, orgs, 1, noon)
		shares := fmt.Sprintf("'{%s}', '{%s}'", strings.Join(uids[:16], ","), strings.Repeat("1,", 15)+"1")
		for _, due := range []int64{noon.UnixMilli() - 1, noon.UnixMilli()} {
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				mustExec(t, conn, "SET plan_cache_mode = "+mode)
				for query, args := range map[string]string{
					of.due: fmt.Sprint(due, ", 500"), of.walk: fmt.Sprint(due, ", 50, '7'"),
					of.take: fmt.Sprint(due, ", 'owner', ", due, ", ", shares)} {
					plan := planOn(t, conn, query, args)
					if n := pages(plan); n > mostPages || strings.Contains(plan, "Seq Scan on "+table) {
						t.Errorf("%s, due at %d, %s: %d pages for %.60s\n%s", table, due, mode, n, query, plan)
					}
				}
			}
		}
	}
}

// planOn runs a query, whose changes are undone, and returns how PostgreSQL ran it.
func planOn(t *testing.T, conn *pgx.Conn, query, args string) string {
	t.Helper()
	mustExec(t, conn, "PREPARE explained AS "+query)
	mustExec(t, conn, "BEGIN")
	found, err := conn.Query(t.Context(), "EXPLAIN (ANALYZE, BUFFERS) EXECUTE explained ("+args+")", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, "ROLLBACK")
	mustExec(t, conn, "DEALLOCATE explained")
	return strings.Join(lines, "\n")
}

// pages is how many a statement read, which the first line with buffers has.
func pages(plan string) (n int) {
	if found := buffersRead.FindStringSubmatch(plan); found != nil {
		hit, _ := strconv.Atoi(found[1]) // the pattern has digits only
		read, _ := strconv.Atoi(found[2])
		n = hit + read
	}
	return n
}

// claimsLeaveIndexes checks that a claim of checks changes no index (a heap-only tuple).
func claimsLeaveIndexes(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	db := mustOpenURL(t, url, Options{MasterKey: testKey})
	_, orgs := mustFill(t, url, "registry_watch", 1, 40, noon)
	err := db.InTx(t.Context(), func(tx *Tx) error {
		due, err := tx.Watch.Claim(t.Context(), "owner", noon, noon.Add(time.Minute), []Share{{orgs[0], 8}})
		if err != nil || len(due) != 8 || !due[0].NextAt.Equal(noon) {
			t.Fatalf("claimed %v: %v", due, err)
		}
		hot, err := rows.One(t.Context(), tx.db, rows.ScanCount, "SELECT pg_stat_get_xact_tuples_hot_updated('registry_watch'::regclass)")
		if hot != 8 {
			t.Errorf("%d of 8 claims changed no index", hot)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// oldServersClaim has a server from before migration 26 use the same database: it sees only next_at.
func oldServersClaim(t *testing.T, server *postgrestest.Server) {
	const oldClaim = `UPDATE registry_watch SET lease_owner = 'old', next_at = $1 WHERE next_at <= $2`
	url := server.NewDatabase(t)
	db := mustOpenURL(t, url, Options{MasterKey: testKey})
	conn, orgs := mustFill(t, url, "registry_watch", 1, 1, noon)
	claim := func(now time.Time) []Watched {
		t.Helper()
		rows, err := Write(t.Context(), db, func(tx *Tx) ([]Watched, error) {
			return tx.Watch.Claim(t.Context(), "new", now, now.Add(time.Minute), []Share{{orgs[0], 1}})
		})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if rows := claim(noon); len(rows) != 1 {
		t.Fatalf("claimed %d", len(rows))
	}
	mustExec(t, conn, oldClaim, noon.Add(90*time.Second).UnixMilli(), noon.UnixMilli()) // it repeats the check
	if rows := claim(noon.Add(80 * time.Second)); len(rows) != 0 {
		t.Errorf("claimed although the old server has a lease: %v", rows)
	}
	mustExec(t, conn, "UPDATE registry_watch SET lease_owner = NULL, next_at = $1", noon.Add(10*time.Second).UnixMilli()) // its end
	if rows := claim(noon.Add(10 * time.Second)); len(rows) != 1 {
		t.Errorf("claimed %d after the old server ended its check, want 1", len(rows))
	}
}
