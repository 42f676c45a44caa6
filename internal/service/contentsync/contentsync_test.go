package contentsync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/queue"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/inventory"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// postgres runs PostgreSQL for the tests that need it.
var postgres = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}}

func TestMain(m *testing.M) {
	postgres.Tests = m
	os.Exit(postgres.Run())
}

// fixture is a service on a real store.
type fixture struct {
	registriestest.Fixture
	*Service
	stored *registries.Service
}

func newFixture(f registriestest.Fixture, limits registries.Limits, checker *regcheck.Checker, now func() time.Time) fixture {
	stored := registries.New(f.DB, limits, now)
	return fixture{f, New(f.DB, stored, checker, now), stored}
}

// mustSync returns a service and a test registry of regchecktest.
func mustSync(t *testing.T, server string) (fixture, *regchecktest.Registry) {
	t.Helper()
	g := regchecktest.Start(t, server)
	return newFixture(registriestest.New(t, nil), registries.Limits{},
		&regcheck.Checker{Resolver: g, Dialer: g, Roots: g.Roots()}, time.Now), g
}

func input(name string) registries.RegistryInput {
	return registries.RegistryInput{Name: name, SyncSupported: true, Definition: registriestest.Definition()}
}

func charts(g *regchecktest.Registry) registries.RegistryInput {
	w := input("charts")
	w.Definition.Endpoint, w.Definition.BaseContentPath = g.Endpoint, "charts"
	w.Definition.Auth.Username, w.Definition.Auth.Password = regchecktest.User, regchecktest.Password
	return w
}

