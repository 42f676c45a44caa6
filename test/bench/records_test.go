package bench

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	stored         = 10_000 // definitions
	defaultWatch   = 15 * time.Minute
	fastWatch      = time.Minute                     // 15 times as often
	longestGap     = fastWatch*11/10 + 2*time.Second // with the jitter of a tenth, and the time to claim a check
	watchWorkers   = 48                              // three times the default, since more checks are in progress
	firstPass      = 3 * time.Minute                 // the longest that all first checks may take
	sameCheck      = 2 * time.Second                 // requests for one definition that are closer belong to one check
	listsPerSecond = 5
	listMS         = 100
	storedMiB      = 150
	storedPassword = "five swans over the lock"
	pathBasic      = "/v1/registries/oci/basic"
	pathSummary    = "/v1/registries/oci/summary"
)

// BenchmarkRecords stores 10,000 definitions of one organization and has the service check them on schedule: first at the
// default interval, while the list of all must stay quick, then far more often, while each check must come in time.
func BenchmarkRecords(b *testing.B) {
	s := &storedDefinitions{report: &report{b: b}}
	registry := httptest.NewServer(s)
	b.Cleanup(registry.Close)
	s.registry = registry.URL
	s.create()
	s.list("list", listMS, func() { time.Sleep(5 * *roundTime) })
	s.restart(defaultWatch)
	s.list("list_with_scheduled_checks", listMS, func() { time.Sleep(10 * *roundTime) })
	s.server.Stop(syscall.SIGTERM)
	s.create() // new definitions, since the first checks of the others are spread over a quarter of an hour
	s.restart(fastWatch)
	s.watch()
	s.end()
}

// storedDefinitions is also the registry of the definitions, each at a path of its own.
type storedDefinitions struct {
	*report
	registry      string
	server        *instance.Server
	client        *client
	authorization string

	mu     sync.Mutex
	checks map[string][]time.Time // by path
}

// ServeHTTP accepts Basic credentials and notes when each definition is checked.
func (s *storedDefinitions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, now := strings.TrimSuffix(r.URL.Path, "/v2/"), time.Now()
	s.mu.Lock()
	if all := s.checks[path]; len(all) == 0 || now.Sub(all[len(all)-1]) > sameCheck {
		s.checks[path] = append(all, now)
	}
	s.mu.Unlock()
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if _, password, _ := r.BasicAuth(); password != storedPassword {
		w.Header().Set("WWW-Authenticate", `Basic realm="bench"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (s *storedDefinitions) start(dir string, interval time.Duration) {
	s.checks = map[string][]time.Time{}
	s.server = start(s.b, instance.Options{DataDir: dir,
		Flags: []string{"--watch-interval", interval.String(), "--watch-concurrency", strconv.Itoa(watchWorkers),
			"--check-per-minute", strconv.Itoa(60 * stored)}}) // so that first checks are not delayed
	s.client, s.authorization = newClient(s.b, s.server.URL), s.server.Client(s.b).Login().Authorization
}

func (s *storedDefinitions) restart(interval time.Duration) {
	s.server.Stop(syscall.SIGTERM)
	s.start(s.server.DataDir, interval)
}

// create starts a service without scheduled checks and stores the definitions.
func (s *storedDefinitions) create() {
	s.start("", 0)
	closedLoop(s.b, manyClients, 0, func(worker int) (err error) {
		for i := worker; i < stored && err == nil; i += manyClients {
			_, err = s.client.send(context.Background(), http.MethodPost, pathBasic, s.definition(i), s.authorization)
		}
		return err
	})
}

func (s *storedDefinitions) definition(i int) string {
	return instance.JSON(map[string]any{
		"metadata": map[string]string{"name": "registry of team " + strconv.Itoa(i)},
		"spec": map[string]any{"endpoint": s.registry + "/team/" + strconv.Itoa(i), "providerType": "helm", "isSyncSupported": false,
			"auth": map[string]any{"type": "basic", "username": "team" + strconv.Itoa(i), "password": storedPassword,
				"tls": map[string]any{"enabled": true}}},
	})
}

// list measures the list of all definitions while something is done.
func (s *storedDefinitions) list(name string, limit float64, do func()) {
	r, err := s.client.send(context.Background(), http.MethodGet, pathSummary, "", s.authorization)
	noError(s.b, err)
	var list struct{ Items []struct{} }
	noError(s.b, json.Unmarshal([]byte(r.body), &list))
	loop := startOpenLoop(s.b, listsPerSecond, s.client.get(pathSummary, s.authorization))
	do()
	took, failed := loop.stop()
	s.row(name, figure(percentile(took, 50), "p50-ms"), atMost(percentile(took, 99), "p99-ms", limit), atMost(failed, "failed", 0),
		atLeast(float64(len(list.Items)), "items", stored))
}

// watch waits until every definition was checked once, and measures until each had to be checked again.
func (s *storedDefinitions) watch() {
	peak, began := watchPeak(s.b, s.server), time.Now()
	for _, since := s.gaps(began); len(since) < stored; _, since = s.gaps(began) {
		if time.Since(began) > firstPass {
			s.b.Fatalf("not all definitions were checked after %v", firstPass)
		}
		time.Sleep(time.Second)
	}
	s.row("first_checks", figure(stored/time.Since(began).Seconds(), "checks/s"))
	from, cpu := time.Now(), cpuOf(s.server.PID())
	used := cpu()
	s.list("list_with_fast_checks", noLimit, func() { time.Sleep(longestGap) })
	used = cpu() - used
	between, since := s.gaps(from)
	long := time.Since(from).Seconds()
	s.row("scheduled_checks", atLeast(float64(len(between))/long, "checks/s", stored/defaultWatch.Seconds()),
		figure(100*used.Seconds()/long, "%-of-a-processor"))
	s.row("between_checks", figure(percentile(between, 50)/1000, "p50-s"),
		atMost(percentile(between, 100)/1000, "longest-s", longestGap.Seconds()))
	s.row("since_last_check", figure(percentile(since, 50)/1000, "p50-s"),
		atMost(percentile(since, 100)/1000, "longest-s", longestGap.Seconds()), atLeast(float64(len(since)), "definitions", stored))
	s.row("memory", atMost(peak(), "MiB", storedMiB))
}

// gaps returns the times between two checks of which the later was after a moment, and the times since the last check, both sorted.
func (s *storedDefinitions) gaps(from time.Time) (between, since []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.checks {
		since = append(since, time.Since(all[len(all)-1]))
		for i := 1; i < len(all); i++ {
			if all[i].After(from) {
				between = append(between, all[i].Sub(all[i-1]))
			}
		}
	}
	slices.Sort(between)
	slices.Sort(since)
	return between, since
}
