package replicas_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// watchedRegistry is a registry that counts its visits, by the first part of their path.
type watchedRegistry struct {
	*httptest.Server
	slow time.Duration // how long a visit takes
	hold chan struct{} // a visit's time begins when this is closed; nil: at once

	mu      sync.Mutex
	now     map[string]int // under way
	visits  map[string]int
	overlap []string // visited by two at once
}

func startWatched(t *testing.T, slow time.Duration, hold chan struct{}) *watchedRegistry {
	t.Helper()
	r := &watchedRegistry{slow: slow, hold: hold, now: map[string]int{}, visits: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *watchedRegistry) serve(w http.ResponseWriter, request *http.Request) {
	name := strings.Split(request.URL.Path, "/")[1]
	r.mu.Lock()
	r.now[name]++
	r.visits[name]++
	if r.now[name] > 1 {
		r.overlap = append(r.overlap, name)
	}
	r.mu.Unlock()
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-request.Context().Done():
		}
	}
	select {
	case <-time.After(r.slow):
	case <-request.Context().Done():
	}
	r.mu.Lock()
	r.now[name]--
	r.mu.Unlock()
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	_, _ = w.Write([]byte("{}")) // the client may have gone
}

func (r *watchedRegistry) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.visits[name]
}

// keep makes a record of a registry for each name.
func (r *watchedRegistry) keep(t *testing.T, client *instance.Client, credential []string, names ...string) {
	t.Helper()
	for _, name := range names {
		body := instance.JSON(map[string]any{"metadata": map[string]any{"name": name},
			"spec": map[string]any{"endpoint": r.URL, "basePath": "/" + name,
				"auth": map[string]any{"type": "noAuth"}}})
		response := client.Do(http.MethodPost, registriesPath, body, credential...)
		if response.Status == http.StatusServiceUnavailable { // it may have been stored
			response = do(t, client, http.MethodPost, registriesPath, body, credential...)
			if response.Status == http.StatusConflict {
				continue
			}
		}
		response.Want(http.StatusCreated)
	}
}

// TestWatchOverThreeReplicas counts at the registry: each record is checked by one replica at a time, and about once in
// an interval by all of them together.
func TestWatchOverThreeReplicas(t *testing.T) {
	t.Parallel()
	const interval, watching, records = 2 * time.Second, 9 * time.Second, 6
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url := database.NewDatabase(t)
	f := startFleet(t, 3, url, "--watch-interval", interval.String())
	registry := startWatched(t, 50*time.Millisecond, nil)
	client := f.client(t)
	var names []string
	for i := range records {
		names = append(names, fmt.Sprintf("record-%d", i))
	}
	began := time.Now()
	registry.keep(t, client, []string{"Authorization", logIn(t, client).Authorization}, names...)
	time.Sleep(watching)
	// An interval is cut or prolonged by a tenth, what is due is seen within a second, and the first check comes at once. A busy machine
	// takes long to store the last record, while the first one is visited.
	least, most := int(watching/(interval*11/10+time.Second))-1, int(time.Since(began)/(interval*9/10))+2
	for _, name := range names {
		if n := registry.count(name); n < least || n > most {
			t.Errorf("%s was visited %d times in %v, want %d to %d", name, n, watching, least, most)
		}
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if len(registry.overlap) > 0 {
		t.Errorf("two replicas at once visited %v", registry.overlap)
	}
	t.Logf("visits in %v at an interval of %v: %v", watching, interval, registry.visits)
}

// A start moves no check of a backlog while another replica runs. After an hour without a server it spreads the missed ones.
func TestOnlyStopOfTheServiceSpreadsChecks(t *testing.T) {
	t.Parallel()
	const records = 30
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url := database.NewDatabase(t)
	f := startFleet(t, 2, url, "--watch-interval", "20m", "--watch-concurrency", "1")
	f.replicas[1].Kill()
	registry := startWatched(t, 0, make(chan struct{})) // no check ends
	client := f.client(t)
	var names []string
	for i := range records {
		names = append(names, fmt.Sprintf("record-%d", i))
	}
	registry.keep(t, client, []string{"Authorization", logIn(t, client).Authorization}, names...)
	number := func(query string, args ...any) int64 {
		n, err := postgrestest.Number(t.Context(), url, query, args...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	moved := func() int64 { // a check that ended, by its time limit, is not moved
		return number("SELECT COUNT(*) FROM registry_watch WHERE lease_owner IS NULL AND last_at IS NULL AND next_at > $1",
			time.Now().UnixMilli())
	}
	startAfter := func(replica int, stopped time.Duration) {
		t.Helper()
		at := time.Now().Add(-stopped).UnixMilli()
		if err := database.Exec(t.Context(), url, fmt.Sprintf("UPDATE service_clock SET newest = %d", at),
			fmt.Sprintf("UPDATE registry_watch SET next_at = %d WHERE lease_owner IS NULL",
				time.Now().Add(-time.Hour).UnixMilli())); err != nil {
			t.Fatal(err)
		}
		f.start(replica)
		instance.Await(t, "the replica stores its time", func() bool { return number("SELECT newest FROM service_clock") > at })
	}
	startAfter(1, time.Minute)
	if n := moved(); n != 0 {
		t.Errorf("a start next to a running replica moved %d checks", n)
	}
	f.replicas[0].Kill()
	f.replicas[1].Kill()
	startAfter(0, time.Hour)
	if n := moved(); n < records/2 {
		t.Errorf("after an hour without a server %d of %d checks were spread", n, records)
	}
}

// TestTenStartAtOnce starts ten replicas on an empty database: one of them makes the tables, the keys and the first
// organization, and all serve the same.
func TestTenStartAtOnce(t *testing.T) {
	t.Parallel()
	const replicas = 10
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url := database.NewDatabase(t)
	f := startFleet(t, replicas, url)
	for what, query := range map[string]string{
		"a migration ran more than once": "SELECT COUNT(*) - COUNT(DISTINCT version_id) FROM goose_db_version",
		"organizations but one":          "SELECT COUNT(*) - 1 FROM orgs",
		"administrators but one":         "SELECT COUNT(*) - 1 FROM users",
		"keyrings but one":               "SELECT COUNT(*) - 1 FROM data_keyset",
		"signing and MAC keys but two":   "SELECT COUNT(*) - 2 FROM service_keys",
	} {
		if n, err := postgrestest.Number(t.Context(), url, query); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	first := 0
	for _, replica := range f.replicas {
		if strings.Contains(replica.Out(), "This is the first start.") {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d replicas created the first organization", first)
	}
	s := story{f, t, f.client(t)}
	authorization := s.on(0, http.MethodPost, "/v1/auth", loginAs(instance.Email)).Want(http.StatusOK).Tokens().Authorization
	for replica := range replicas {
		s.on(replica, http.MethodGet, alerts, "", "Authorization", authorization).Want(http.StatusOK)
	}
}
