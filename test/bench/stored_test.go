package bench

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // the driver of the service

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	// These copy a user so many times, whatever columns users have, and give each copy a session.
	copyUsersSQL = `CREATE TEMP TABLE copies AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		SELECT users.* FROM n, users WHERE email = 'user0@acme.example'`
	nameCopiesSQL = `UPDATE copies SET uid = printf('%08x-0000-4000-8000-%012x', abs(random()) % 4294967296, rowid), email = ` +
		`printf('user%d@acme.example', rowid), canonical = printf('user%d@acme.example', rowid)`
	addUsersSQL    = `INSERT INTO users SELECT * FROM copies ORDER BY uid`
	addSessionsSQL = `INSERT INTO sessions (uid, org_uid, user_uid, generation, address, created_at, advanced_at, used_at, idle_until,
		max_until)
		SELECT uid, org_uid, uid, 1, '127.0.0.1', $1, $1, $1, until, until FROM (SELECT uid, org_uid, CASE WHEN rowid % 10 = 0 THEN $2 ELSE
			$3 END AS until FROM copies) ORDER BY uid`
	// Sessions are drawn from all: next to each other they would be on a few pages, which any cache holds.
	drawSessionsSQL = `SELECT uid FROM sessions WHERE max_until > $1 ORDER BY random() LIMIT $2`

	fewUsers       = 1_000
	allUsers       = 200_000
	overFewPercent = 103 // processor time with all users in percent of that with few

	grownSessions = 1_000_000
	grownAudits   = 10_000_000
	auditsAtOnce  = 100_000 // in one transaction
	grownTokens   = 10_000
	growthNeeds   = 12 << 30 // bytes free on the disk; about 7 GiB are used
	growthRate    = 200      // refreshes a second
	cleaningMS    = 50       // 99th percentile of refreshes during the cleaning
	cleaningTimes = 5        // of the same afterward
	cleaningMost  = 5 * time.Minute
	retention     = 365 * 24 * time.Hour
	addAuditsSQL  = `INSERT INTO audits (uid, at, org_uid, actor_uid, actor_name, means, action, object, outcome, reason, request_id,
		address)
		WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2 - 1)
		SELECT printf('00000000-0000-7000-8000-%012x', i), $3 + i, u.org_uid, u.uid, u.email, 'refreshToken', 'auth.refresh', u.uid,
			'succeeded', '', printf('ref-%024x', i), '127.0.0.1'
		FROM n, (SELECT org_uid, uid, email FROM users LIMIT 1) u`
	overdueSQL = `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM audits WHERE at < $1 LIMIT 1)) + (SELECT COUNT(*) FROM (SELECT 1 FROM ` +
		`sessions WHERE max_until < $1 LIMIT 1))`
)

// storeWithUsers creates a store of many users with the same password, each with a session that ends at one of two times, the first for
// one in ten. The rows are written directly, since so many logins would take hours.
func storeWithUsers(b *testing.B, count int, ends, otherEnds time.Time) (dir string, db *sql.DB) {
	b.Helper()
	server := instance.Start(b, instance.Options{})
	server.Admin(b, userPassword+"\n", "user", "create", "--org", instance.Org, "--email", email(0), "--role", "member", "--password-stdin")
	server.Stop(syscall.SIGTERM)
	db = openSQLite(b, server.DataDir, "_synchronous=OFF&_pragma=cache_size(-200000)")
	execSQL(b, db, copyUsersSQL, count)
	execSQL(b, db, nameCopiesSQL)
	execSQL(b, db, addUsersSQL)
	execSQL(b, db, addSessionsSQL, time.Now().UnixMilli(), ends.UnixMilli(), otherEnds.UnixMilli())
	execSQL(b, db, "DROP TABLE copies")
	return server.DataDir, db
}

// openSQLite opens the database in a data directory with the given settings of the driver.
func openSQLite(b *testing.B, dataDir, settings string) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dataDir, "regwarden.db")+"?_journal_mode=WAL&"+settings)
	noError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

func execSQL(b *testing.B, db *sql.DB, query string, args ...any) {
	b.Helper()
	_, err := db.ExecContext(b.Context(), query, args...)
	noError(b, err)
}

// drawTokens returns the refresh tokens of so many sessions that have not expired.
func drawTokens(b *testing.B, db *sql.DB, dataDir string, count int) (tokens []string) {
	b.Helper()
	mac := macKey(b, dataDir)
	rows, err := db.QueryContext(b.Context(), drawSessionsSQL, time.Now().UnixMilli(), count)
	noError(b, err)
	defer rows.Close()
	for rows.Next() {
		var uid uuid.UUID
		noError(b, rows.Scan(&uid))
		tokens = append(tokens, refreshToken(mac, uid))
	}
	noError(b, rows.Err())
	return tokens
}

// macKey is the key of the service for refresh tokens.
func macKey(b *testing.B, dataDir string) []byte { return serviceKey(b, dataDir, store.KeyMAC) }

// serviceKey is the key of the service for a purpose.
func serviceKey(b *testing.B, dataDir string, purpose store.KeyPurpose) []byte {
	b.Helper()
	db, err := store.Open(b.Context(), store.Options{DataDir: dataDir})
	noError(b, err)
	defer db.Close()
	var keys []store.ServiceKey
	noError(b, db.View(b.Context(), func(tx *store.Tx) (err error) {
		keys, err = tx.Keys.List(context.Background())
		return err
	}))
	return keys[slices.IndexFunc(keys, func(k store.ServiceKey) bool { return k.Purpose == purpose })].Secret
}

// refreshToken makes the first token of a session, as internal/service/auth does.
func refreshToken(key []byte, session uuid.UUID) string {
	body := binary.BigEndian.AppendUint64(session[:], 1)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("regwarden refresh token v1\x00"))
	mac.Write(body)
	return "rt_" + base64.RawURLEncoding.EncodeToString(mac.Sum(body))
}

