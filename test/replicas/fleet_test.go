package replicas_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// fleet is several replicas on one database behind a balancer.
type fleet struct {
	t         *testing.T
	options   instance.Options
	replicas  []*instance.Server
	*balancer // nil while there is one
}

// startFleet starts replicas at once on a database, with one master key.
func startFleet(t *testing.T, replicas int, databaseURL string, flags ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, replicas: make([]*instance.Server, replicas)}
	f.options.Flags = append([]string{
		"--database-url-file", urlFile(t, databaseURL), "--master-key-file", filepath.Join(t.TempDir(), "master.key"),
		"--log-level", "warn", "--trusted-proxies", "127.0.0.1", "--check-per-minute", "100000", "--check-per-org", "64",
	}, flags...)
	var starting sync.WaitGroup
	for i := range f.replicas {
		starting.Go(func() { f.replicas[i] = instance.Start(t, f.options) })
	}
	starting.Wait()
	targets := make([]string, replicas)
	for i, replica := range f.replicas {
		if replica == nil {
			t.FailNow() // and it said why
		}
		targets[i] = addressOf(replica)
	}
	f.balancer = startBalancer(t, targets)
	return f
}

func addressOf(s *instance.Server) string { return strings.TrimPrefix(s.URL, "http://") }

// start puts a new process in the place of one that ended.
func (f *fleet) start(place int) {
	f.t.Helper()
	f.replicas[place] = instance.Start(f.t, f.options)
	f.set(place, addressOf(f.replicas[place]))
}

// client talks to the balancer.
func (f *fleet) client(t testing.TB) *instance.Client {
	t.Helper()
	return (&instance.Server{URL: f.server.URL}).Client(t)
}

// admin runs a command on the database while the replicas run.
func (f *fleet) admin(t testing.TB, args ...string) string {
	t.Helper()
	store := f.options.Flags[:4] // database and key
	result := instance.Run(t, "", slices.Concat(args, store)...)
	if result.Code != 0 {
		t.Fatalf("regwarden %s: exit code %d\n%s", strings.Join(args, " "), result.Code, result.Err)
	}
	return strings.TrimSuffix(result.Out, "\n")
}
