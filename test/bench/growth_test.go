package bench

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	grownSessions = 1_000_000
	grownAudits   = 10_000_000
	oldPart       = 10 // one of so many is too old, and goes
	grownTokens   = 10_000
	growthStep    = 100_000
	growthNeeds   = 12 << 30 // bytes free on the disk; about 7 GiB are used
	growthRate    = 200      // refreshes a second
	growthLimit   = 50 * time.Millisecond
	growthTimes   = 5
	cleaningMost  = 5 * time.Minute
	overdueSQL    = `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM audits WHERE at < $1 LIMIT 1)) + (SELECT COUNT(*) FROM (SELECT 1 FROM sessions WHERE max_until < $1 LIMIT 1))`

	// Those that are refreshed are drawn from all: side by side they would lie on a few pages, which a cache holds whatever the
	// size of the table.
	drawSessionsSQL = `SELECT uid FROM sessions WHERE max_until > $1 ORDER BY random() LIMIT $2`

	// Both are filled in the order of their main index, as they grow in earnest, audits at least.
	fillSessionsSQL = `INSERT INTO sessions (uid, org_uid, user_uid, generation, address, created_at, advanced_at, used_at, idle_until, max_until)
		WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2 - 1)
		SELECT printf('%08x-0000-4000-8000-%012x', abs(random()) % 4294967296, i), u.org_uid, u.uid, 1, '127.0.0.1', $3, $3, $3, $4, $4 FROM n, (SELECT org_uid, uid FROM users LIMIT 1) u`
	fillAuditsSQL = `INSERT INTO audits (uid, at, org_uid, actor_uid, actor_name, means, action, object, outcome, reason, request_id, address)
		WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2 - 1)
		SELECT printf('00000000-0000-7000-8000-%012x', i), $3 + i, u.org_uid, u.uid, u.email, 'refreshToken', 'auth.refresh', u.uid, 'succeeded', '', printf('ref-%024x', i), '127.0.0.1'
		FROM n, (SELECT org_uid, uid, email FROM users LIMIT 1) u`
)

// BenchmarkGrowth measures a store with a million sessions and ten million records beside an empty one, and while a tenth
// of both is cleaned up. `make bench-growth` starts it: it takes minutes and gigabytes.
func BenchmarkGrowth(b *testing.B) {
	for range b.N {
		var disk unix.Statfs_t
		folder := b.TempDir()
		if err := unix.Statfs(folder, &disk); err != nil || disk.Bavail*uint64(disk.Bsize) < growthNeeds {
			b.Fatalf("%s has less than %d GiB free: %v", folder, growthNeeds>>30, err)
		}
		small, clients, disturbance := instance.Start(b, instance.Options{LogFile: filepath.Join(folder, "log")}), startClients(b), watchOthers()
		smallTokens := refreshTokens(b, store.Options{DataDir: small.DataDir}, grownTokens)
		g := &growth{b: b, clients: clients, folder: filepath.Join(folder, "data"), table: &table{name: "Growth", columns: []string{"", "empty store", "grown store"}}}
		g.fill()
		server := instance.Start(b, instance.Options{DataDir: g.folder, LogFile: filepath.Join(folder, "log2"), Flags: []string{"--audit-retention", "8760h"}})
		g.table.add("start to ready, the tables being filled", milli(small.Started), milli(server.Started))
		g.cleaning(server)
		g.compare(small, smallTokens, server)
		disturbance.tell(b, g.table)
		g.table.note("%d sessions and %d records, one in %d of them too old; %d sessions are refreshed, in any order; in the grown store they are drawn from all that live.", grownSessions, grownAudits, oldPart, grownTokens)
		g.table.tell(b)
	}
}

type growth struct {
	b       *testing.B
	clients *clients
	folder  string
	tokens  string
	table   *table
	during  loadEnd
}

// fill lets the service make its tables, and writes the rows past it.
func (g *growth) fill() {
	g.b.Helper()
	instance.Start(g.b, instance.Options{DataDir: g.folder}).Stop(syscall.SIGTERM)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(g.folder, "regwarden.db")+"?_journal_mode=WAL&_synchronous=OFF&_pragma=cache_size(-200000)")
	if err != nil {
		g.b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	began, now := time.Now(), time.Now()
	for from := 0; from < grownSessions; from += growthStep {
		until := now.Add(30 * 24 * time.Hour)
		if from < grownSessions/oldPart {
			until = now.Add(-48 * time.Hour)
		}
		g.exec(db, fillSessionsSQL, from, from+growthStep, until.Add(-30*24*time.Hour).UnixMilli(), until.UnixMilli())
	}
	g.drawTokens(db, now)
	// A millisecond apart: those of the first tenth end just before they are a year old.
	first := now.Add(-365*24*time.Hour - grownAudits/oldPart*time.Millisecond)
	for from := 0; from < grownAudits; from += growthStep {
		g.exec(db, fillAuditsSQL, from, from+growthStep, first.UnixMilli())
	}
	g.exec(db, "PRAGMA wal_checkpoint(TRUNCATE)")
	unix.Sync() // or the service's first flush would write all of it
	g.table.note("Filled in %v.", time.Since(began).Round(time.Second))
}

