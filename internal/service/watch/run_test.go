package watch

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/queue"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// postgres runs PostgreSQL for the tests that need it.
var postgres = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}}

func TestMain(m *testing.M) {
	postgres.Tests = m
	os.Exit(postgres.Run())
}

// fixture runs the scheduled checks of a server on demand.
type fixture struct {
	registriestest.Fixture
	*runner
	t        *testing.T
	stored   *registries.Service
	clock    time.Time
	outcomes []Outcome
}

// newFixture returns a service whose users may have four registries contacted a minute.
func newFixture(t *testing.T, f registriestest.Fixture, checker *regcheck.Checker) *fixture {
	w := &fixture{Fixture: f, t: t, clock: registriestest.Start}
	now := func() time.Time { return w.clock }
	w.stored = registries.New(f.DB, registries.Limits{ContactsPerMinute: 4}, now)
	w.runner = &runner{New(f.DB, w.stored, checker, now), Config{Interval: 15 * time.Minute, Concurrency: 4,
		Observe: func(o Outcome) { w.outcomes = append(w.outcomes, o) }}}
	return w
}

// mustWatch returns a service that may check registries on loopback.
func mustWatch(t *testing.T) *fixture {
	t.Helper()
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	return newFixture(t, registriestest.New(t, nil), &regcheck.Checker{Egress: policy})
}

func input(name string) registries.RegistryInput {
	return registries.RegistryInput{Name: name, Definition: registriestest.Definition()}
}

func (w *fixture) mustCreate(input registries.RegistryInput) string {
	w.t.Helper()
	uid, err := w.stored.Create(w.t.Context(), w.Admin, audit.Origin{}, input)
	if err != nil {
		w.t.Fatal(err)
	}
	return uid
}

func (w *fixture) create(name, endpoint string) string {
	w.t.Helper()
	created := input(name)
	created.Definition.Endpoint = endpoint
	return w.mustCreate(created)
}

