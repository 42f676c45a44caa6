package bench

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	refreshOfUpdates = 18 // percent
	manyReplicas     = 3
	figureUpdate     = "pgbench, one row updated, a second"
	figureUpdateCPU  = "pgbench, one row updated, ms of the database's CPU"
	figureDatabase   = "refresh, ms of the database's CPU"
	figureReplicas   = "refresh at three replicas, a second"
	figureReplicasMS = "refresh at three replicas, ms of all servers' CPU"
)

// BenchmarkPostgres measures refreshes on a PostgreSQL, beside what that does for pgbench with one row in each
// transaction.
func BenchmarkPostgres(b *testing.B) {
	for range b.N {
		benchPostgres(b, "Refreshes on PostgreSQL", 1)
	}
}

// BenchmarkReplicas measures refreshes at three replicas on one PostgreSQL, beside those at one.
func BenchmarkReplicas(b *testing.B) {
	for range b.N {
		benchPostgres(b, "Replicas", 1, manyReplicas)
	}
}

// database is a PostgreSQL with as many replicas of the service as are started.
type database struct {
	b       *testing.B
	server  *postgrestest.Server
	url     string
	key     []byte
	update  string // the database that pgbench works on
	script  string
	clients *clients
	tokens  string
	figures series
}

func benchPostgres(b *testing.B, name string, replicas ...int) {
	b.Helper()
	d := startDatabase(b)
	servers := d.start(replicas[len(replicas)-1])
	d.tokens = refreshTokens(b, d.options(), manyClients)
	t := &table{name: name, columns: []string{"", "median (least to most)", "of the limit"}}
	disturbance := watchOthers()
	for range rounds {
		d.pgbench()
		for _, n := range replicas {
			d.refresh(servers[:n])
		}
	}
	d.tell(t, len(replicas) > 1)
	disturbance.tell(b, t)
	t.note("%d clients, %d rounds of %v each, in turn. PostgreSQL as installed, on this disk and these processors: fsync on, synchronous_commit on.", manyClients, rounds, roundTime)
	t.tell(b)
}

func startDatabase(b *testing.B) *database {
	b.Helper()
	d := &database{b: b, server: postgrestest.Start(b, postgrestest.Options{Settings: []string{"shared_buffers = 128MB"}}), clients: startClients(b), figures: series{}, key: make([]byte, 32)}
	_, _ = rand.Read(d.key)
	d.url, d.update, d.script = d.server.NewDatabase(b), d.server.NewDatabase(b), filepath.Join(b.TempDir(), "update")
	err := d.server.Exec(b.Context(), d.update, "CREATE TABLE rows (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO rows SELECT id, 0 FROM generate_series(1, %d) AS id", benchRows))
	if err == nil {
		err = os.WriteFile(d.script, fmt.Appendf(nil, "\\set id random(1, %d)\nUPDATE rows SET n = n + 1 WHERE id = :id;\n", benchRows), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	return d
}

func (d *database) options() store.Options {
	key, err := seal.ParseMasterKey(secret.String(base64.StdEncoding.EncodeToString(d.key)))
	if err != nil {
		d.b.Fatal(err)
	}
	return store.Options{DatabaseURL: secret.String(d.url), MasterKey: key}
}

func (d *database) start(replicas int, flags ...string) []*instance.Server {
	d.b.Helper()
	var all []*instance.Server
	for range replicas {
		all = append(all, instance.Start(d.b, instance.Options{LogFile: filepath.Join(d.b.TempDir(), "log"), Flags: flags,
			Env: []string{"REGWARDEN_DATABASE_URL=" + d.url, "REGWARDEN_MASTER_KEY=" + base64.StdEncoding.EncodeToString(d.key)}}))
	}
	return all
}

// used is what the processes of the database have used of the processors.
func (d *database) used() time.Duration {
	text, err := os.ReadFile(filepath.Join(d.server.Folder, "data", "postmaster.pid"))
	if err != nil {
		d.b.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return familyTime(number(first))
}

var (
	pgbenchRate  = regexp.MustCompile(`tps = ([0-9.]+)`)
	pgbenchCount = regexp.MustCompile(`actually processed: (\d+)`)
)

func (d *database) pgbench() {
	d.b.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(found) == 0 {
		d.b.Fatal("pgbench is not installed")
	}
	ctx, cancel := context.WithTimeout(d.b.Context(), 10*roundTime)
	defer cancel()
	before := d.used()
	out, err := exec.CommandContext(ctx, found[len(found)-1], "-n", "-M", "prepared", "-c", strconv.Itoa(manyClients), "-j", "1", "-T", strconv.Itoa(int(roundTime.Seconds())),
		"-f", d.script, d.update).CombinedOutput()
	rate, count := pgbenchRate.FindSubmatch(out), pgbenchCount.FindSubmatch(out)
	if err != nil || rate == nil || count == nil {
		d.b.Fatalf("pgbench: %v\n%s", err, out)
	}
	perSecond, err := strconv.ParseFloat(string(rate[1]), 64)
	if err != nil {
		d.b.Fatal(err)
	}
	d.figures.add(figureUpdate, perSecond)
	d.figures.add(figureUpdateCPU, ms(d.used()-before)/float64(max(number(string(count[1])), 1)))
}

func (d *database) refresh(servers []*instance.Server) {
	d.b.Helper()
	w := workload{Kind: loadRefresh, Clients: manyClients, For: roundTime, Tokens: d.tokens}
	for _, server := range servers {
		w.URLs = append(w.URLs, server.URL)
	}
	service := func() (used time.Duration) {
		for _, server := range servers {
			used += processorTime(d.b, server)
		}
		return used
	}
	used, database := service(), d.used()
	end := d.clients.put(w)
	rate, cpu := figureRefresh, figureRefreshMS
	if len(servers) > 1 {
		rate, cpu = figureReplicas, figureReplicasMS
	} else {
		d.figures.add(figureDatabase, end.each(d.used()-database))
	}
	d.figures.add(rate, end.rate())
	d.figures.add(cpu, end.each(service()-used))
}

func (d *database) tell(t *table, replicas bool) {
	f := d.figures
	t.add(figureUpdate, f.spread(figureUpdate, "%.0f"))
	t.add(figureUpdateCPU, f.spread(figureUpdateCPU, "%.4f"))
	part := 100 * f.ratio(figureRefresh, figureUpdate)
	t.hold(fmt.Sprintf("%d %%", refreshOfUpdates), part >= refreshOfUpdates, figureRefresh, f.spread(figureRefresh, "%.0f"), fmt.Sprintf("%.0f %%", part))
	t.add(figureRefreshMS, f.spread(figureRefreshMS, "%.4f"))
	t.add(figureDatabase, f.spread(figureDatabase, "%.4f"))
	kept := []string{figureUpdate, figureRefresh, figureRefreshMS, figureDatabase}
	if replicas {
		t.add(figureReplicas, f.spread(figureReplicas, "%.0f"), fmt.Sprintf("%.0f %%; %.2f of one replica", 100*f.ratio(figureReplicas, figureUpdate), f.ratio(figureReplicas, figureRefresh)))
		t.add(figureReplicasMS, f.spread(figureReplicasMS, "%.4f"))
		kept = append(kept, figureReplicas, figureReplicasMS)
	}
	for _, name := range kept {
		t.keep(name, f.median(name))
	}
}
