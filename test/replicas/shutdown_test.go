package replicas_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

// TestShutdownHandsOver ends a replica by SIGTERM during requests and scheduled checks: the requests complete, and another
// replica takes the checks at once, although their leases would last longer.
func TestShutdownHandsOver(t *testing.T) {
	t.Parallel()
	const records, slow, soon = 6, 2 * time.Second, 80 * time.Second // before the leases end, which last 90 s
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url := database.NewDatabase(t)
	f := startFleet(t, 1, url, "--watch-interval", "1h")
	hold := make(chan struct{}) // so that on a busy machine none ends before the last has begun
	registry := startWatched(t, slow, hold)
	client := f.replicas[0].Client(t)
	credential := []string{"Authorization", logIn(t, client).Authorization}
	second := instance.Start(t, f.options)
	pause(t, second) // so that the first one begins all checks, and none ends while the second one starts
	var names []string
	for i := range records {
		names = append(names, fmt.Sprintf("record-%d", i))
	}
	registry.keep(t, client, credential, names...)
	registry.awaitUnderWay(t, records)

	var asking sync.WaitGroup
	const validations = 3
	for i := range validations {
		body := instance.JSON(map[string]any{"endpoint": registry.URL, "basePath": fmt.Sprintf("/asked-%d", i),
			"auth": map[string]any{"type": "noAuth"}})
		asking.Go(func() {
			if response, err := client.Try(http.MethodPost, validate, body, credential...); err != nil ||
				response.Status != http.StatusNoContent {
				t.Errorf("a validation under way: %d %s, %v", response.Status, response.Body, err)
			}
		})
	}
	registry.awaitUnderWay(t, records+validations) // a request that has not arrived may meet a closed port
	resume(t, second)
	close(hold)
	began := time.Now()
	if code := f.replicas[0].Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, f.replicas[0].Log())
	}
	ended := time.Since(began)
	asking.Wait()
	for done := int64(0); done != records; time.Sleep(20 * time.Millisecond) {
		var err error
		if done, err = postgrestest.Number(t.Context(), url, "SELECT count(DISTINCT registry_uid) FROM registry_verdicts"); err != nil {
			t.Fatal(err)
		}
		if time.Since(began) > soon {
			t.Fatalf("only %d of %d records were checked %v after the end of the replica that had begun to", done, records, soon)
		}
	}
	t.Logf("ended in %v; all that it had begun was done by the other one %v after the signal", ended.Round(time.Millisecond),
		time.Since(began).Round(time.Millisecond))
	do(t, second.Client(t), http.MethodGet, alerts, "", credential...).Want(http.StatusOK)
}

func pause(t *testing.T, replica *instance.Server)  { t.Helper(); signal(t, replica, syscall.SIGSTOP) }
func resume(t *testing.T, replica *instance.Server) { t.Helper(); signal(t, replica, syscall.SIGCONT) }

func signal(t *testing.T, replica *instance.Server, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(replica.PID(), s); err != nil {
		t.Fatal(err)
	}
}

// awaitUnderWay waits until so many names are being visited.
func (r *watchedRegistry) awaitUnderWay(t *testing.T, names int) {
	t.Helper()
	instance.Await(t, fmt.Sprintf("%d names are being visited", names), func() bool {
		under := 0
		r.mu.Lock()
		for _, n := range r.now {
			under += min(n, 1)
		}
		r.mu.Unlock()
		return under >= names
	})
}

// nextVersion is what the migrations of a later version may do: add.
var nextVersion = []string{
	"ALTER TABLE sessions ADD COLUMN next_version TEXT NOT NULL DEFAULT 'x'",
	"ALTER TABLE registries ADD COLUMN next_version BIGINT",
	"ALTER TABLE audits ADD COLUMN next_version BIGINT",
	"CREATE TABLE next_version (id BIGINT PRIMARY KEY)",
	"CREATE INDEX sessions_next_version ON sessions (next_version)",
	"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)",
}

// TestRollingUpgrade brings the tables to a later version under load, and then ends and starts the replicas, which are of
// the version before, one after the other by SIGTERM. No client notices, but by asking again.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t, postgrestest.Options{NoSync: true})
	url := database.NewDatabase(t)
	f := startFleet(t, 3, url, "--allow-newer-database")
	l := newLoad(t, f, url)
	l.start()
	l.watch()
	l.awaitEach(t, time.Minute, everything...)
	if err := database.Exec(t.Context(), url, nextVersion...); err != nil {
		t.Fatal(err)
	}
	slow := 0
	for place, replica := range f.replicas {
		if code := replica.Stop(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d\n%s", code, replica.Log())
		}
		slow += wantNoErrors(t, replica)
		f.start(place)
		l.watch()
		l.awaitEach(t, backWithin, everything...)
	}
	l.stop()
	l.check()
	l.end()
	for _, replica := range f.replicas {
		slow += wantNoErrors(t, replica)
	}
	if l.refused > slow {
		t.Errorf("%d requests returned 503", l.refused)
	}
}

// tooSlow is what a replica logs when PostgreSQL took too long, as it does on a busy machine, without an upgrade too.
var tooSlow = regexp.MustCompile("no connection to the database within 2s: it is slow to open one more|the store did not respond within 2s")

// wantNoErrors fails a test if a replica logs an error other than tooSlow. It returns how many requests were refused for this reason.
func wantNoErrors(t *testing.T, replica *instance.Server) (slow int) {
	t.Helper()
	for line := range strings.Lines(replica.Log()) {
		switch {
		case !strings.Contains(line, "level=ERROR"):
		case !tooSlow.MatchString(line):
			t.Errorf("a replica logs an error: %s", line)
		case strings.Contains(line, "msg=request "):
			slow++
		}
	}
	return slow
}
