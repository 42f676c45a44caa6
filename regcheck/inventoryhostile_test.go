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

// What a registry can do to whoever lists it: nothing but to be listed less. Each row says what has to be told.
func TestInventoryOfHostileRegistries(t *testing.T) {
	const nginx = "charts/nginx"
	for _, row := range []struct {
		server       string
		limits       inventory.Limits
		repositories int
		tags         int
		told         []string
	}{
		{"listing-catalog-loop", inventory.Limits{}, 1, 2, []string{"its pages lead in a circle", "Listed is charts/nginx alone"}},
		{"listing-catalog-endless", inventory.Limits{}, 1, 2, []string{"it has too many pages", "Listed is charts/nginx alone"}},
		{"listing-catalog-huge", inventory.Limits{}, 1, 2, []string{"its answer is longer than 1024 KiB"}},
		{"catalog-link-elsewhere", inventory.Limits{}, 1, 2, []string{"lead in a circle"}},
		{"listing-names", inventory.Limits{}, 1, 1, []string{"are left out: 11.", "names that no tag can have, or that repeat credentials, are left out: 8"}},
		{"listing-tags-loop", inventory.Limits{}, 1, 1, []string{"the pages of its tags lead in a circle"}},
		{"listing-tags-endless", inventory.Limits{RepositoryTags: 5}, 1, 5, []string{"more than 5 tags"}},
		{"listing-tags-endless", inventory.Limits{}, 1, 100, []string{"too many pages"}},
		{"listing-lies", inventory.Limits{}, 1, 2, []string{"another digest than its manifest has", "names has another digest"}},
		{"listing-elsewhere", inventory.Limits{}, 1, 40, []string{"nothing listens on that port", "redirect"}},
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
		for _, told := range row.told {
			if !strings.Contains(l.text(), told) {
				t.Errorf("%s: %q is not told: %.600s", row.server, told, l.text())
			}
		}
		if row.told == nil && (l.list[0].Problem != "" || l.list[0].Tags[0].Problem != "" || len(l.Notes) > 1) {
			t.Errorf("%s: %s", row.server, l.text())
		}
		if strings.Contains(strings.ToLower(l.text()), regchecktest.Password) {
			t.Errorf("%s: a name repeats the password: %s", row.server, l.text())
		}
	}
}

// A content path that no repository can have is not listed, even by a registry that has it: who keeps what is listed
// relies on the names being names.
func TestInventoryOfAPathThatIsNoName(t *testing.T) {
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
	for path, listed := range map[string]int{"charts": 1, strings.Repeat("a", 255): 1, strings.Repeat("a", 256): 0, "Charts": 0, "charts/-x": 0} {
		d := regcheck.Definition{Endpoint: server.URL, BaseContentPath: path, Auth: &regcheck.Auth{Type: regcheck.NoAuth}}
		report, found, err := inventory.List(t.Context(), &c, d, inventory.Cursor{}, inventory.Limits{}, func(inventory.Repository) error { return nil })
		if err != nil || found == nil {
			t.Errorf("%.20s: %+v %v", path, report, err)
			continue
		}
		if told := strings.Contains(strings.Join(found.Notes, " "), "cannot be the name of a repository"); found.Cursor.Repositories != listed || told != (listed == 0) {
			t.Errorf("%.20s: %+v", path, found)
		}
	}
}

// Redirects are followed to a few hosts only: who lists must not be led to knock at every door of a network.
func TestInventoryKnocksAtFewDoors(t *testing.T) {
	g := regchecktest.Start(t, "listing-elsewhere")
	mustList(t, g, login(`"baseContentPath":"charts/nginx",`), inventory.Cursor{}, inventory.Limits{})
	doors := 0
	for _, address := range g.Dials() {
		if strings.HasPrefix(address, "10.20.99.1:2") {
			doors++
		}
	}
	if doors == 0 || doors > 6 { // the check's own included
		t.Errorf("%d doors were tried", doors)
	}
}

// A registry that asks for a moment is given it, and one that asks for an hour is left alone, to be resumed.
func TestInventoryIsPolite(t *testing.T) {
	if testing.Short() {
		t.Skip("waits as long as it is asked to")
	}
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

// One broken repository is told of and passed over; when nothing works any more, the rest is left for later.
func TestInventoryOfABrokenStorage(t *testing.T) {
	g := regchecktest.Start(t, "listing-breaks")
	l := mustList(t, g, login(`"baseContentPath":"charts",`), inventory.Cursor{}, inventory.Limits{})
	if l.Inventory == nil || !l.Complete || l.Cursor.Repositories != 3 || !strings.Contains(l.list[1].Tags[0].Problem, "502") || l.list[2].Tags[0].Problem != "" {
		t.Errorf("%+v", l)
	}
	g = regchecktest.Start(t, "listing-breaks-all")
	l = mustList(t, g, login(`"baseContentPath":"charts",`), inventory.Cursor{}, inventory.Limits{})
	if l.Inventory == nil || l.Complete || l.Cursor.Repositories == 0 || l.Cursor.Repositories == 3 || !strings.Contains(l.Stopped, "502") {
		t.Errorf("%+v", l)
	}
}

// Endless lists take neither memory nor connections.
func TestInventoryIsFrugal(t *testing.T) {
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
		_, _, err = inventory.List(t.Context(), c, d, inventory.Cursor{}, inventory.Limits{}, func(inventory.Repository) error { return nil })
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