func (g *growth) exec(db *sql.DB, query string, args ...any) {
	g.b.Helper()
	if _, err := db.ExecContext(g.b.Context(), query, args...); err != nil {
		g.b.Fatalf("fill the store: %v", err)
	}
}

// drawTokens writes a file of the refresh tokens of sessions that live.
func (g *growth) drawTokens(db *sql.DB, now time.Time) {
	g.b.Helper()
	mac := g.macKey()
	rows, err := db.QueryContext(g.b.Context(), drawSessionsSQL, now.UnixMilli(), grownTokens)
	if err != nil {
		g.b.Fatal(err)
	}
	defer rows.Close()
	var text strings.Builder
	for rows.Next() && err == nil {
		var uid uuid.UUID
		err = rows.Scan(&uid)
		fmt.Fprintln(&text, refreshToken(mac, uid, 1))
	}
	g.tokens = filepath.Join(g.b.TempDir(), "tokens")
	if err = errors.Join(err, rows.Err()); err == nil {
		err = os.WriteFile(g.tokens, []byte(text.String()), 0o600)
	}
	if err != nil {
		g.b.Fatalf("draw sessions: %v", err)
	}
}

func (g *growth) macKey() (mac []byte) {
	g.b.Helper()
	db, err := store.Open(g.b.Context(), store.Options{DataDir: g.folder})
	if err != nil {
		g.b.Fatal(err)
	}
	defer db.Close()
	err = db.View(g.b.Context(), func(tx *store.Tx) (err error) {
		mac, err = macKey(g.b.Context(), tx)
		return err
	})
	if err != nil {
		g.b.Fatal(err)
	}
	return mac
}

// cleaning measures refreshes while what is too old is deleted, which begins with the start of the service.
func (g *growth) cleaning(server *instance.Server) {
	g.b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(g.folder, "regwarden.db")+"?mode=ro")
	if err != nil {
		g.b.Fatal(err)
	}
	defer db.Close()
	year := time.Now().Add(-365 * 24 * time.Hour).UnixMilli()
	began := time.Now()
	var took []loadEnd
	for left := int64(1); left > 0; {
		if time.Since(began) > cleaningMost {
			g.b.Fatalf("not cleaned up after %v", cleaningMost)
		}
		took = append(took, g.refreshes(server, g.tokens))
		if err := db.QueryRowContext(g.b.Context(), overdueSQL, year).Scan(&left); err != nil {
			g.b.Fatal(err)
		}
	}
	for _, end := range took[:max(1, len(took)-1)] { // in the last the cleaning ended
		g.during.P50, g.during.P99, g.during.Most = max(g.during.P50, end.P50), max(g.during.P99, end.P99), max(g.during.Most, end.Most)
	}
	g.table.add(fmt.Sprintf("%d sessions and %d records cleaned up in", grownSessions/oldPart, grownAudits/oldPart), "", fmt.Sprintf("%.0f s", time.Since(began).Seconds()))
}

func (g *growth) refreshes(server *instance.Server, tokens string) loadEnd {
	return g.clients.put(workload{URLs: []string{server.URL}, Kind: loadRefresh, Clients: manyClients, For: latencyTime / 2, PerSecond: growthRate, Tokens: tokens})
}

func (g *growth) compare(small *instance.Server, smallTokens string, grown *instance.Server) {
	g.b.Helper()
	figures := series{}
	for range rounds {
		for _, one := range []struct {
			name, tokens string
			server       *instance.Server
		}{{"small", smallTokens, small}, {"grown", g.tokens, grown}} {
			before := processorTime(g.b, one.server)
			end := g.clients.put(workload{URLs: []string{one.server.URL}, Kind: loadRefresh, Clients: manyClients, For: roundTime, Tokens: one.tokens})
			figures.add(one.name, end.rate())
			figures.add(one.name+" CPU", end.each(processorTime(g.b, one.server)-before))
		}
	}
	before, after := g.refreshes(small, smallTokens), g.refreshes(grown, g.tokens)
	limit := min(growthLimit, growthTimes*after.P99)
	t := g.table
	t.add("refresh, a second", figures.spread("small", "%.0f"), figures.spread("grown", "%.0f"))
	t.add("refresh, ms of server CPU", figures.spread("small CPU", "%.4f"), fmt.Sprintf("%s; %+.1f %%", figures.spread("grown CPU", "%.4f"), 100*(figures.ratio("grown CPU", "small CPU")-1)))
	t.add(fmt.Sprintf("refresh, %d a second: p50, p99, most", growthRate), latency(before), latency(after))
	t.hold(fmt.Sprintf("p99 %s (%d × quiet, %v at most)", milli(limit), growthTimes, growthLimit), g.during.P99 <= limit, "the same during the cleaning, the worst of all periods of "+(latencyTime/2).String(), "", latency(g.during))
	t.add("resident memory", mib(small.ResidentKiB()), mib(grown.ResidentKiB()))
	t.keep("refresh in a grown store, ms of server CPU", figures.median("grown CPU"))
	t.keep("refresh during the cleaning, p99 ms", ms(g.during.P99))
}

func latency(end loadEnd) string {
	return fmt.Sprintf("%.2f, %.2f, %.2f ms", ms(end.P50), ms(end.P99), ms(end.Most))
}
