package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	claimReplicas  = 3
	claimOrgs      = 1_000
	claimsPerOrg   = 100
	checkMS        = 1.1
	longestPause   = time.Second
	firstCheckWait = 20 * time.Second
	pollOrgs       = 100_000
	polls          = 200
	pollMS         = 10

	// These copy the first organization and its one registry, which was checked before, so that the copies need no first check.
	copyOrgsSQL = `INSERT INTO orgs SELECT (jsonb_populate_record(o, jsonb_build_object('uid', gen_random_uuid(), 'name', 'org' || n,
		'canonical', 'org' || n))).*
		FROM orgs o, generate_series(2, %d) AS n`
	copyUsageSQL = `INSERT INTO org_usage SELECT (jsonb_populate_record(u, jsonb_build_object('org_uid', o.uid))).* FROM org_usage u, ` +
		`orgs o ON CONFLICT DO NOTHING`
	nameRowsSQL = `CREATE TABLE copies AS SELECT o.uid AS org_uid, CAST(gen_random_uuid() AS TEXT) AS uid, 'registry' || n AS name FROM ` +
		`orgs o, generate_series(1, %d) AS n`
	copyRowsSQL = `DO $$ DECLARE name TEXT; BEGIN
		FOR name IN SELECT 'registries' UNION SELECT table_name FROM information_schema.columns WHERE table_schema = current_schema() AND
			column_name = 'registry_uid' LOOP
			EXECUTE format('INSERT INTO %1$I SELECT copied.* FROM %1$I r, copies c,
				jsonb_populate_record(r, to_jsonb(c) || jsonb_build_object(''registry_uid'', c.uid, ''canonical'', c.name)) AS
					copied', name);
		END LOOP; END $$`
	noReferencesSQL = `SET session_replication_role = replica` // checking them would take minutes
	nowSQL          = `CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`
	dueLaterSQL     = `UPDATE registry_watch SET next_at = ` + nowSQL + ` + 3600000`
	allDueSQL       = `UPDATE registry_watch SET next_at = ` + nowSQL
	// The copies have the same.
	checksSQL     = `SELECT COUNT(*) FROM registry_watch WHERE last_at > (SELECT MIN(last_at) FROM registry_watch)`
	hotSQL        = `SELECT n_tup_hot_upd * 100 / greatest(n_tup_upd, 1) FROM pg_stat_user_tables WHERE relname = 'registry_watch'`
	statementsSQL = `SELECT CAST(sum(total_exec_time) * 1000 AS BIGINT) FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query NOT LIKE '%MIN(last_at)%'`
	pollRowsSQL = `INSERT INTO registry_watch (registry_uid, org_uid, next_at, phase) SELECT gen_random_uuid(), gen_random_uuid(), %d +
		CASE WHEN n <= 10 THEN 0 ELSE 1000 END, 0
		FROM generate_series(1, %d) AS n`
)

// BenchmarkClaims has three replicas check 100,000 registries of 1,000 organizations that fell due at once, and looks for due registries of
// 100,000 organizations.
func BenchmarkClaims(b *testing.B) {
	r := &report{b: b}
	claims(r, "", "")
	if *oldBinary != "" {
		claims(r, oldPrefix, *oldBinary)
	}
	pollMany(r)
	r.end()
}

// claims measures a binary on a database of its own.
func claims(r *report, prefix, program string) {
	d, registry := startDatabase(r.b, "shared_preload_libraries = pg_stat_statements"), startPulse(r.b)
	d.storeWatched(program, registry.URL)
	for range claimReplicas {
		start(r.b, instance.Options{Program: program, Env: d.env, Flags: []string{"--watch-interval", "1h"}})
	}
	d.exec(allDueSQL, "SELECT pg_stat_statements_reset(), pg_stat_reset()")
	cpu := d.cpu()
	registry.begin()
	time.Sleep(10 * *roundTime)
	pause, used := registry.longestPause(), d.cpu()-cpu
	checks := float64(d.number(checksSQL))
	deadlocks, err := d.server.Deadlocks()
	noError(r.b, err)
	r.row(prefix+"three_replicas", figure(checks/(10**roundTime).Seconds(), "claims/s"),
		atMost(ms(used)/checks, "database-cpu-ms/check", checkMS),
		figure(float64(d.number(statementsSQL))/1000/checks, "statements-ms/check"), atMost(float64(deadlocks), "deadlocks", 0),
		atMost(pause.Seconds(), "longest-pause-s", longestPause.Seconds()), figure(float64(d.number(hotSQL)), "%-of-updates-hot"))
}

