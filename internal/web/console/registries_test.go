package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/regcheck"
)

var (
	linkNext     = regexp.MustCompile(`rel="next" href="([^"]+)"`)
	linkPrevious = regexp.MustCompile(`rel="prev" href="([^"]+)"`)
	linkRegistry = regexp.MustCompile(`href="(/console/registries/[0-9a-f-]{36})"`)
)

// link returns the address of a link of the page.
func (w *world) link(t *testing.T, pattern *regexp.Regexp, page string) string {
	t.Helper()
	found := pattern.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no link matches %s:\n%s", pattern, page)
	}
	return strings.ReplaceAll(found[1], "&amp;", "&")
}

// Each page of the list is small, and all pages in both directions are the whole list.
func TestListOfRegistries(t *testing.T) {
	const n = 250
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	get := func(target string) string {
		got := w.send("GET", target, "", "Cookie", cookie)
		if got.Code != http.StatusOK || got.Body.Len() > 100_000 {
			t.Fatalf("%s: %d, %d bytes", target, got.Code, got.Body.Len())
		}
		return got.Body.String()
	}
	if page := get(pathRegistries); !strings.Contains(page, "has no registries yet") ||
		!strings.Contains(page, `href="/console/registries/new"`) {
		t.Errorf("without registries: %s", page)
	}
	w.store(t, n, func(i int) (since time.Time, health store.HealthResult) {
		return time.Now().Add(-time.Duration(i) * time.Hour),
			store.HealthResult{Valid: i%10 > 0, Message: fmt.Sprintf("The cause of r%d <i>", i)}
	})
	for _, query := range []string{"", "?sort=since", "?name=R&sort=health"} {
		seen, pages := map[string]bool{}, []string{pathRegistries + query}
		for {
			page := get(pages[len(pages)-1])
			for _, found := range linkRegistry.FindAllStringSubmatch(page, -1) {
				seen[found[1]] = true
			}
			if !linkNext.MatchString(page) {
				break
			}
			pages = append(pages, w.link(t, linkNext, page))
		}
		if len(seen) != n || len(pages) != n/50 {
			t.Errorf("%s: %d registries on %d pages", query, len(seen), len(pages))
		}
		for i := len(pages) - 1; i > 0; i-- {
			got, _ := url.QueryUnescape(w.link(t, linkPrevious, get(pages[i])))
			if want, _ := url.QueryUnescape(pages[i-1]); got != want {
				t.Fatalf("%s: before page %d is %s, want %s", query, i, got, want)
			}
		}
	}
	page := get(pathRegistries + "?health=failing&name=r24&continue=")
	if strings.Count(page, `<th scope="row">`) != 1 || !strings.Contains(page, "The cause of r240 &lt;i&gt;") ||
		!strings.Contains(page, "Failing (25)") {
		t.Errorf("filtered: %s", page)
	}
	for target, status := range map[string]int{"?health=bad": 400, "?continue=.": 200, "?continue=%00%ff": 200, "?continue=x": 400,
		"?name=%00": 200, "/x": 404, "/x/delete": 404} {
		if got := w.send("GET", pathRegistries+target, "", "Cookie", cookie); got.Code != status {
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
		}
	}
}

// A registry with the longest history has a page of bounded size.
func TestPageOfRegistry(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.store(t, 1, func(int) (time.Time, store.HealthResult) {
		return time.Now(), store.HealthResult{Message: "The cause <i>", Hint: "The hint <i>", Field: "auth.<i>"}
	})
	w.flap(t, 200)
	path := w.link(t, linkRegistry, w.send("GET", pathRegistries, "", "Cookie", cookie).Body.String())
	got := w.send("GET", path, "", "Cookie", cookie)
	page := got.Body.String()
	for _, want := range []string{"The cause &lt;i&gt;", "The hint &lt;i&gt;", "Field: auth.&lt;i&gt;", "1–10 of 200",
		"Since it was stored: ", "The detail &lt;i&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if got.Code != http.StatusOK || len(page) > 100_000 || strings.Contains(page, "<i>") || strings.Contains(page, "ZgotmplZ") {
		t.Errorf("%d, %d bytes:\n%s", got.Code, len(page), page)
	}
	last := w.send("GET", path+"?history=20", "", "Cookie", cookie).Body.String()
	if !strings.Contains(last, "191–200 of 200") || linkNext.MatchString(last) ||
		w.link(t, linkPrevious, last) != path+"?history=19#history" {
		t.Errorf("the last page of the history: %s", last)
	}
	if !strings.Contains(last, "The detail &lt;i&gt;") {
		t.Errorf("the last page of the history lacks the newest report: %s", last)
	}
	if beyond := w.send("GET", path+"?history=99999999999999999999", "", "Cookie", cookie).Body.String(); !strings.Contains(beyond,
		"191–200 of 200") {
		t.Errorf("a page beyond the last: %s", beyond)
	}
}

