package contentsync

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/queue"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

func mustNew(t *testing.T, server *postgrestest.Server) fixture {
	t.Helper()
	return newFixture(registriestest.New(t, server), registries.Limits{}, &regcheck.Checker{}, time.Now)
}

// anyRepository returns an input for a registry that has a tag in every repository, and counts its checks.
func anyRepository(t *testing.T, k fixture, path string) (registries.RegistryInput, *atomic.Int32) {
	t.Helper()
	local, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	k.checker = &regcheck.Checker{Egress: local}
	checks := &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("Content-Type", "application/json")
		name, isList := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v2/"), "/tags/list")
		switch {
		case r.URL.Path == "/v2/":
			checks.Add(1)
			_, _ = w.Write([]byte("{}"))
		case isList:
			_, _ = fmt.Fprintf(w, `{"name":%q,"tags":["a"]}`, name)
		case strings.Contains(r.URL.Path, "/manifests/"):
			_, _ = w.Write([]byte(`{"schemaVersion":2}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"errors":[{"code":"NAME_UNKNOWN"}]}`))
		}
	}))
	t.Cleanup(server.Close)
	return registries.RegistryInput{Name: "x", SyncSupported: true,
		Definition: regcheck.Definition{Endpoint: server.URL, BaseContentPath: path, Auth: &regcheck.Auth{Type: regcheck.NoAuth}}}, checks
}