// BenchmarkUsers compares a store of 1,000 users with one of 200,000, each user with a session. The users who log in and the
// sessions that are refreshed are drawn from all of them each time. Refreshes write no audit records, since those of few sessions would
// share theirs.
func BenchmarkUsers(b *testing.B) {
	figures, r := samples{}, &report{b: b}
	row := func(kind string, count int) string { return fmt.Sprintf("%s_%d_users", kind, count) }
	work, cpu := map[string]func(int) error{}, map[string]func() time.Duration{}
	for _, count := range []int{fewUsers, allUsers} {
		tomorrow := time.Now().Add(24 * time.Hour)
		dir, db := storeWithUsers(b, count, tomorrow, tomorrow)
		tokens := drawTokens(b, db, dir, count)
		noError(b, db.Close())
		server := start(b, instance.Options{DataDir: dir, Flags: []string{"--audit-refreshes=false"}})
		c := newClient(b, server.URL)
		work[row("refresh", count)], work[row("login", count)] = refreshes(tokens, manyClients, c), logins(c, count)
		cpu[row("refresh", count)], cpu[row("login", count)] = cpuOf(server.PID()), cpuOf(server.PID())
	}
	for range 2 * *rounds {
		for row, do := range work {
			figures.measure(b, row, manyClients, cpu[row], do)
		}
	}
	for _, kind := range []string{"refresh", "login"} {
		few, all := row(kind, fewUsers), row(kind, allUsers)
		r.row(few, figure(figures.median(few+" cpu-ms"), "cpu-ms/req"))
		r.row(all, figure(figures.median(all+" cpu-ms"), "cpu-ms/req"),
			atMost(figures.percent(all+" cpu-ms", few+" cpu-ms"), "%-of-few-users", overFewPercent))
	}
	r.end()
}

// BenchmarkGrowth measures a store with a million users and sessions and ten million audit records next to an empty one, and while
// a tenth of the sessions and records is deleted. It takes minutes and gigabytes.
func BenchmarkGrowth(b *testing.B) {
	var disk unix.Statfs_t
	if err := unix.Statfs(b.TempDir(), &disk); err != nil || disk.Bavail*uint64(disk.Bsize) < growthNeeds {
		b.Fatalf("%s has less than %d GiB free: %v", b.TempDir(), growthNeeds>>30, err)
	}
	dir, db := storeWithUsers(b, grownSessions, time.Now().Add(-2*retention), time.Now().Add(retention))
	tokens := drawTokens(b, db, dir, grownTokens)
	// A millisecond apart: the first tenth is older than the retention.
	first := time.Now().Add(-retention - grownAudits/10*time.Millisecond)
	for from := 0; from < grownAudits; from += auditsAtOnce {
		execSQL(b, db, addAuditsSQL, from, from+auditsAtOnce, first.UnixMilli())
	}
	execSQL(b, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	unix.Sync() // or the first flush of the service would write all of it
	small, grown := start(b, instance.Options{}),
		start(b, instance.Options{DataDir: dir, Flags: []string{"--audit-retention", retention.String()}})
	figures, r, refresh := samples{}, &report{b: b}, refreshes(tokens, manyClients, newClient(b, grown.URL))
	cleaned, during := cleaning(b, db, refresh)
	smallRefresh := refreshes(loginTokens(b, small, manyClients), manyClients, newClient(b, small.URL))
	for range *rounds {
		figures.measure(b, "small", manyClients, cpuOf(small.PID()), smallRefresh)
		figures.measure(b, "grown", manyClients, cpuOf(grown.PID()), refresh)
	}
	after := atGrowthRate(b, refresh)
	r.row("start", figure(ms(grown.Started), "ms"))
	r.row("refresh_in_empty_store", figure(figures.median("small /s"), "req/s"), figure(figures.median("small cpu-ms"), "cpu-ms/req"))
	r.row("refresh_in_grown_store", figure(figures.median("grown /s"), "req/s"),
		figure(figures.median("grown cpu-ms"), "cpu-ms/req"), figure(after, "p99-ms"))
	r.row("refresh_during_cleaning", atMost(during, "p99-ms", min(cleaningMS, cleaningTimes*after)),
		figure(cleaned.Seconds(), "s-of-cleaning"))
	r.row("memory", figure(memoryMiB(small, "VmRSS"), "empty-MiB"), figure(memoryMiB(grown, "VmRSS"), "grown-MiB"))
	r.end()
}

// cleaning sends refreshes until the service has deleted what is too old, which it begins when it starts. It returns the
// time that took, and the worst 99th percentile of all periods but the last, in which the cleaning ended.
func cleaning(b *testing.B, db *sql.DB, refresh func(int) error) (took time.Duration, worst float64) {
	overdue, began, last := int64(1), time.Now(), 0.0
	for overdue > 0 {
		if time.Since(began) > cleaningMost {
			b.Fatalf("rows that are too old were not deleted within %v", cleaningMost)
		}
		worst, last = max(worst, last), atGrowthRate(b, refresh)
		noError(b, db.QueryRowContext(b.Context(), overdueSQL, began.Add(-retention).UnixMilli()).Scan(&overdue))
	}
	return time.Since(began), worst
}

// atGrowthRate returns the 99th percentile.
func atGrowthRate(b *testing.B, refresh func(int) error) float64 {
	loop := startOpenLoop(b, growthRate, func(n int) error { return refresh(n % manyClients) })
	time.Sleep(5 * *roundTime / 2)
	took, failed := loop.stop()
	if failed > 0 {
		b.Fatalf("%.0f refreshes failed", failed)
	}
	return percentile(took, 99)
}
