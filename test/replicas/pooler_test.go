package replicas_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// maxConnections is how many one replica opens, by default.
const maxConnections = 8

// TestPooler runs three replicas through pgbouncer under load, which is killed and started again, as is a replica. Each response until
// then is 503 or right, and everything that was acknowledged is in the store, once.
func TestPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			database := postgrestest.Start(t, postgrestest.Options{NoSync: !*long})
			direct := database.NewDatabase(t)
			pooler := postgrestest.StartPooler(t, database, mode, "default_pool_size = 30", "max_client_conn = 200")
			f := startFleet(t, 3, pooler.URL(direct), "--watch-interval", "2s")
			l := newLoad(t, f, direct)
			lists := &lists{retryingClient: l.checks.retryingClient, credential: l.checks.credential}
			l.clients = append(l.clients, lists)
			kinds := append(slices.Clone(everything), listing)
			for range rounds(1) {
				l.start()
				l.watch()
				l.awaitEach(t, time.Minute, kinds...)
				time.Sleep(warmUp)
				checkConnections(t, direct, mode)
				if err := pooler.Kill(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if err := pooler.Run(); err != nil {
					t.Fatal(err)
				}
				f.replicas[0].Kill()
				f.start(0)
				l.watch()
				l.awaitEach(t, backWithin, kinds...)
				l.stop()
				if l.check(); t.Failed() {
					t.FailNow()
				}
			}
			l.end()
			for place, replica := range f.replicas {
				for _, code := range []string{"SQLSTATE 42P05", "SQLSTATE 26000", "SQLSTATE 25006", "panic"} {
					if strings.Contains(replica.Log(), code) {
						t.Errorf("the log of replica %d has %s:\n%.2000s", place, code, replica.Log())
					}
				}
			}
		})
	}
}

// checkConnections counts the connections that the replicas have to the database.
func checkConnections(t *testing.T, url, mode string) {
	t.Helper()
	if n := connections(t, url, ""); n > 3*maxConnections {
		t.Errorf("%d connections", n)
	}
	listening := connections(t, url, " AND query LIKE 'LISTEN%'")
	if want := map[string]int64{"session": 3}[mode]; listening != want {
		t.Errorf("%d connections listen, want %d", listening, want)
	}
}

func connections(t *testing.T, url, and string) int64 {
	t.Helper()
	const query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'regwarden'"
	n, err := postgrestest.Number(t.Context(), url, query+and)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const listing = "list"

// lists reads what the pages of the console read.
type lists struct {
	retryingClient
	credential []string
}

func (c *lists) run(stop <-chan struct{}) {
	for going(stop) {
		for _, path := range []string{"/v1/audits", "/v1/registries/oci/summary", "/v1/users/info"} {
			if _, ok := c.want(listing, http.StatusOK, http.MethodGet, path, "", c.credential...); !ok {
				return
			}
		}
	}
}

// TestConnectionsOfAReplica counts the connections of a replica without a pooler, with more clients than it has connections.
func TestConnectionsOfAReplica(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url := database.NewDatabase(t)
	f := startFleet(t, 1, url)
	credential := []string{"ApiKey", f.admin(t, "apikey", "create", "--org", instance.Org, "--email", instance.Email, "--name", t.Name())}
	l := &load{account: newAccount(), t: t}
	for range 4 * maxConnections {
		l.clients = append(l.clients, &lists{retryingClient: retryingClient{l.account, f.replicas[0].Client(t)}, credential: credential})
	}
	l.watch()
	l.start()
	l.awaitEach(t, time.Minute, listing)
	most := int64(0)
	for range 20 {
		n := connections(t, url, "")
		for end := time.Now().Add(5 * time.Second); n > maxConnections && time.Now().Before(end); n = connections(t, url, "") {
			time.Sleep(50 * time.Millisecond) // for a process of the database whose connection is closed to end
		}
		most = max(most, n)
	}
	l.stop()
	if l.report(t); most < 2 || most > maxConnections {
		t.Errorf("%d connections", most)
	}
}
