package replicas_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/internal/testport"
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
		"--refresh-grace", "2m",
	}, flags...)
	targets := make([]string, replicas)
	for place := range targets {
		targets[place] = testport.Unused(t)
	}
	f.balancer = startBalancer(t, targets)
	var starting sync.WaitGroup
	for place := range targets {
		starting.Go(func() { f.start(place) })
	}
	starting.Wait()
	if slices.Contains(f.replicas, nil) {
		t.FailNow() // and it said why
	}
	return f
}

// start starts a replica at its place, where one may have ended.
func (f *fleet) start(place int) {
	f.t.Helper()
	o := f.options
	o.Flags = slices.Concat(o.Flags, []string{"--listen", f.targets[place]})
	f.replicas[place] = instance.Start(f.t, o)
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
