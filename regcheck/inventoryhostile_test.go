package regcheck_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/inventory"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// A hostile registry can only make its own inventory incomplete, which the notes report.
func TestInventoryOfHostileRegistries(t *testing.T) {
	const nginx = "charts/nginx"
	for _, row := range []struct {
		server       string
		limits       inventory.Limits
		repositories int
		tags         int
		notes        []string
	}{
		{"listing-catalog-loop", inventory.Limits{}, 1, 2, []string{"its pages form a loop", "Only charts/nginx is listed"}},
		{"listing-catalog-endless", inventory.Limits{}, 1, 2, []string{"it has too many pages", "Only charts/nginx is listed"}},
		{"listing-catalog-huge", inventory.Limits{}, 1, 2, []string{"its response is longer than 1024 KiB"}},
		{"catalog-link-other-host", inventory.Limits{}, 1, 2, []string{"form a loop"}},
		{"listing-names", inventory.Limits{}, 1, 2,
			[]string{"not valid: 10.", "omitted names that are not valid: 7", "********", "its name repeats credentials"}},
		{"listing-tags-loop", inventory.Limits{}, 1, 1, []string{"the pages of its tags form a loop"}},
		{"listing-tags-endless", inventory.Limits{RepositoryTags: 5}, 1, 5, []string{"more than 5 tags"}},
		{"listing-tags-endless", inventory.Limits{}, 1, 100, []string{"too many pages"}},
		{"listing-wrong-digests", inventory.Limits{}, 1, 2,
			[]string{"is not the digest of its manifest", "of its index has another digest"}},
		{"listing-other-ports", inventory.Limits{}, 1, 40, []string{"no server listens on that port", "redirect"}},
		{"listing-token-expires", inventory.Limits{}, 1, 2, nil},
	} {
		g := regchecktest.Start(t, row.server)
		l := mustList(t, g, login(`"baseContentPath":"`+nginx+`",`), inventory.Cursor{}, row.limits)
		if l.Inventory == nil {
			t.Errorf("%s: %s", row.server, l.report.Message)
			continue
		}
		if !l.Complete || l.Cursor.Repositories != row.repositories || l.Cursor.Tags != row.tags {
			t.Errorf("%s: complete %v (%s), %+v", row.server, l.Complete, l.Stopped, l.Cursor)
		}
		for _, want := range row.notes {
			if !strings.Contains(l.text(), want) {
				t.Errorf("%s: %q is missing: %.600s", row.server, want, l.text())
			}
		}
		if row.notes == nil && (l.list[0].Problem != "" || l.list[0].Tags[0].Problem != "" || len(l.Notes) > 1) {
			t.Errorf("%s: %s", row.server, l.text())
		}
		if strings.Contains(strings.ToLower(l.text()), regchecktest.Password) {
			t.Errorf("%s: a name repeats the password: %s", row.server, l.text())
		}
	}
}

// A content path that no repository can have is not listed, even if the registry has it: callers rely on valid
// names.
func TestInventoryOfInvalidPath(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("Content-Type", "application/json")
		name, isList := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v2/"), "/tags/list")
		if isList {
			_, _ = fmt.Fprintf(w, `{"name":%q,"tags":["a"]}`, name)
			return
		}
		_, _ = w.Write([]byte("{}")) // a manifest, and no list of repositories
	}))
	defer server.Close()
	local, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	c := regcheck.Checker{Egress: local}
	for path, listed := range map[string]int{"charts": 1, strings.Repeat("a", 255): 1, strings.Repeat("a", 256): 0,
		"Charts": 0, "charts/-x": 0} {
		d := regcheck.Definition{Endpoint: server.URL, BaseContentPath: path, Auth: &regcheck.Auth{Type: regcheck.NoAuth}}
		report, found, err := inventory.List(t.Context(), &c, regcheck.MustParse(t, d),
			inventory.Cursor{}, inventory.Limits{}, func(inventory.Repository) error { return nil })
		if err != nil || found == nil {
			t.Errorf("%.20s: %+v %v", path, report, err)
			continue
		}
		if noted := strings.Contains(strings.Join(found.Notes, " "),
			"is not a valid repository name"); found.Cursor.Repositories != listed || noted != (listed == 0) {
			t.Errorf("%.20s: %+v", path, found)
		}
	}
}