// After a change, the page shows the result as that of the definition before, until a check of the changed one has ended.
func TestPageOfAChangedRegistry(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.store(t, 1, func(int) (time.Time, store.HealthResult) {
		return time.Now(), store.HealthResult{Message: "The old cause", Hint: "The old fix"}
	})
	path := w.link(t, linkRegistry, w.send("GET", pathRegistries, "", "Cookie", cookie).Body.String())
	page := func(target string) string { return w.send("GET", target, "", "Cookie", cookie).Body.String() }
	const waits = `" data-waits>`
	if text := page(path); strings.Contains(text, "Before the change") || strings.Contains(text, waits) ||
		!strings.Contains(text, `class="result failing"`) {
		t.Errorf("before the change: %s", text)
	}
	time.Sleep(2 * time.Millisecond) // times have milliseconds
	form := url.Values{"name": {"r0 <b>"}, "endpoint": {"https://r.example.com"}, "providerType": {"helm"}, "authType": {"noAuth"},
		"version": {"1"}}
	saved := w.send("POST", path+"/edit", form.Encode(), "Cookie", cookie)
	text := page(saved.Header().Get("Location"))
	for _, want := range []string{"The registry is stored.<", "Changed, no result yet<",
		"its check has not ended yet. The result below is of the definition before.", "Before the change: failing<", "The old cause",
		`class="result unknown"`, `<a href="` + path + `">Reload</a>`, waits} {
		if !strings.Contains(text, want) {
			t.Errorf("after the change, the page lacks %q", want)
		}
	}
	if strings.Contains(text, "first check") || strings.Contains(text, "result failing") {
		t.Errorf("after the change: %s", text)
	}
	w.endCheck(t, path, store.HealthResult{Valid: true})
	if text := page(path); strings.Contains(text, "Before the change") || strings.Contains(text, waits) ||
		!strings.Contains(text, `class="result healthy"`) {
		t.Errorf("after the check: %s", text)
	}
}

