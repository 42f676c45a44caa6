package registries

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/queue"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// watching is a watch over registries on loopback, with a clock and one turn after the other.
type watching struct {
	keeping
	run      *watch
	t        *testing.T
	clock    time.Time
	outcomes []WatchOutcome
}

func mustWatch(t *testing.T) *watching {
	t.Helper()
	k := mustKeep(t)
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	k.checker = &regcheck.Checker{Egress: policy}
	w := &watching{keeping: k, t: t, clock: recordsStart}
	k.now = func() time.Time { return w.clock }
	w.run = &watch{k.Service, WatchConfig{Interval: 15 * time.Minute, Concurrency: 4, Observe: func(o WatchOutcome) { w.outcomes = append(w.outcomes, o) }}}
	return w
}

func (w *watching) keep(name, endpoint string) string {
	w.t.Helper()
	ask := wanted(name)
	ask.Definition.Endpoint = endpoint
	return w.mustCreate(w.t, ask)
}

func (w *watching) take() []store.Watched {
	w.t.Helper()
	rows, err := w.run.claim(w.t.Context(), []queue.Share{{OrgUID: "org-a", Count: 10}})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

func (w *watching) turn() {
	w.t.Helper()
	for _, row := range w.take() {
		w.run.checkOne(w.t.Context(), row)
	}
}

func (w *watching) status(uid string) WatchStatus {
	w.t.Helper()
	s, _, err := w.keeping.History(w.t.Context(), "org-a", uid, 0, VerdictRun{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// registry knows ada and the stored password. What it is asked it does first.
func registry(t *testing.T, first func()) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first()
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		if _, password, _ := r.BasicAuth(); password != storedPassword.Reveal() {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAPanicInOneCheckIsThatOnesAlone(t *testing.T) {
	w := mustWatch(t)
	good := registry(t, func() {})
	w.checker.Proxy = func(target *url.URL) (*url.URL, error) {
		if target.Host == "127.0.0.9:1" {
			panic("an engine's slip")
		}
		return nil, nil
	}
	bad, fine := w.keep("bad", "http://127.0.0.9:1"), w.keep("fine", good)
	w.turn()
	if slices.Sort(w.outcomes); !slices.Equal(w.outcomes, []WatchOutcome{WatchFailed, WatchValid}) {
		t.Errorf("outcomes %v", w.outcomes)
	}
	if s := w.status(fine); !s.State.Valid || s.Since.IsZero() {
		t.Errorf("the good one: %+v", s)
	}
	if s := w.status(bad); !s.Since.IsZero() || s.NextAt.Sub(w.clock) != 15*time.Minute {
		t.Errorf("the bad one: %+v", s)
	}
}

// A verdict on a definition that was replaced or deleted while it was checked is nobody's.
func TestVerdictsOnWhatIsGoneAreDropped(t *testing.T) {
	w := mustWatch(t)
	var uid string
	for name, change := range map[string]func() error{
		"replaced": func() error {
			ask := wanted("other")
			ask.Definition.Endpoint, ask.Definition.Auth.Password = "https://r.example.com", "another"
			return w.Replace(t.Context(), w.admin, audit.Origin{}, uid, ask)
		},
		"deleted": func() error { return w.Delete(t.Context(), w.admin, audit.Origin{}, uid) },
	} {
		var once sync.Once
		uid = w.keep(name, registry(t, func() {
			once.Do(func() {
				if err := change(); err != nil {
					t.Error(err)
				}
			})
		}))
		w.outcomes = nil
		rows := w.take()
		for _, row := range rows {
			if row.RegistryUID == uid {
				w.run.checkOne(t.Context(), row)
			}
		}
		if !slices.Equal(w.outcomes, []WatchOutcome{WatchDropped}) {
			t.Errorf("%s: outcomes %v", name, w.outcomes)
		}
		if name == "replaced" {
			if s := w.status(uid); !s.Since.IsZero() || s.NextAt.After(w.clock) {
				t.Errorf("what replaced it: %+v, want it due and unchecked", s)
			}
		}
	}
}

// The end of the service gives back what is under way, to be checked by the next one at once.
func TestTheEndReleasesLeases(t *testing.T) {
	w := mustWatch(t)
	ctx, cancel := context.WithCancel(t.Context())
	uid := w.keep("r", registry(t, cancel))
	rows := w.take()
	w.run.checkOne(ctx, rows[0])
	if len(w.take()) != 1 {
		t.Errorf("the lease is kept: %+v", w.status(uid))
	}
}

// Secrets that do not open are a state like others: told once, and disturbing nobody else.
func TestDamagedSecretsAreAState(t *testing.T) {
	w := mustWatch(t)
	dir := t.TempDir()
	db, _ := mustOpen(t, dir, nil)
	w.db = db
	if err := db.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.Orgs.Insert(t.Context(), store.Org{UID: "org-a", Name: "A", Canonical: "a", CreatedAt: recordsStart})
	}); err != nil {
		t.Fatal(err)
	}
	good := registry(t, func() {})
	damaged, fine := w.keep("damaged", good), w.keep("fine", good)
	raw, err := sql.Open("sqlite", filepath.Join(dir, "regwarden.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := raw.ExecContext(t.Context(), "UPDATE registry_details SET sealed = x'00' WHERE registry_uid = ?", damaged); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.turn()
		w.clock = w.clock.Add(17 * time.Minute)
	}
	if s := w.status(damaged); s.State.Code != CodeSecretUnreadable || !s.Since.Equal(recordsStart) {
		t.Errorf("the damaged one: %+v", s)
	}
	if s := w.status(fine); !s.State.Valid {
		t.Errorf("the other one: %+v", s)
	}
	if told := strings.Count(strings.Join(w.recorded(t), "\n"), "registry.watch"); told != 1 {
		t.Errorf("told %d times, want once", told)
	}
}

// Checks of many that began together come apart, a failure that may pass is looked at within a minute, and one that
// stays is asked less often.
func TestWhenTheNextCheckIs(t *testing.T) {
	w := mustWatch(t)
	for range 1000 {
		for _, tt := range []struct {
			d        decision
			first    bool
			from, to time.Duration
		}{
			{decision{confirm: true, backOff: 1}, false, time.Minute, time.Minute},
			{decision{backOff: 1}, false, 13*time.Minute + 30*time.Second, 16*time.Minute + 30*time.Second},
			{decision{backOff: 4}, false, 54 * time.Minute, 66 * time.Minute},
			{decision{backOff: 1}, true, 90 * time.Second, 16*time.Minute + 30*time.Second},
		} {
			if wait := w.run.next(tt.d, tt.first, w.clock).Sub(w.clock); wait < tt.from || wait > tt.to {
				t.Fatalf("%+v: %v, want from %v to %v", tt.d, wait, tt.from, tt.to)
			}
		}
	}
}