// An inventory follows redirects to few hosts only, so that a registry cannot use it to scan a network.
func TestInventoryDialsFewHosts(t *testing.T) {
	g := regchecktest.Start(t, "listing-other-ports")
	mustList(t, g, login(`"baseContentPath":"charts/nginx",`), inventory.Cursor{}, inventory.Limits{})
	dialed := 0
	for _, address := range g.Dials() {
		if strings.HasPrefix(address, "10.20.99.1:2") {
			dialed++
		}
	}
	if dialed == 0 || dialed > 6 { // the check's own included
		t.Errorf("%d third-party addresses were dialed", dialed)
	}
}

// A short Retry-After is waited for, a long one interrupts the inventory.
func TestInventoryRetriesAfterLimit(t *testing.T) {
	g := regchecktest.Start(t, "listing-limits")
	begin := time.Now()
	l := mustList(t, g, login(`"baseContentPath":"charts/nginx",`), inventory.Cursor{}, inventory.Limits{})
	if l.Inventory == nil || !l.Complete || l.Cursor.Tags != 2 || time.Since(begin) < time.Second {
		t.Errorf("asked for a second: %v %+v", time.Since(begin), l)
	}
	g = regchecktest.Start(t, "listing-limits-long")
	l = mustList(t, g, login(`"baseContentPath":"charts",`), inventory.Cursor{}, inventory.Limits{})
	if l.Inventory == nil || l.Complete || l.RetryAfter != time.Hour || l.Cursor.Repositories == 0 || l.Cursor.After == "" {
		t.Errorf("asked for an hour: %+v", l)
	}
}

// Limits and failures that alternate do not add retries.
func TestInventoryRetriesAreBounded(t *testing.T) {
	for _, server := range []string{"listing-limits-breaks", "listing-breaks-limits"} {
		g := regchecktest.Start(t, server)
		l := mustList(t, g, login(`"baseContentPath":"charts/nginx",`), inventory.Cursor{}, inventory.Limits{Time: time.Minute})
		lists := 0
		for _, r := range g.Requests() {
			if strings.HasSuffix(r.Target, "/tags/list?n=100") {
				lists++
			}
		}
		if l.Inventory == nil || !l.Complete || lists != 3 {
			t.Errorf("%s: %d requests, %+v", server, lists, l.Inventory)
		}
	}
}

// A repository that cannot be read is reported and skipped. If no request succeeds, the inventory stops.
func TestInventoryOfFailingRegistry(t *testing.T) {
	g := regchecktest.Start(t, "listing-breaks")
	l := mustList(t, g, login(`"baseContentPath":"charts",`), inventory.Cursor{}, inventory.Limits{})
	if l.Inventory == nil || !l.Complete || l.Cursor.Repositories != 3 || !strings.Contains(l.list[1].Tags[0].Problem, "502") ||
		l.list[2].Tags[0].Problem != "" {
		t.Errorf("%+v", l)
	}
	g = regchecktest.Start(t, "listing-breaks-all")
	l = mustList(t, g, login(`"baseContentPath":"charts",`), inventory.Cursor{}, inventory.Limits{})
	if l.Inventory == nil || l.Complete || l.Cursor.Repositories == 0 || l.Cursor.Repositories == 3 || !strings.Contains(l.Stopped, "502") {
		t.Errorf("%+v", l)
	}
}

// The memory and connections for endless lists are limited.
func TestInventoryReusesConnections(t *testing.T) {
	for _, server := range []string{"listing-catalog-huge", "endless-tags", "listing-catalog-endless"} {
		before := runtime.NumGoroutine()
		g, err := regchecktest.Open(server)
		if err != nil {
			t.Fatal(err)
		}
		var at, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&at)
		most := make(chan uint64)
		quit := make(chan struct{})
		go func() {
			var peak uint64
			for {
				select {
				case <-quit:
					most <- peak
					return
				case <-time.After(5 * time.Millisecond):
					runtime.ReadMemStats(&after)
					peak = max(peak, after.HeapAlloc)
				}
			}
		}()
		c, d := mustRow(t, g, login(`"baseContentPath":"charts/nginx",`))
		_, _, err = inventory.List(t.Context(), c, regcheck.MustParse(t, d),
			inventory.Cursor{}, inventory.Limits{}, func(inventory.Repository) error { return nil })
		close(quit)
		if peak := <-most; err != nil || peak > at.HeapAlloc+32<<20 {
			t.Errorf("%s: %v, %d KiB more", server, err, (peak-at.HeapAlloc)>>10)
		}
		g.Close()
		if left := goroutinesLeft(t, before); left > 0 {
			t.Errorf("%s: %d goroutines are left", server, left)
		}
	}
}
