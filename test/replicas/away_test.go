package replicas_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

const (
	awayFor     = 5 * time.Second
	awayClients = 48 // clients at once

	atOnce    = 300 * time.Millisecond // where connections are refused
	silentFor = 5 * time.Second        // at most, of a database that does not respond
)

// requestKind has the responses to clients of one kind while the store was away.
type requestKind struct {
	name, method, path, body string
	headers                  []string
	status                   int // the only one that is right

	mu    sync.Mutex
	took  []time.Duration
	other map[int]int // responses with another status
}

// send sends the request repeatedly until stop.
func (a *requestKind) send(t *testing.T, client *http.Client, url string, stop <-chan struct{}) {
	for going(stop) {
		request, err := http.NewRequestWithContext(t.Context(), a.method, url+a.path, strings.NewReader(a.body))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(a.headers); i += 2 {
			request.Header.Set(a.headers[i], a.headers[i+1])
		}
		began := time.Now()
		response, err := client.Do(request)
		if err != nil {
			t.Errorf("%s: %v", a.name, err)
			return
		}
		_, _ = io.Copy(io.Discard, response.Body) // other tests check the content
		_ = response.Body.Close()
		a.note(t, response, time.Since(began))
	}
}

func (a *requestKind) note(t *testing.T, response *http.Response, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took = append(a.took, took)
	if response.StatusCode != a.status {
		a.other[response.StatusCode]++
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); response.StatusCode == http.StatusServiceUnavailable &&
		(err != nil || seconds < 1) {
		t.Errorf("%s: 503 with Retry-After %q", a.name, response.Header.Get("Retry-After"))
	}
}

// at is the duration that this share of the responses took at most.
func (a *requestKind) at(share float64) time.Duration {
	slices.Sort(a.took)
	return a.took[int(math.Ceil(share*float64(len(a.took))))-1]
}

// TestStoreAway stops the database under load in two ways: it refuses connections, or it does not respond. Operations that
// need no store continue, all others fail soon, nothing accumulates, and the service recovers with the database. How soon
// depends on the machine too, so this is checked with -long only.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name       string
		away, back func(*postgrestest.Server) error
		half, most time.Duration // within which half of the responses have to come, and 99 of 100
	}{
		{"refusing", (*postgrestest.Server).KillHard, (*postgrestest.Server).Run, atOnce, time.Second},
		{"silent", (*postgrestest.Server).Freeze, (*postgrestest.Server).Thaw, silentFor, silentFor},
	} {
		t.Run(way.name, func(t *testing.T) {
			database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
			f := startFleet(t, 1, database.NewDatabase(t), "--watch-interval", "2s", "--metrics-listen", "127.0.0.1:0")
			replica := f.replicas[0]
			client := replica.Client(t)
			tokens := logIn(t, client)
			do(t, client, http.MethodGet, alerts, "", "Authorization", tokens.Authorization).Want(http.StatusOK)
			kinds := whileAway(tokens)
			before := footprintOf(t, replica)
			if err := way.away(database); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = database.Thaw() })
			stop := sendAll(t, replica.URL, kinds)
			time.Sleep(awayFor)
			during := footprintOf(t, replica)
			stop()
			for _, kind := range kinds {
				t.Logf("%-28s %5d responses, half within %v, 99 of 100 within %v, all within %v; other statuses %v", kind.name,
					len(kind.took), kind.at(0.5), kind.at(0.99), kind.at(1), kind.other)
				if late := kind.at(0.99) > way.most || kind.at(0.5) > way.half; len(kind.other) > 0 || *long && late {
					t.Errorf("%s: half within %v, want %v; 99 of 100 responses within %v, want %v; statuses other than %d: %v",
						kind.name, kind.at(0.5), way.half, kind.at(0.99), way.most, kind.status, kind.other)
				}
			}
			t.Logf("before: %v; in the end: %v", before, during)
			// Each client has a connection, which two or three goroutines serve.
			if during.resident > before.resident+64<<10 || during.open > before.open+4*awayClients ||
				during.goroutines > before.goroutines+6*awayClients {
				t.Errorf("something piles up: %v before, %v in the end", before, during)
			}
			back := time.Now()
			if err := way.back(database); err != nil {
				t.Fatal(err)
			}
			awaitService(t, client, tokens, back)
		})
	}
}

