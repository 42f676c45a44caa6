package replicas_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// TestOutage takes the database away under load, in the middle of logins, refreshes, imports and checks: it is shut down, it stops
// responding (SIGSTOP), or all its processes are killed. It comes back as it was. Each response until then is 503 or right; afterward
// the service returns by itself, and everything that was acknowledged is in the store, once.
func TestOutage(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{NoSync: !*long})
	url := database.NewDatabase(t)
	f := startFleet(t, 2, url)
	l := newLoad(t, f, url)
	l.imports = &imports{retryingClient: l.checks.retryingClient, credential: l.checks.credential}
	l.clients = append(l.clients, l.imports)
	kinds := append(slices.Clone(everything), importing)
	ways := []struct {
		name       string
		away, back func() error
		lasts      time.Duration
	}{
		{"stopped", database.Stop, database.Run, 2 * time.Second},
		{"paused", database.Freeze, database.Thaw, 7 * time.Second}, // longer than a transaction may take
		{"killed", database.KillHard, database.Run, 2 * time.Second},
		{"paused briefly", database.Freeze, database.Thaw, time.Second},
	}
	t.Cleanup(func() { _ = database.Thaw() }) // so that it can be ended, whatever happens
	for round := range rounds(len(ways)) {
		way := ways[round%len(ways)]
		l.start()
		l.watch()
		l.awaitEach(t, time.Minute, kinds...)
		time.Sleep(warmUp)
		if err := way.away(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(way.lasts)
		if err := way.back(); err != nil {
			t.Fatal(err)
		}
		l.watch()
		served := l.awaitEach(t, backWithin, kinds...)
		time.Sleep(warmUp)
		l.stop()
		t.Logf("round %d: %s for %v; every kind of request was served %v after the database accepted connections",
			round+1, way.name, way.lasts, served.Round(time.Millisecond))
		if l.check(); t.Failed() {
			t.FailNow()
		}
	}
	l.checkSessions()
	l.end()
}

// checkSessions compares the number of sessions with that of acknowledged logins. A login whose response was 503 may have a session too,
// whose tokens no one has: the outcome of a commit is unknown when its response is lost.
func (l *load) checkSessions() {
	l.t.Helper()
	sessions, err := postgrestest.Number(l.t.Context(), l.url, "SELECT count(*) FROM sessions")
	logins, repeated := int64(l.acknowledgements[loggingIn]), int64(l.refusedLogins)
	l.t.Logf("%d sessions after %d acknowledged logins and %d that were not", sessions, logins, repeated)
	if err != nil || sessions < logins || sessions > logins+repeated {
		l.t.Errorf("%d sessions, %v", sessions, err)
	}
}

// imports stores several definitions with each request. A request whose outcome is unknown, or that failed in the middle, is repeated, and
// finds what was stored before.
type imports struct {
	retryingClient
	credential []string
	requests   int64
}

const perImport = 12 // definitions

func (i *imports) run(stop <-chan struct{}) {
	for going(stop) && i.store() {
	}
}

func (i *imports) store() bool {
	i.requests++
	definitions := make([]string, perImport)
	for n := range definitions {
		path := fmt.Sprintf("import/%d/%d", i.requests, n)
		definitions[n] = instance.JSON(map[string]any{"endpoint": "http://127.0.0.1:1", "baseContentPath": path,
			"auth": map[string]any{"type": "noAuth"}})
	}
	body := `{"items":[` + strings.Join(definitions, ",") + `]}`
	for first := true; ; first = false {
		response, again, ok := i.settle(importing, http.MethodPost, registriesPath+"/import", body, i.credential...)
		if !ok {
			return false
		}
		complete, good := i.results(response, first && !again)
		if complete {
			i.acknowledged(importing)
		}
		if complete || !good {
			return good
		}
	}
}

// results reports whether all definitions are stored, and whether each has a right result.
func (i *imports) results(response instance.Response, first bool) (complete, good bool) {
	var list struct {
		Items []struct{ Result, Name string }
	}
	if response.Status != http.StatusOK {
		i.complain("%s: returned %d %s", importing, response.Status, response.Body)
		return false, false
	}
	response.Into(&list)
	for n, item := range list.Items {
		switch {
		case item.Result == "stored", item.Result == "exists" && !first:
		case item.Result == "failed" && n == len(list.Items)-1: // the database went away in the middle
			i.repeated(importing, true)
			return false, true
		default:
			i.complain("%s: definition %d of %s is %s", importing, n, response.Body, item.Result)
			return false, false
		}
	}
	return len(list.Items) == perImport, true
}

// count returns how many registries are stored.
func (i *imports) count() int64 {
	if i == nil {
		return 0
	}
	return i.requests * perImport
}