func (k fixture) mustCreate(t *testing.T, w registries.RegistryInput) string {
	t.Helper()
	uid, err := k.stored.Create(t.Context(), k.Admin, audit.Origin{}, w)
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

func (k fixture) status(t *testing.T, uid string) Status {
	t.Helper()
	s, err := k.Status(t.Context(), k.Member, uid)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (k fixture) sync(t *testing.T, uid string) store.RegistrySync {
	t.Helper()
	s, err := store.Read(t.Context(), k.DB, func(tx *store.Tx) (store.RegistrySync, error) {
		return tx.Syncs.Get(t.Context(), k.Admin.OrgUID, uid)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs synchronizations until the test ends, or stop is called.
func (k fixture) run(t *testing.T, config Config) (stop func()) {
	t.Helper()
	config.Log = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx, config)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func (k fixture) waitFor(t *testing.T, uid string, is func(Status) bool) Status {
	t.Helper()
	deadline, limited := t.Deadline()
	for {
		s := k.status(t, uid)
		if is(s) {
			return s
		}
		if limited && time.Until(deadline) < 10*time.Second { // of the test binary; there is no other time limit
			t.Fatalf("it stays at %+v", s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func ended(s Status) bool { return s.Status == store.SyncSuccess || s.Status == store.SyncFailed }

func (k fixture) mustContent(t *testing.T, uid string, q Query) Page {
	t.Helper()
	page, err := k.List(t.Context(), k.Member, uid, q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func namesOf(items []Content) (names []string) {
	for _, c := range items {
		names = append(names, strings.TrimRight(fmt.Sprintf("%s:%s=%s", c.Repository, c.Tag, c.Kind), "=:"))
	}
	return names
}

// A registry is synchronized soon after it was stored, and its content is listed in pages.
func TestSyncAfterCreation(t *testing.T) {
	k, g := mustSync(t, "bearer")
	uid := k.mustCreate(t, charts(g))
	before := k.status(t, uid)
	if before.Status != store.SyncPending || !before.Supported || !before.LastRunAt.IsZero() {
		t.Errorf("before: %+v", before)
	}
	k.run(t, Config{Every: time.Hour})
	s := k.waitFor(t, uid, ended)
	if s.Status != store.SyncSuccess || s.Message != "3 repositories with 6 tags." || s.LastRunAt.IsZero() ||
		s.LastEndedAt.Before(s.LastRunAt) {
		t.Errorf("after: %+v", s)
	}
	page := k.mustContent(t, uid, Query{})
	want := []string{"charts/nginx:1.2.3=helm", "charts/nginx:1.3.0_build.7=helm", "charts/redis:1.2.3=helm",
		"charts/redis:1.3.0_build.7=helm",
		"charts/team/web:1.2.3=helm", "charts/team/web:1.3.0_build.7=helm"}
	if diff := cmp.Diff(want, namesOf(page.Items)); diff != "" || page.Count != 6 || page.Continue != "" ||
		page.Sync.Status != store.SyncSuccess {
		t.Errorf("%s %+v", diff, page)
	}
	var pages []string
	q := Query{Request: paging.Request{Limit: 4}}
	for range 3 {
		page := k.mustContent(t, uid, q)
		pages = append(pages, fmt.Sprint(len(page.Items), page.Offset))
		want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(namesOf(page.Items), name) })
		if q.Continue = page.Continue; q.Continue == "" {
			break
		}
	}
	if fmt.Sprint(pages) != "[4 4 2 6]" || len(want) > 0 {
		t.Errorf("pages %v, missing %v", pages, want)
	}
	status := k.status(t, uid)
	if status.Repositories != 3 || status.Tags != 6 {
		t.Errorf("%d repositories, %d tags", status.Repositories, status.Tags)
	}
	status.Repositories, status.Tags = 0, 0 // not in lists
	list, _, err := k.stored.List(t.Context(), k.Member, registries.Summary{}, nil)
	if err != nil || len(list) != 1 || StatusOf(list[0].SyncSupported, list[0].Sync) != status {
		t.Errorf("%+v %v", list, err)
	}
}

// Requests need a permission and are audited, and the status has the words that clients expect.
func TestSyncRequest(t *testing.T) {
	k, g := mustSync(t, "htpasswd")
	w := charts(g)
	w.SkipSync = true
	uid := k.mustCreate(t, w)
	w.Name, w.SyncSupported = "off", false
	off := k.mustCreate(t, w)
	k.run(t, Config{Every: 24 * time.Hour})
	if s := k.status(t, off); s.Supported || s.Status != "" {
		t.Errorf("disabled: %+v", s)
	}
	time.Sleep(1500 * time.Millisecond)
	if s := k.status(t, uid); s.Status != store.SyncPending || s.Message != neverRequested {
		t.Errorf("skipped: %+v", s)
	}
	origin := audit.Origin{}
	for name, row := range map[string]struct {
		err  error
		kind fault.Kind
	}{
		"member":      {k.Request(t.Context(), k.Member, origin, uid), fault.Forbidden},
		"another org": {k.Request(t.Context(), k.OtherAdmin, origin, uid), fault.NotFound},
		"a name":      {k.Request(t.Context(), k.Admin, origin, "charts"), fault.NotFound},
		"disabled":    {k.Request(t.Context(), k.Admin, origin, off), fault.Invalid},
	} {
		if fault.KindOf(row.err) != row.kind {
			t.Errorf("%s: %v", name, row.err)
		}
	}
	if err := k.Request(t.Context(), k.Admin, origin, uid); err != nil {
		t.Fatal(err)
	}
	if s := k.waitFor(t, uid, ended); s.Status != store.SyncSuccess {
		t.Errorf("requested: %+v", s)
	}
	before := k.sync(t, uid)
	if err := k.stored.Change(t.Context(), k.Admin, origin, uid, func(r *registries.RegistryInput) {
		r.Labels, r.SkipSync = map[string]string{"team": "a"}, true
	}); err != nil {
		t.Fatal(err)
	}
	if after := k.sync(t, uid); after.Status != store.SyncSuccess || !after.NextAt.Equal(before.NextAt) || after.NextAt.IsZero() {
		t.Errorf("after other labels: %+v, before %+v", after, before)
	}
	record := strings.Join(k.AuditRecords(t), "\n")
	if strings.Count(record, "registry.sync succeeded by admin@a") != 1 || strings.Count(record, "registry.sync refused by member@a") != 1 {
		t.Error(record)
	}
	for _, q := range []Query{{Request: paging.Request{Limit: -1}}, {Request: paging.Request{Limit: paging.MaxLimit + 1}},
		{Request: paging.Request{Continue: "?"}}, {Request: paging.Request{Continue: "eA"}}, {Repository: "\xff"}, {Repository: "a\x00"}} {
		if _, err := k.List(t.Context(), k.Admin, uid, q); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, err := k.List(t.Context(), k.OtherAdmin, uid, Query{}); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// The synchronization of a registry that is not valid fails with its code and hint. The content stored before stays.
func TestSyncOfInvalidRegistry(t *testing.T) {
	k, g := mustSync(t, "htpasswd")
	w := charts(g)
	uid := k.mustCreate(t, w)
	k.run(t, Config{Every: time.Hour})
	k.waitFor(t, uid, ended)
	w.Definition.Auth.Password = secret.String(regchecktest.WrongPassword)
	if err := k.stored.Replace(t.Context(), k.Admin, audit.Origin{}, uid, w); err != nil {
		t.Fatal(err)
	}
	s := k.waitFor(t, uid, func(s Status) bool { return s.Status == store.SyncFailed })
	if !strings.HasPrefix(s.Message, "RegistryAuthFailed: ") || strings.Contains(s.Message, regchecktest.WrongPassword) {
		t.Errorf("%+v", s)
	}
	if page := k.mustContent(t, uid, Query{}); page.Count != 6 || page.Sync.Status != store.SyncFailed {
		t.Errorf("%+v", page)
	}
	w.SyncSupported = false
	if err := k.stored.Replace(t.Context(), k.Admin, audit.Origin{}, uid, w); err != nil {
		t.Fatal(err)
	}
	if page := k.mustContent(t, uid, Query{}); page.Count != 0 || page.Sync.Supported {
		t.Errorf("disabled: %+v", page)
	}
}

// When a process ends, the next one resumes its synchronizations without reading finished repositories again.
func TestSyncIsResumed(t *testing.T) {
	k, g := mustSync(t, "listing-held")
	uid := k.mustCreate(t, charts(g))
	stop := k.run(t, Config{})
	k.waitFor(t, uid, func(s Status) bool { return strings.HasPrefix(s.Message, "1 repository so far") })
	stop()
	asked := requestsFor(g, "/v2/charts/nginx/manifests/1.2.3")
	if s := k.status(t, uid); s.Status != store.SyncInProgress {
		t.Errorf("interrupted: %+v", s)
	}
	if page := k.mustContent(t, uid, Query{}); page.Count != 0 {
		t.Errorf("partial content is listed: %+v", page)
	}
	g.Release()
	k.run(t, Config{})
	if s := k.waitFor(t, uid, ended); s.Status != store.SyncSuccess || s.Message != "3 repositories with 6 tags." {
		t.Errorf("%+v", s)
	}
	if again := requestsFor(g, "/v2/charts/nginx/manifests/1.2.3"); asked == 0 || again != asked {
		t.Errorf("charts/nginx:1.2.3 was requested %d times, then %d", asked, again)
	}
	if page := k.mustContent(t, uid, Query{}); page.Count != 6 {
		t.Errorf("%+v", page)
	}
}

// The content found with a definition that was replaced during the synchronization is dropped. The synchronization of a deleted
// definition leaves no rows and no errors.
func TestSyncOfChangedDefinition(t *testing.T) {
	k, g := mustSync(t, "listing-held")
	w := charts(g)
	replaced := k.mustCreate(t, w)
	w.Name = "deleted"
	deleted := k.mustCreate(t, w)
	k.run(t, Config{})
	for _, uid := range []string{replaced, deleted} {
		k.waitFor(t, uid, func(s Status) bool { return strings.HasPrefix(s.Message, "1 repository so far") })
	}
	w.Name, w.Definition.BaseContentPath = "replaced", "charts/team"
	if err := errors.Join(k.stored.Replace(t.Context(), k.Admin, audit.Origin{}, replaced, w),
		k.stored.Delete(t.Context(), k.Admin, audit.Origin{}, deleted)); err != nil {
		t.Fatal(err)
	}
	g.Release()
	if s := k.waitFor(t, replaced, ended); s.Message != "1 repository with 2 tags." {
		t.Errorf("%+v", s)
	}
	if names := namesOf(k.mustContent(t, replaced, Query{}).Items); len(names) != 2 || !strings.HasPrefix(names[0], "charts/team/web") {
		t.Errorf("%v", names)
	}
	if _, err := k.Status(t.Context(), k.Admin, deleted); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

func requestsFor(g *regchecktest.Registry, path string) (n int) {
	for _, r := range g.Requests() {
		if strings.HasPrefix(r.Target, path) {
			n++
		}
	}
	return n
}

// A synchronization of content that cannot be listed succeeds with a message, and a pause is reported as such.
func TestSyncReportsMissingContent(t *testing.T) {
	for server, want := range map[string]string{"dockerhub": "Only charts/nginx is listed", "listing-limits-long": "Paused for 1h0m0s"} {
		k, g := mustSync(t, server)
		w := charts(g)
		w.Definition.BaseContentPath = "charts/nginx"
		if server == "listing-limits-long" {
			w.Definition.BaseContentPath = "charts"
		}
		uid := k.mustCreate(t, w)
		k.run(t, Config{})
		k.waitFor(t, uid, func(s Status) bool { return strings.Contains(s.Message, want) })
	}
}

// A run is given up after eight pauses without progress. Failures of runs before, such as of an outage, do not count.
func TestPausesOfARunAreCounted(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		clock := f.Now()
		k := newFixture(f, registries.Limits{}, &regcheck.Checker{}, func() time.Time { return clock })
		uid := k.mustCreate(t, input("charts"))
		r := &runner{Service: k.Service, Config: Config{Every: 24 * time.Hour}}
		next := func(end func(*run) error) store.RegistrySync {
			t.Helper()
			clock = clock.Add(25 * time.Hour)
			rows, err := r.claim(t.Context(), []queue.Share{{OrgUID: "org-a", Count: 1}})
			if err != nil || len(rows) != 1 {
				t.Fatal(rows, err)
			}
			if err := end(&run{runner: r, at: rows[0], began: rows[0].ResumeAfter}); err != nil {
				t.Fatal(err)
			}
			return k.sync(t, uid)
		}
		pause := func(s *run) error {
			return s.pause(t.Context(), &inventory.Inventory{Stopped: "limited", RetryAfter: 2 * time.Minute})
		}
		for range maxPauses {
			next(func(s *run) error { return s.fail(t.Context(), s.afterFailure(true), "away") })
		}
		for _, wait := range []string{"2m0s", "2m0s", "2m0s", "2m0s", "4m0s", "8m0s", "16m0s", "32m0s"} {
			if s := next(pause); s.Message != "Paused for "+wait+": limited" {
				t.Errorf("%+v, want a pause of %s", s, wait)
			}
		}
		if s := next(pause); s.Status != store.SyncFailed || s.Message != "Given up after 8 attempts: limited" {
			t.Errorf("after eight pauses: %+v", s)
		}
		request := func() {
			if err := k.Request(t.Context(), k.Admin, audit.Origin{}, uid); err != nil {
				t.Fatal(err)
			}
		}
		for _, wait := range []string{"2m0s", "2m0s", "2m0s", "2m0s", "4m0s"} { // requests after a pause
			if s := next(pause); s.Message != "Paused for "+wait+": limited" {
				t.Errorf("of the next run: %+v, want a pause of %s", s, wait)
			}
			clock = clock.Add(time.Hour)
			request()
		}
		for range 2 * maxPauses {
			if s := next(pause); s.Message != "Paused for 8m0s: limited" {
				t.Errorf("after a request in the pause: %+v", s)
			}
			request()
		}
	})
}