// whileAway lists the requests sent while the store is away, and the only right response.
func whileAway(tokens instance.Tokens) []*requestKind {
	token := []string{"Authorization", tokens.Authorization}
	kinds := []*requestKind{
		{name: "health", method: http.MethodGet, path: "/healthz", status: http.StatusOK},
		{name: "published keys", method: http.MethodGet, path: "/.well-known/jwks.json", status: http.StatusOK},
		{name: "description", method: http.MethodGet, path: "/v1/openapi.json", status: http.StatusOK},
		{name: "a token that was used before", method: http.MethodGet, path: alerts, headers: token, status: http.StatusOK},
		{name: "readiness", method: http.MethodGet, path: "/readyz", status: http.StatusServiceUnavailable},
		{name: "login", method: http.MethodPost, path: "/v1/auth",
			body: instance.Credentials(instance.Email, instance.Org, instance.Password), status: http.StatusServiceUnavailable},
		{name: "refresh", method: http.MethodGet, path: refresh + tokens.RefreshToken, status: http.StatusServiceUnavailable},
		{name: "list of registries", method: http.MethodGet, path: "/v1/registries/oci/summary", headers: token,
			status: http.StatusServiceUnavailable},
		{name: "validation", method: http.MethodPost, path: validate, body: `{"endpoint":"http://127.0.0.1:1"}`, headers: token,
			status: http.StatusServiceUnavailable},
		{name: "logout", method: http.MethodPost, path: logout, headers: token, status: http.StatusServiceUnavailable},
	}
	for _, kind := range kinds {
		kind.other = map[int]int{}
	}
	return kinds
}

// sendAll sends requests of all kinds concurrently until the returned function is called, or the test ends.
func sendAll(t *testing.T, url string, kinds []*requestKind) (stop func()) {
	stopped := make(chan struct{})
	var sending sync.WaitGroup
	for i := range awayClients {
		sending.Go(func() { // with a connection of its own: a shared transport may use one that it never did when the server closes it
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			kinds[i%len(kinds)].send(t, &http.Client{Transport: transport, Timeout: 30 * time.Second}, url, stopped)
		})
	}
	stop = sync.OnceFunc(func() {
		close(stopped)
		sending.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// footprint is what piles up when nothing is bounded.
type footprint struct{ resident, open, goroutines int }

func (f footprint) String() string {
	return fmt.Sprintf("%d KiB, %d descriptors, %d goroutines", f.resident, f.open, f.goroutines)
}

var goroutines = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

func footprintOf(t *testing.T, s *instance.Server) footprint {
	t.Helper()
	open, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(s.PID()), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	page := s.Metrics(t)
	match := goroutines.FindStringSubmatch(page)
	if match == nil {
		t.Fatalf("no count of goroutines:\n%s", page)
	}
	n, err := strconv.Atoi(match[1])
	if err != nil {
		t.Fatal(err)
	}
	return footprint{s.ResidentKiB(), len(open), n}
}

// awaitService demands that a replica serves again by itself.
func awaitService(t *testing.T, client *instance.Client, tokens instance.Tokens, back time.Time) {
	t.Helper()
	instance.Await(t, "ready after the database came back",
		func() bool { return client.Do(http.MethodGet, "/readyz", "").Status == http.StatusOK })
	if took := time.Since(back); *long && took > backWithin {
		t.Errorf("ready %v after the database came back", took)
	}
	// A connection that was begun before the database was back may fail later than one that was begun after.
	var next instance.Tokens
	instance.Await(t, "refreshed again", func() bool {
		response := client.Do(http.MethodGet, refresh+tokens.RefreshToken, "")
		if response.Status == http.StatusOK {
			next = response.Tokens()
		}
		return response.Status == http.StatusOK
	})
	instance.Await(t, "served again", func() bool {
		return client.Do(http.MethodGet, "/v1/registries/oci/summary", "", "Authorization", next.Authorization).Status == http.StatusOK
	})
	t.Logf("served again %v after the database came back", time.Since(back).Round(time.Millisecond))
}