// A path that cannot be a repository name is not stored, whatever the registry returns: PostgreSQL could not store it.
func TestSyncOfAnInvalidRepositoryName(t *testing.T) {
	sqlite := func(testing.TB) *postgrestest.Server { return nil }
	for name, server := range map[string]func(testing.TB) *postgrestest.Server{"SQLite": sqlite, "PostgreSQL": postgres.Server} {
		t.Run(name, func(t *testing.T) {
			k := mustNew(t, server(t))
			var path strings.Builder
			for path.Len() < 4000 {
				path.WriteString(strings.ReplaceAll(uuid.NewString(), "-", ""))
			}
			w, _ := anyRepository(t, k, path.String())
			uid := k.mustCreate(t, w)
			k.run(t, Config{})
			s := k.waitFor(t, uid, ended)
			if s.Status != store.SyncSuccess || !strings.Contains(s.Message, "is not a valid repository name") ||
				k.mustContent(t, uid, Query{}).Count != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Versions of charts that are longer than a tag may be are left out, and charts are listed whatever characters they have.
func TestSyncOfChartsWithLongNames(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		g := regchecktest.Start(t, "charts-long-names")
		k := newFixture(f, registries.Limits{}, &regcheck.Checker{Resolver: g, Dialer: g, Roots: g.Roots()}, time.Now)
		w := input("charts")
		w.Definition = regcheck.Definition{Kind: regcheck.KindChartRepository, Endpoint: g.Endpoint,
			Auth: &regcheck.Auth{Type: regcheck.NoAuth}}
		uid := k.mustCreate(t, w)
		r := &runner{Service: k.Service, Config: Config{OrgContents: 9, Log: slog.New(slog.DiscardHandler)}}
		r.workOnAll(t)
		if s := k.status(t, uid); s.Status != store.SyncSuccess || !strings.HasPrefix(s.Message, "2 repositories with 2 tags. Omitted ") {
			t.Errorf("%+v", s)
		}
		if names := namesOf(k.mustContent(t, uid, Query{}).Items); len(names) != 2 || names[0] != "nginx:1.2.3=helm" {
			t.Errorf("%q", names)
		}
	})
}

// A synchronization whose content the store refuses fails, and is not retried at once.
func TestSyncThatCannotBeStored(t *testing.T) {
	k := mustNew(t, nil)
	raw, err := sql.Open("sqlite", filepath.Join(k.Dir, "regwarden.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := raw.ExecContext(t.Context(),
		`CREATE TRIGGER poison BEFORE INSERT ON registry_contents BEGIN SELECT RAISE(ABORT, 'poisoned'); END`); err != nil {
		t.Fatal(err)
	}
	w, checks := anyRepository(t, k, "charts")
	uid := k.mustCreate(t, w)
	var log bytes.Buffer
	r := &runner{Service: k.Service, Config: Config{Every: time.Hour, OrgContents: 9, Log: slog.New(slog.NewTextHandler(&log, nil))}}
	for _, wait := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute} {
		before := checks.Load()
		r.workOnAll(t)
		s := k.syncRow(t, uid)
		if s.Status != store.SyncFailed || !strings.Contains(s.Message, "Internal error of the service") ||
			s.NextAt.Sub(k.now()).Round(time.Minute) != wait {
			t.Errorf("%+v, due in %s, want %s", s, s.NextAt.Sub(k.now()), wait)
		}
		if checks.Load() == before || !strings.Contains(log.String(), "poisoned") {
			t.Errorf("%d checks; log %s", checks.Load(), log.String())
		}
		k.now = func() time.Time { return s.NextAt.Add(time.Second) }
	}
}

// workOnAll runs all due synchronizations one after the other.
func (r *runner) workOnAll(t *testing.T) {
	t.Helper()
	for _, org := range []string{"org-a", "org-b"} {
		taken, err := r.claim(t.Context(), []queue.Share{{OrgUID: org, Count: 9}})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range taken {
			r.work(t.Context(), row)
		}
	}
}

func (k fixture) syncRow(t *testing.T, uid string) (row store.RegistrySync) {
	t.Helper()
	err := k.DB.View(t.Context(), func(tx *store.Tx) (err error) {
		row, err = tx.Syncs.Get(t.Context(), "org-a", uid)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// rowsStored counts all content of an organization, listed or not.
func (k fixture) rowsStored(t *testing.T, orgUID string) (n int64) {
	t.Helper()
	err := k.DB.View(t.Context(), func(tx *store.Tx) (err error) {
		n, err = tx.Contents.CountOthers(t.Context(), store.RegistrySync{OrgUID: orgUID})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The limit applies to all registries of an organization together. A registry that is listed again may have as many tags as before.
func TestSyncIsLimitedPerOrganization(t *testing.T) {
	k, g := mustSync(t, "bearer")
	r := &runner{Service: k.Service, Config: Config{OrgContents: 10, Log: slog.New(slog.DiscardHandler)}}
	const rest = "The list is incomplete: the organization has reached its limit of 10 stored tags."
	var uids []string
	for _, want := range []string{"3 repositories with 6 tags.", "2 repositories with 4 tags. " + rest,
		"0 repositories with 0 tags. " + rest} {
		w := charts(g)
		w.Name = want
		uid := k.mustCreate(t, w)
		uids = append(uids, uid)
		r.workOnAll(t)
		if s := k.status(t, uid); s.Status != store.SyncSuccess || s.Message != want {
			t.Errorf("%+v, want %s", s, want)
		}
	}
	for range 2 {
		if err := k.Request(t.Context(), k.Admin, audit.Origin{}, uids[0]); err != nil {
			t.Fatal(err)
		}
		r.workOnAll(t)
		if s := k.status(t, uids[0]); s.Message != "3 repositories with 6 tags." {
			t.Errorf("again: %+v", s)
		}
	}
	if _, err := k.stored.Create(t.Context(), k.OtherAdmin, audit.Origin{}, charts(g)); err != nil {
		t.Fatal(err)
	}
	r.workOnAll(t)
	if n := k.rowsStored(t, "org-b"); n != 6 {
		t.Errorf("another organization has %d tags, want 6", n)
	}
	if err := k.stored.Delete(t.Context(), k.Admin, audit.Origin{}, uids[0]); err != nil {
		t.Fatal(err)
	}
	if err := k.Request(t.Context(), k.Admin, audit.Origin{}, uids[2]); err != nil {
		t.Fatal(err)
	}
	r.workOnAll(t)
	if s := k.status(t, uids[2]); s.Message != "3 repositories with 6 tags." {
		t.Errorf("after another registry was deleted: %+v", s)
	}
}

// A run deletes the content of dropped runs before it adds any, so that repeated replacements of a definition store no more than one
// run may.
func TestReplacedRunsLeaveNothing(t *testing.T) {
	k, g := mustSync(t, "listing-held")
	w := charts(g)
	uid := k.mustCreate(t, w)
	for try := range 3 { // without a concurrent sweep
		r := &runner{Service: k.Service, Config: Config{OrgContents: maxOrgContents, Log: slog.New(slog.DiscardHandler)}}
		var working sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		rows, err := r.claim(ctx, []queue.Share{{OrgUID: "org-a", Count: 1}})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		working.Go(func() { r.work(ctx, rows[0]) })
		k.waitFor(t, uid, func(s Status) bool { return strings.HasPrefix(s.Message, "1 repository so far") })
		if n := k.rowsStored(t, "org-a"); n != 2 {
			t.Errorf("after %d replacements %d rows are stored, want 2", try, n)
		}
		if err := k.stored.Replace(t.Context(), k.Admin, audit.Origin{}, uid, w); err != nil {
			t.Fatal(err)
		}
		cancel()
		working.Wait()
	}
}

// Content of deleted and disabled registries is deleted even if no synchronization is due.
func TestDroppedContentIsSwept(t *testing.T) {
	k, g := mustSync(t, "bearer")
	w := charts(g)
	off := k.mustCreate(t, w)
	w.Name = "deleted"
	deleted := k.mustCreate(t, w)
	stop := k.run(t, Config{})
	k.waitFor(t, off, ended)
	k.waitFor(t, deleted, ended)
	stop()
	w.Name, w.SyncSupported = "off", false
	if err := errors.Join(k.stored.Replace(t.Context(), k.Admin, audit.Origin{}, off, w),
		k.stored.Delete(t.Context(), k.Admin, audit.Origin{}, deleted)); err != nil {
		t.Fatal(err)
	}
	if n := k.rowsStored(t, "org-a"); n != 12 {
		t.Errorf("the request deleted content itself: %d of 12 rows remain", n)
	}
	k.run(t, Config{})
	for k.rowsStored(t, "org-a") > 0 {
		time.Sleep(10 * time.Millisecond)
	}
}

// hangingDialer connects only when its context ends.
type hangingDialer struct{}

func (hangingDialer) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

func (hangingDialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Two organizations with many slow registries do not delay a third one.
func TestSyncsServeOrganizationsInTurn(t *testing.T) {
	k := mustNew(t, nil)
	k.checker = &regcheck.Checker{Resolver: hangingDialer{}, Dialer: hangingDialer{},
		Limits: regcheck.Limits{Total: time.Hour, Connect: time.Hour}}
	third := k.OtherAdmin
	third.OrgUID, third.OrgName = "org-c", "C"
	if err := k.DB.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.Orgs.Insert(t.Context(), store.Org{UID: "org-c", Name: "C", Canonical: "c", CreatedAt: registriestest.Start})
	}); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		_, err := k.stored.Create(t.Context(), k.OtherAdmin, audit.Origin{}, input(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		k.mustCreate(t, input(fmt.Sprint(i)))
	}
	k.run(t, Config{})
	time.Sleep(2 * time.Second)
	uid, err := k.stored.Create(t.Context(), third, audit.Origin{}, input("one"))
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if s, err := k.Status(t.Context(), third, uid); err != nil || s.Status == store.SyncInProgress {
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Error("the registry of the third organization waits for those of the others")
}