func (d *database) exec(statements ...string) {
	noError(d.b, d.server.Exec(d.b.Context(), d.url, statements...))
}

func (d *database) number(query string) int64 {
	n, err := postgrestest.Number(d.b.Context(), d.url, query)
	noError(d.b, err)
	return n
}

// storeWatched stores the registries, which are not due yet: a start would spread those that are overdue.
func (d *database) storeWatched(program, endpoint string) {
	d.exec("CREATE EXTENSION pg_stat_statements")
	server := start(d.b, instance.Options{Program: program, Env: d.env})
	_, err := newClient(d.b, server.URL).send(d.b.Context(), http.MethodPost, pathBasic,
		instance.JSON(map[string]any{"metadata": map[string]string{"name": "first"},
			"spec": map[string]any{"endpoint": endpoint, "providerType": "helm", "isSyncSupported": false,
				"auth": map[string]any{"type": "noAuth"}}}), server.Client(d.b).Login().Authorization)
	noError(d.b, err)
	for began := time.Now(); d.number("SELECT COUNT(last_at) FROM registry_watch") == 0; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > firstCheckWait {
			d.b.Fatal("the first registry is not checked")
		}
	}
	server.Stop(syscall.SIGTERM)
	d.exec(noReferencesSQL, fmt.Sprintf(copyOrgsSQL, claimOrgs), copyUsageSQL, fmt.Sprintf(nameRowsSQL, claimsPerOrg), copyRowsSQL,
		dueLaterSQL, "DROP TABLE copies", "VACUUM ANALYZE")
}

// pollMany looks for due registries of many organizations, when those of ten are due, and those of all.
func pollMany(r *report) {
	d, due := startDatabase(r.b), time.Now()
	db, err := store.Open(r.b.Context(), store.Options{DatabaseURL: secret.String(d.url), MasterKey: seal.NewMasterKey()})
	noError(r.b, err)
	r.b.Cleanup(func() { _ = db.Close() })
	d.exec(noReferencesSQL, fmt.Sprintf(pollRowsSQL, due.UnixMilli(), pollOrgs), "ANALYZE registry_watch")
	for _, name := range []string{"ten", "all"} {
		at := map[string]time.Time{"ten": due, "all": due.Add(time.Second)}[name]
		var took []time.Duration
		for range polls {
			began := time.Now()
			orgs, err := store.Read(r.b.Context(), db, func(tx *store.Tx) ([]string, error) { return tx.Watch.DueOrgs(r.b.Context(), at) })
			took = append(took, time.Since(began))
			noError(r.b, err)
			if len(orgs) < 10 {
				r.b.Fatalf("%d organizations are due", len(orgs))
			}
		}
		slices.Sort(took)
		r.row("poll_"+name+"_of_100000_due", atMost(percentile(took, 50), "p50-ms", pollMS), figure(percentile(took, 99), "p99-ms"))
	}
}

// pulse is a registry that notes the longest time without a request.
type pulse struct {
	*httptest.Server
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

func startPulse(b *testing.B) *pulse {
	p := &pulse{}
	p.Server = httptest.NewServer(p)
	b.Cleanup(p.Close)
	return p
}

// ServeHTTP accepts every request.
func (p *pulse) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.beat()
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
}

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longest, p.last = max(p.longest, time.Since(p.last)), time.Now()
}

// begin forgets the times before.
func (p *pulse) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longest, p.last = 0, time.Now()
}

func (p *pulse) longestPause() time.Duration {
	p.beat()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest
}
