package bench

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

const ofManyConnections = 90 // percent of the rate with many connections

// BenchmarkConnections measures a replica with the connections that it has by default next to one with 19, and through pgbouncer, in the
// same rounds: each on a database of its own of one PostgreSQL.
func BenchmarkConnections(b *testing.B) {
	database := postgrestest.Start(b, postgrestest.Options{Settings: []string{"shared_buffers = 128MB"}})
	session, transaction := postgrestest.StartPooler(b, database, "session"), postgrestest.StartPooler(b, database, "transaction")
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		_, _ = w.Write([]byte("{}")) // the client may have gone
	}))
	defer registry.Close()
	validation := instance.JSON(map[string]any{"endpoint": registry.URL, "auth": map[string]any{"type": "noAuth"}})
	ways := []struct{ name, program, url string }{
		{"19", "", database.NewDatabase(b) + "&pool_max_conns=19"},
		{"default", "", database.NewDatabase(b)},
		{"pgbouncer_session", "", session.URL(database.NewDatabase(b))},
		{"pgbouncer_transaction", "", transaction.URL(database.NewDatabase(b))},
	}
	if *oldBinary != "" {
		ways = append(ways, struct{ name, program, url string }{"old", *oldBinary, database.NewDatabase(b)})
	}
	figures, work := samples{}, map[string]func(int) error{}
	cpu := map[string]*instance.Server{}
	for _, way := range ways {
		server := start(b, instance.Options{Program: way.program, Env: []string{"REGWARDEN_DATABASE_URL=" + way.url},
			Flags: []string{"--check-per-minute", "1000000", "--check-per-org", "64"}})
		c, tokens := newClient(b, server.URL), loginTokens(b, server, manyClients)
		authorization := server.Client(b).Login().Authorization
		cpu[way.name] = server
		work["refresh "+way.name] = refreshes(tokens, manyClients, c)
		work["list "+way.name] = c.get("/v1/registries/oci/summary", authorization)
		work["check "+way.name] = func(int) error {
			_, err := c.send(context.Background(), http.MethodPost, "/v1/registries/oci/basic/validate", validation, authorization)
			return err
		}
	}
	kinds := []string{"refresh", "list", "check"}
	for range *rounds {
		for _, kind := range kinds {
			for _, way := range ways {
				row := kind + " " + way.name
				figures.measure(b, row, manyClients, cpuOf(cpu[way.name].PID()), work[row])
			}
		}
	}
	r := &report{b: b}
	for _, kind := range kinds {
		for _, way := range ways {
			row, many := kind+" "+way.name, kind+" 19 /s"
			metrics := []metric{figure(figures.median(row+" /s"), "req/s"), figure(figures.median(row+" cpu-ms"), "cpu-ms/req")}
			if way.name == "default" {
				metrics = append(metrics, atLeast(figures.percent(row+" /s", many), "%-of-19", ofManyConnections))
			} else if way.name != "19" {
				metrics = append(metrics, figure(figures.percent(row+" /s", many), "%-of-19"))
			}
			r.row(strings.ReplaceAll(row, " ", "_"), metrics...)
		}
	}
	r.end()
}
