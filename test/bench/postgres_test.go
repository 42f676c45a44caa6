package bench

import (
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

	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	refreshOfUpdates = 25  // percent
	refreshWAL       = 400 // bytes
	manyReplicas     = 3
)

// BenchmarkPostgres measures refreshes on PostgreSQL next to pgbench with the update of one row in each transaction.
func BenchmarkPostgres(b *testing.B) { benchPostgres(b, 1) }

// BenchmarkReplicas measures refreshes at three replicas on one PostgreSQL, next to those at one.
func BenchmarkReplicas(b *testing.B) { benchPostgres(b, manyReplicas) }

func benchPostgres(b *testing.B, replicas int) {
	d := startDatabase(b)
	servers, figures, pgbench := d.start(replicas), samples{}, d.newPgbench()
	var clients []*client
	var pids []int
	for _, server := range servers {
		clients, pids = append(clients, newClient(b, server.URL)), append(pids, server.PID())
	}
	one, all := refreshes(loginTokens(b, servers[0], manyClients), manyClients, clients[0]),
		refreshes(loginTokens(b, servers[0], manyClients), manyClients, clients...)
	for range *rounds {
		figures.add("update /s", pgbench())
		database, wal := d.cpu(), d.wal()
		calls := figures.measure(b, "one", manyClients, cpuOf(pids[0]), one)
		figures.add("database cpu-ms", ms(d.cpu()-database)/calls)
		figures.add("wal bytes", (d.wal()-wal)/calls)
		if replicas > 1 {
			figures.measure(b, "all", manyClients, cpuOf(pids...), all)
		}
	}
	r := &report{b: b}
	r.row("pgbench_one_row", figure(figures.median("update /s"), "tx/s"))
	r.row("refresh", figure(figures.median("one /s"), "req/s"),
		atLeast(figures.percent("one /s", "update /s"), "%-of-pgbench", refreshOfUpdates),
		figure(figures.median("one cpu-ms"), "cpu-ms/req"), figure(figures.median("database cpu-ms"), "database-cpu-ms/req"),
		atMost(figures.median("wal bytes"), "wal-bytes/req", refreshWAL))
	if replicas > 1 {
		r.row("refresh_at_three_replicas", figure(figures.median("all /s"), "req/s"),
			figure(figures.percent("all /s", "one /s"), "%-of-one-replica"), figure(figures.median("all cpu-ms"), "cpu-ms/req"))
	}
	r.end()
}

// database is a PostgreSQL server as Debian installs it, with a database for the service.
type database struct {
	b      *testing.B
	server *postgrestest.Server
	url    string
	env    []string
	cpu    func() time.Duration
}

func startDatabase(b *testing.B, settings ...string) *database {
	d := &database{b: b, server: postgrestest.Start(b,
		postgrestest.Options{Deadlocks: true, Settings: append(settings, "shared_buffers = 128MB")})}
	d.url = d.server.NewDatabase(b)
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	d.env = []string{"REGWARDEN_DATABASE_URL=" + d.url, "REGWARDEN_MASTER_KEY=" + base64.StdEncoding.EncodeToString(key)}
	text, err := os.ReadFile(filepath.Join(d.server.Dir, "data", "postmaster.pid"))
	noError(b, err)
	pid, _, _ := strings.Cut(string(text), "\n")
	d.cpu = cpuOf(number(pid))
	return d
}

// wal returns how many bytes of WAL were written so far.
func (d *database) wal() (bytes float64) {
	conn, err := pgx.Connect(d.b.Context(), d.url)
	noError(d.b, err)
	defer func() { _ = conn.Close(d.b.Context()) }()
	noError(d.b, conn.QueryRow(d.b.Context(), "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8").Scan(&bytes))
	return bytes
}

func (d *database) start(replicas int, flags ...string) (servers []*instance.Server) {
	for range replicas {
		servers = append(servers, start(d.b, instance.Options{Flags: flags, Env: d.env}))
	}
	return servers
}

var pgbenchRate = regexp.MustCompile(`tps = ([0-9.]+)`)

// newPgbench returns a run of pgbench in a database of its own, which returns the transactions per second.
func (d *database) newPgbench() func() float64 {
	update, script := d.server.NewDatabase(d.b), filepath.Join(d.b.TempDir(), "update")
	noError(d.b, d.server.Exec(d.b.Context(), update, "CREATE TABLE rows (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO rows SELECT id, 0 FROM generate_series(1, %d) AS id", benchRows)))
	noError(d.b, os.WriteFile(script,
		fmt.Appendf(nil, "\\set id random(1, %d)\nUPDATE rows SET n = n + 1 WHERE id = :id;\n", benchRows), 0o600))
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(found) == 0 {
		d.b.Fatal("pgbench is not installed")
	}
	return func() float64 {
		seconds := strconv.Itoa(max(2, int(roundTime.Seconds()))) // less may not suffice to connect
		out, err := exec.CommandContext(d.b.Context(), found[len(found)-1], "-n", "-M", "prepared", "-c", strconv.Itoa(manyClients), "-j",
			"1", "-T", seconds, "-f", script, update).CombinedOutput()
		rate := pgbenchRate.FindSubmatch(out)
		if err != nil || rate == nil {
			d.b.Fatalf("pgbench: %v\n%s", err, out)
		}
		perSecond, _ := strconv.ParseFloat(string(rate[1]), 64) // the pattern has digits only
		return perSecond
	}
}