// endCheck stores the result of a check of the second version of a registry.
func (w *world) endCheck(t *testing.T, path string, result store.HealthResult) {
	t.Helper()
	now := time.Now()
	err := w.db.InTx(t.Context(), func(tx *store.Tx) error {
		org, err := tx.Orgs.ByName(t.Context(), "acme")
		if err != nil {
			return err
		}
		row, err := tx.Watch.Get(t.Context(), org.UID, strings.TrimPrefix(path, pathRegistries+"/"))
		if err != nil {
			return err
		}
		rows, err := tx.Watch.Claim(t.Context(), "test", row.NextAt, row.NextAt.Add(time.Hour), []store.Share{{OrgUID: org.UID, Count: 1}})
		if err != nil || len(rows) != 1 {
			return errors.Join(err, fmt.Errorf("%d rows", len(rows)))
		}
		row = rows[0]
		row.State, row.Since, row.LastAt, row.LeaseOwner = result, now, now, "test"
		return tx.Watch.End(t.Context(), row, 2, store.HealthPeriod{Since: now, LastAt: now, Counted: true, Result: result})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A check that does not count yet leaves the result as it was.
func TestOutdated(t *testing.T) {
	changed := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	before, after := changed.Add(-time.Hour), changed.Add(time.Second)
	entry := func(at time.Time, counted bool) watch.HistoryEntry {
		return watch.HistoryEntry{LastAt: at, Counted: counted}
	}
	repeated := []watch.HistoryEntry{entry(after, false), entry(after, true), entry(before, true)}
	unconfirmed := store.Health{Since: before, LastAt: after, Unconfirmed: true}
	for name, row := range map[string]struct {
		health  store.Health
		history []watch.HistoryEntry
		want    bool
	}{
		"never checked":                    {health: store.Health{}},
		"checked before":                   {health: store.Health{Since: before, LastAt: before}, want: true},
		"checked after":                    {health: store.Health{Since: before, LastAt: after}},
		"a transient failure":              {unconfirmed, []watch.HistoryEntry{entry(after, false), entry(before, true)}, true},
		"a transient failure after others": {unconfirmed, repeated, false},
	} {
		if got := outdated(registries.Registry{UpdatedAt: changed, Health: row.health}, row.history); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The content has pages too, and its text is no HTML.
func TestContent(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.store(t, 1, func(int) (time.Time, store.HealthResult) { return time.Now(), store.HealthResult{Valid: true} })
	path := w.link(t, linkRegistry, w.send("GET", pathRegistries, "", "Cookie", cookie).Body.String())
	get := func(target string) string {
		got := w.send("GET", target, "", "Cookie", cookie)
		if page := got.Body.String(); got.Code != http.StatusOK || len(page) > 100_000 || strings.Contains(page, "<i>") {
			t.Fatalf("%s: %d, %d bytes: %s", target, got.Code, len(page), page)
		}
		return got.Body.String()
	}
	if page := get(path + "/content"); !strings.Contains(page, "Synchronization is disabled for this registry.") {
		t.Errorf("without content: %s", page)
	}
	var contents []store.RegistryContent
	for i := range 120 {
		contents = append(contents, store.RegistryContent{Repository: "charts/<i>", Tag: fmt.Sprintf("%03d <i>", i), Kind: "helm <i>",
			Digest: "sha256:<i>", Problem: "The problem <i>"})
	}
	w.addContents(t, strings.TrimPrefix(path, pathRegistries+"/"), contents)
	second := get(w.link(t, linkNext, get(path+"/content?repository=charts")))
	if !strings.Contains(second, "051 &lt;i&gt;") || !strings.Contains(second, "The problem &lt;i&gt;") ||
		!strings.Contains(second, "51–100 of 120") {
		t.Errorf("the second page: %s", second)
	}
	third := get(w.link(t, linkNext, second))
	if linkNext.MatchString(third) || get(w.link(t, linkPrevious, third)) != second {
		t.Errorf("the third page: %s", third)
	}
	if page := get(path + "/content?repository=chart"); !strings.Contains(page, "No repository has this name.") {
		t.Errorf("another repository: %s", page)
	}
}

// addContents stores what a synchronization found.
func (w *world) addContents(t *testing.T, uid string, contents []store.RegistryContent) {
	t.Helper()
	now := time.Now()
	err := w.db.InTx(t.Context(), func(tx *store.Tx) error {
		org, err := tx.Orgs.ByName(t.Context(), "acme")
		if err != nil {
			return err
		}
		if err := tx.Syncs.Schedule(t.Context(), org.UID, uid, now); err != nil {
			return err
		}
		runs, err := tx.Syncs.Claim(t.Context(), "test", now, now.Add(time.Hour), []store.Share{{OrgUID: org.UID, Count: 1}})
		if err != nil {
			return err
		}
		return errors.Join(tx.Contents.Add(t.Context(), runs[0], contents),
			tx.Syncs.Finish(t.Context(), runs[0], now, now.Add(time.Hour), ""))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// When too many callers wait for reports, the check is due, and the page says how to get its result.
func TestCheckWithoutReport(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.store(t, 1, func(int) (time.Time, store.HealthResult) { return time.Now(), store.HealthResult{Valid: true} })
	path := w.link(t, linkRegistry, w.send("GET", pathRegistries, "", "Cookie", cookie).Body.String())
	for reserved := true; reserved; {
		_, reserved = w.Checks.ReserveWait(w.mustIdentify(cookie))
	}
	got := w.send("POST", path+"/check", "", "Cookie", cookie)
	if location := got.Header().Get("Location"); got.Code != http.StatusSeeOther || location != path+"?notice=registryDue" {
		t.Fatalf("%d, %s", got.Code, location)
	}
	if page := w.send("GET", path+"?notice=registryDue", "", "Cookie", cookie).Body.String(); !strings.Contains(page,
		`<a href="`+path+`">Reload</a>`) {
		t.Errorf("the page is %s", page)
	}
	if got := w.send("GET", path+"/check", "", "Cookie", cookie); got.Code != http.StatusMethodNotAllowed ||
		got.Header().Get("Allow") != "POST" {
		t.Errorf("GET returns %d", got.Code)
	}
}

// A list is counted only up to a number, and may change while its pages are read.
func TestPositions(t *testing.T) {
	for want, got := range map[string]string{
		"51–100 of 120": views.Positions(100, 50, 120), "9951–10000 of at least 10000": views.Positions(10_000, 50, 10_000),
		"10001–10050 of at least 10050": views.Positions(10_050, 50, 10_000), "51–100 of 100": views.Positions(100, 50, 99),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// flap adds checks of the only registry, which fails every other time, over 30 days.
func (w *world) flap(t *testing.T, n int) {
	t.Helper()
	now := time.Now()
	for i := range n {
		due := now.Add(time.Duration(2*i+2) * time.Hour) // after the end of the former claim
		err := w.db.InTx(t.Context(), func(tx *store.Tx) error {
			org, err := tx.Orgs.ByName(t.Context(), "acme")
			if err != nil {
				return err
			}
			rows, err := tx.Watch.Claim(t.Context(), "test", due, due.Add(time.Hour), []store.Share{{OrgUID: org.UID, Count: 1}})
			if err != nil || len(rows) != 1 {
				return errors.Join(err, fmt.Errorf("%d rows", len(rows)))
			}
			row := rows[0]
			row.State.Valid, row.LastAt, row.LeaseOwner = i%2 == 0, now.Add(-time.Duration(n-i)*3*time.Hour), "test"
			row.Since = row.LastAt
			report := &regcheck.Report{Message: row.State.Message, Hint: row.State.Hint,
				Stages: []regcheck.StageResult{{Name: regcheck.StageAuth, Status: regcheck.Failed, Detail: "The detail <i>"}}}
			text, err := json.Marshal(report)
			return errors.Join(err, tx.Watch.End(t.Context(), row, 1,
				store.HealthPeriod{Since: now, LastAt: now, Counted: true, Result: row.State, Report: text}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A check that the provider of the credentials prevented is no failure of the registry, in its history and in the list.
func TestProviderThatWasDown(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.store(t, 1, func(int) (time.Time, store.HealthResult) {
		return time.Now().Add(-time.Hour), store.HealthResult{Code: "CredentialsUnavailable", Reason: "providerUnavailable"}
	})
	path := w.link(t, linkRegistry, w.send("GET", pathRegistries, "", "Cookie", cookie).Body.String())
	page := w.send("GET", path, "", "Cookie", cookie).Body.String()
	if strings.Contains(page, "state failing") || strings.Count(page, "state unknown") != 1 {
		t.Errorf("the history: %s", page)
	}
	file := w.send("GET", pathRegistries+".csv", "", "Cookie", cookie).Body.String()
	if !strings.Contains(file, "no result in 30 days") {
		t.Error(file)
	}
}

// A registry that is read from a cluster can be deleted on its page when no server reads this cluster.
func TestPageOfARegistryOfACluster(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.store(t, 1, func(int) (time.Time, store.HealthResult) { return time.Now(), store.HealthResult{Valid: true} })
	path := w.link(t, linkRegistry, w.send("GET", pathRegistries, "", "Cookie", cookie).Body.String())
	orgUID := w.mustIdentify(cookie).OrgUID
	change := func(do func(tx *store.Tx) error) {
		t.Helper()
		if err := w.db.InTx(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	want := func(sentence string, deletable bool) {
		t.Helper()
		page := w.send("GET", path, "", "Cookie", cookie).Body.String()
		if !strings.Contains(page, sentence) || strings.Contains(page, path+"/delete") != deletable ||
			strings.Contains(page, path+"/edit") {
			t.Errorf("no %q, or deletable is not %t:\n%s", sentence, deletable, page)
		}
	}
	const object = `the Secret apps/regcred of the cluster &#34;prod&#34;. `
	change(func(tx *store.Tx) error {
		uid := strings.TrimPrefix(path, pathRegistries+"/")
		return tx.Origins.Set(t.Context(), orgUID, uid, store.Origin{Object: "prod/apps/Secret/regcred"})
	})
	want("It was read from "+object+"No server reads this cluster now.", true)
	change(func(tx *store.Tx) error {
		_, err := tx.Origins.Hold(t.Context(), orgUID, "prod", "owner", time.Now(), time.Now().Add(time.Hour))
		return err
	})
	want("It is read from "+object+"Change or delete it there.", false)
}
