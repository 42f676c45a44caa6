package replicas_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// slowFile accepts the first bytes at once and the others when it is opened, so that pg_dump keeps its transaction until then.
type slowFile struct {
	first  chan struct{} // closed after the first bytes
	opened chan struct{}
	size   atomic.Int64
}

func (f *slowFile) Write(b []byte) (int, error) {
	if f.size.Add(int64(len(b))) == int64(len(b)) {
		close(f.first)
	}
	<-f.opened
	return len(b), nil
}

// TestNothingWaitsForPgDump refreshes, checks registries and starts a replica while pg_dump reads all tables.
func TestNothingWaitsForPgDump(t *testing.T) {
	t.Parallel()
	const measured = 4 * time.Second
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url := database.NewDatabase(t)
	f := startFleet(t, 3, url, "--watch-interval", "1s")
	f.replicas[2].Kill()
	if err := database.Exec(t.Context(), url,
		"CREATE TABLE filler AS SELECT repeat(n::text, 1000) FROM generate_series(1, 10000) AS n"); err != nil {
		t.Fatal(err) // more than the buffers between the database and the file
	}
	client := f.client(t)
	tokens := logIn(t, client)
	registry := startWatched(t, 0, nil)
	registry.keep(t, client, []string{"Authorization", tokens.Authorization}, "a", "b", "c", "d", "e", "f")
	refresh := func() (count int, longest time.Duration) {
		for began := time.Now(); time.Since(began) < measured; count++ {
			at := time.Now()
			tokens = do(t, client, http.MethodGet, "/v1/auth/refresh/"+tokens.RefreshToken, "").Want(http.StatusOK).Tokens()
			longest = max(longest, time.Since(at))
		}
		return count, longest
	}
	count, longest := refresh()
	t.Logf("without pg_dump: %d refreshes, the longest %v", count, longest)
	file := &slowFile{first: make(chan struct{}), opened: make(chan struct{})}
	open := sync.OnceFunc(func() { close(file.opened) })
	defer open()
	var logged []int // bytes of each replica's log before pg_dump: a busy machine may have been slow
	for _, replica := range f.replicas[:2] {
		logged = append(logged, len(replica.Log()))
	}
	dumped := make(chan error, 1)
	go func() { dumped <- database.Dump(url, file) }()
	select {
	case <-file.first:
	case err := <-dumped:
		t.Fatalf("pg_dump ended too early: %v", err)
	}
	before := registry.count("a")
	f.start(2)
	count, longest = refresh()
	instance.Await(t, "a check of a registry during pg_dump", func() bool { return registry.count("a") > before || len(dumped) > 0 })
	checks := registry.count("a") - before
	t.Logf("during pg_dump: %d refreshes, the longest %v; %d checks of a registry", count, longest, checks)
	if len(dumped) > 0 {
		t.Fatalf("pg_dump ended too early: %v", <-dumped)
	}
	open()
	if err := <-dumped; err != nil {
		t.Error(err)
	}
	for i, replica := range f.replicas {
		log := replica.Log()
		if i < len(logged) {
			log = log[logged[i]:]
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, "level=ERROR") && !slowToConnect(line) {
				t.Errorf("log of a replica: %s", line)
			}
		}
	}
}

// slowToConnect reports whether a line says that the database opened no connection in time, which a busy machine causes. Where connections
// wait for a lock, all are in use.
func slowToConnect(line string) bool { return strings.Contains(line, "it is slow to open one more") }