// claimDue claims the registries that are due.
func (w *fixture) claimDue() []store.Watched {
	w.t.Helper()
	rows, err := w.claim(w.t.Context(), []queue.Share{{OrgUID: "org-a", Count: 10}})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

func (w *fixture) write(change func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.DB.InTx(w.t.Context(), change); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fixture) mustClaim(want int) []store.Watched {
	w.t.Helper()
	rows := w.claimDue()
	if len(rows) != want {
		w.t.Fatalf("%d registries are due, want %d", len(rows), want)
	}
	return rows
}

func (w *fixture) checkAll(rows []store.Watched) {
	for _, row := range rows {
		w.check(w.t.Context(), row)
	}
}

func (w *fixture) status(uid string) HealthStatus {
	w.t.Helper()
	s, _, err := w.History(w.t.Context(), w.Admin, uid, 0, HistoryEntry{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// registry accepts ada and the stored password. It calls first on each request.
func registry(t *testing.T, first func()) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first()
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		if _, password, _ := r.BasicAuth(); password != registriestest.Password.Reveal() {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A check reports how late it begins, not how much of its lease is left.
func TestCheckReportsHowLateItBegins(t *testing.T) {
	eachDatabase(t, func(t *testing.T, w *fixture) {
		var late []time.Duration
		w.ObserveLatency = func(d time.Duration) { late = append(late, d) }
		w.createForbidden()
		w.clock = w.clock.Add(10 * time.Second)
		w.checkAll(w.mustClaim(1))
		if !slices.Equal(late, []time.Duration{10 * time.Second}) {
			t.Errorf("late by %v, want 10 s", late)
		}
	})
}

func TestPanicEndsOneCheckOnly(t *testing.T) {
	w := mustWatch(t)
	good := registry(t, func() {})
	w.checker.Proxy = func(target *url.URL) (*url.URL, error) {
		if target.Host == "127.0.0.9:1" {
			panic("panic of the test")
		}
		return nil, nil
	}
	bad, fine := w.create("bad", "http://127.0.0.9:1"), w.create("fine", good)
	w.checkAll(w.claimDue())
	if slices.Sort(w.outcomes); !slices.Equal(w.outcomes, []Outcome{Failed, Valid}) {
		t.Errorf("outcomes %v", w.outcomes)
	}
	if s := w.status(fine); !s.State.Valid || s.Since.IsZero() {
		t.Errorf("the other registry: %+v", s)
	}
	if s := w.status(bad); !s.Since.IsZero() || s.NextAt.Sub(w.clock) != 15*time.Minute {
		t.Errorf("the registry whose check panicked: %+v", s)
	}
}

// The result for a definition that was replaced or deleted during the check is dropped.
func TestResultsForOldDefinitionsAreDropped(t *testing.T) {
	w := mustWatch(t)
	var uid string
	for name, change := range map[string]func() error{
		"replaced": func() error {
			other := input("other")
			other.Definition.Auth.Password = "another"
			return w.stored.Replace(t.Context(), w.Admin, audit.Origin{}, uid, other)
		},
		"deleted": func() error { return w.stored.Delete(t.Context(), w.Admin, audit.Origin{}, uid) },
	} {
		var once sync.Once
		uid = w.create(name, registry(t, func() {
			once.Do(func() {
				if err := change(); err != nil {
					t.Error(err)
				}
			})
		}))
		w.outcomes = nil
		rows := w.claimDue()
		for _, row := range rows {
			if row.RegistryUID == uid {
				w.check(t.Context(), row)
			}
		}
		if !slices.Equal(w.outcomes, []Outcome{Dropped}) {
			t.Errorf("%s: outcomes %v", name, w.outcomes)
		}
		if name == "replaced" {
			if s := w.status(uid); !s.Since.IsZero() || s.NextAt.After(w.clock) {
				t.Errorf("the new definition: %+v, want it due and unchecked", s)
			}
		}
	}
}

// When the service ends, it releases the registries of running checks, so that they are due at once.
func TestShutdownReleasesLeases(t *testing.T) {
	w := mustWatch(t)
	ctx, cancel := context.WithCancel(t.Context())
	uid := w.create("r", registry(t, cancel))
	rows := w.claimDue()
	w.check(ctx, rows[0])
	if len(w.claimDue()) != 1 {
		t.Errorf("the lease is not released: %+v", w.status(uid))
	}
}

// A check that the store prevented, such as the confirmation of a failure, is not postponed by an interval.
func TestUnavailableStoreDelaysChecksBriefly(t *testing.T) {
	w := mustWatch(t)
	uid := w.createForbidden()
	away := registriestest.New(t, nil)
	if err := away.DB.Close(); err != nil {
		t.Fatal(err)
	}
	for interval, want := range map[time.Duration]time.Duration{24 * time.Hour: 90 * time.Second, time.Minute: time.Minute} {
		w.Interval = interval
		w.registries = registries.New(away.DB, registries.Limits{}, w.now)
		w.checkAll(w.mustClaim(1))
		w.registries = w.stored
		if wait := w.status(uid).NextAt.Sub(w.clock); wait != want {
			t.Errorf("of an interval of %v: due in %v, want %v", interval, wait, want)
		}
		w.clock = w.clock.Add(want)
	}
	if w.checkAll(w.mustClaim(1)); !slices.Equal(w.outcomes, []Outcome{Failed, Failed, NotValid}) {
		t.Errorf("outcomes %v", w.outcomes)
	}
}

// Secrets that cannot be decrypted are a health status: recorded once, and without effect on other registries.
func TestDamagedSecretsAreAStatus(t *testing.T) {
	w := mustWatch(t)
	good := registry(t, func() {})
	damaged, fine := w.create("damaged", good), w.create("fine", good)
	raw, err := sql.Open("sqlite", filepath.Join(w.Dir, "regwarden.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := raw.ExecContext(t.Context(), "UPDATE registry_details SET sealed = x'00' WHERE registry_uid = ?", damaged); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.checkAll(w.claimDue())
		w.clock = w.clock.Add(17 * time.Minute)
	}
	if s := w.status(damaged); s.State.Code != registries.CodeSecretUnreadable || !s.Since.Equal(registriestest.Start) {
		t.Errorf("the damaged registry: %+v", s)
	}
	if s := w.status(fine); !s.State.Valid {
		t.Errorf("the other registry: %+v", s)
	}
	if records := strings.Count(strings.Join(w.AuditRecords(t), "\n"), "registry.watch"); records != 1 {
		t.Errorf("%d audit records, want 1", records)
	}
}

// Checks that began together are spread, a transient failure is rechecked within a minute, and a registry that stays unreachable is
// checked less often.
func TestNextCheck(t *testing.T) {
	w := mustWatch(t)
	for range 1000 {
		for _, tt := range []struct {
			d        decision
			first    bool
			from, to time.Duration
		}{
			{decision{confirm: true, backoff: 1}, false, time.Minute, time.Minute},
			{decision{backoff: 1}, false, 13*time.Minute + 30*time.Second, 16*time.Minute + 30*time.Second},
			{decision{backoff: 4}, false, 54 * time.Minute, 66 * time.Minute},
			{decision{backoff: 1}, true, 90 * time.Second, 16*time.Minute + 30*time.Second},
		} {
			if wait := w.next(tt.d, tt.first, w.clock).Sub(w.clock); wait < tt.from || wait > tt.to {
				t.Fatalf("%+v: %v, want from %v to %v", tt.d, wait, tt.from, tt.to)
			}
		}
	}
}
