package views

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/regcheck"
)

// The parts of pages escape what they show, and leave out what is secret.
func TestParts(t *testing.T) {
	const markup = `"><script>alert(1)</script>`
	form := forms.New("Save", "/console/x", forms.Field{Name: "name", Label: "Name", Value: markup, Hint: markup},
		forms.Field{Name: "password", Label: "Password", Type: "password", Value: "secret text"},
		forms.Field{Name: "key", Label: "Key", Type: "textarea", Secret: true, Value: "secret text"},
		forms.Field{Name: "text", Label: "Text", Type: "textarea", Value: markup},
		forms.Field{Name: "kind", Label: "Kind", Type: "select", Value: "b", Options: forms.Options("a", markup, "b", "B")},
		forms.Field{Name: "skip", Label: "Skip", Type: "checkbox", Value: "true"})
	form.AddProblems(fault.InvalidFields(fault.Field{Field: "name", Problem: markup}, fault.Field{Field: "other", Problem: markup}))
	form.Message = markup
	shown, err := Read(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for part, data := range map[string]any{"form": form, "confirm": form, "empty": Empty{markup, "/console/", markup},
		"pages": Pager{"?page=1", "?page=3", "2 of 3"}, "state": "failing"} {
		var out bytes.Buffer
		page, err := shown.pages["error.html"]()
		if err == nil {
			err = page.ExecuteTemplate(&out, part, data)
		}
		if err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.Contains(text, "<script") || strings.Contains(text, "secret text") || strings.Contains(text, "ZgotmplZ") {
			t.Errorf("%s: %s", part, text)
		}
		if part == "form" && (!strings.Contains(text, `<option value="b" selected>`) || !strings.Contains(text, "checked") ||
			strings.Count(text, "aria-invalid") != 1) {
			t.Errorf("%s: %s", part, text)
		}
	}
}

// Each template is a page that a handler shows.
func TestTemplatesAreComplete(t *testing.T) {
	shown, err := Read(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range shown.pages {
		if page, err := read(); err != nil || page.Lookup("main") == nil {
			t.Errorf("%s has no main: %v", name, err)
		}
	}
}

func TestTimeline(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	entry := func(hoursAgo int, valid, counted bool) watch.HistoryEntry {
		return watch.HistoryEntry{Since: now.Add(-time.Duration(hoursAgo) * time.Hour), Counted: counted,
			Result: store.HealthResult{Valid: valid}}
	}
	down := func(hoursAgo int) watch.HistoryEntry {
		e := entry(hoursAgo, false, true)
		e.Result.Reason = "providerUnavailable"
		return e
	}
	month, days := now.AddDate(0, -2, 0), 30
	for name, tt := range map[string]struct {
		history []watch.HistoryEntry
		stored  time.Time
		days    int
		newest  []string
		summary string
	}{
		"no check": {nil, month, days, []string{"2026-11-22: no result"}, "Last 30 days: unknown for 29 days."},
		"healthy for long": {[]watch.HistoryEntry{entry(1000, true, true), entry(2000, false, true)}, month, days,
			[]string{"2026-11-22: 100 % healthy, 0 failures"}, "Uptime 100 %. Last 30 days: healthy for 29 days."},
		"failing at last": {[]watch.HistoryEntry{entry(1, false, true), entry(22, true, true), entry(24, false, true),
			entry(900, true, true)}, month, days, []string{"2026-11-21: 91.6 % healthy, 1 failure", "2026-11-22: 90 % healthy, 1 failure"},
			"Uptime 99.5 %. Last 30 days: healthy for 29 days, failing for 3 hours in 2 periods."},
		"a transient failure": {[]watch.HistoryEntry{entry(20, true, true), entry(24, false, false), entry(900, true, true)}, month, days,
			[]string{"2026-11-22: 100 % healthy, 0 failures"}, "Uptime 100 %. Last 30 days: healthy for 29 days."},
		"stored yesterday": {[]watch.HistoryEntry{entry(12, false, true)}, now.Add(-24 * time.Hour), 2,
			[]string{"2026-11-21: 0 % healthy, 1 failure", "2026-11-22: 0 % healthy, 1 failure"},
			"Uptime 0 %. Since it was stored: failing for 12 hours, unknown for 12 hours."},
		"a history of before": {[]watch.HistoryEntry{entry(12, true, true), entry(900, true, true)}, now, 30,
			[]string{"2026-11-22: 100 % healthy, 0 failures"}, "Uptime 100 %. Last 30 days: healthy for 29 days."},
		"the provider was down": {[]watch.HistoryEntry{entry(14, true, true), down(20), entry(900, true, true)}, month, days,
			[]string{"2026-11-21: 100 % healthy, 0 failures", "2026-11-22: 100 % healthy, 0 failures"},
			"Uptime 100 %. Last 30 days: healthy for 29 days, unknown for 6 hours."},
		"the provider is down": {[]watch.HistoryEntry{down(20), entry(22, false, true)}, now.Add(-24 * time.Hour), 2,
			[]string{"2026-11-21: 0 % healthy, 1 failure", "2026-11-22: no result"},
			"Uptime 0 %. Since it was stored: failing for 2 hours, unknown for 22 hours."},
		"stored now": {nil, now, 1, []string{"2026-11-22: no result"}, "Since it was stored: no result yet."},
		"a clock that was set": {[]watch.HistoryEntry{entry(-5, false, true), entry(900, true, true)}, month, days,
			[]string{"2026-11-22: 100 % healthy, 0 failures"}, "Uptime 100 %. Last 30 days: healthy for 29 days."},
	} {
		got := TimelineOf(ChangesOf(tt.history), tt.stored, now)
		var newest []string
		uptime := ""
		if got.Uptime != "" {
			uptime = "Uptime " + got.Uptime + ". "
		}
		for _, day := range got.Days[len(got.Days)-len(tt.newest):] {
			newest = append(newest, day.Text())
		}
		if diff := cmp.Diff(append(tt.newest, tt.summary), append(newest, uptime+got.Summary)); diff != "" || len(got.Days) != tt.days {
			t.Errorf("%s: %d days, %s", name, len(got.Days), diff)
		}
	}
}

func TestStageBars(t *testing.T) {
	got := Stages(&regcheck.Report{DurationMS: 90, Stages: []regcheck.StageResult{
		{Name: regcheck.StageTLS, Status: regcheck.OK, DurationMS: 50}, {Name: regcheck.StageAuth, Status: regcheck.Failed, DurationMS: 50},
		{Name: "other", Status: regcheck.Unknown}, {Name: regcheck.StageContent, Status: regcheck.Skipped}}})
	want := Waterfall{End: "100 ms", Bars: []StageBar{
		{Name: "TLS", Time: "50 ms", State: "healthy", Status: regcheck.OK, Width: 50},
		{Name: "Auth", Time: "50 ms", State: "failing", Status: regcheck.Failed, Start: 50, Width: 50},
		{Name: "Other", Time: "under 1 ms", State: "unknown", Status: regcheck.Unknown, Start: 100 - minWidth, Width: minWidth},
		{Name: "Content", State: "unknown", Status: regcheck.Skipped, Start: 100 - minWidth}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = Stages(&regcheck.Report{DurationMS: 90, Stages: []regcheck.StageResult{{Status: regcheck.OK, DurationMS: 9}}})
	if got.End != "90 ms" || got.Bars[0].Width != 10 {
		t.Errorf("a check that took longer than its stages: %+v", got)
	}
}

// Scripts neither send messages to other windows nor receive any, and use no window that opened theirs (RFC 9700 section 4.17).
func TestScriptsSendNoMessages(t *testing.T) {
	scripts, err := fs.Glob(staticFiles, "static/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, name := range scripts {
		text, err := staticFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`postMessage|onmessage|"message"|\bopener\b|window\.open`).Find(text); found != nil {
			t.Errorf("%s has %s", name, found)
		}
	}
}

// Only pages that repeat nothing that was sent are compressed.
func TestCompressPage(t *testing.T) {
	page := []byte(strings.Repeat("a page ", 1000))
	for _, tt := range []struct {
		method, target, accepted string
		page                     []byte
		compressed               bool
	}{
		{"GET", "/console/", "gzip, deflate, br", page, true},
		{"GET", "/console/", "", page, false},
		{"GET", "/console/", "gzip", page[:100], false},
		{"GET", "/console/search?q=guess", "gzip", page, false},
		{"POST", "/console/api-keys/new", "gzip", page, false},
		{"GET", "/console/", "gzip", append([]byte("<code data-once>secret</code>"), page...), false},
		{"GET", "/console/", "gzip; q=0.0, br", page, false},
		{"GET", "/console/", "br, gzip;q=0.5", page, true},
	} {
		r, h := httptest.NewRequest(tt.method, tt.target, nil), http.Header{}
		r.Header.Set("Accept-Encoding", tt.accepted)
		for range 2 { // the writer is used again
			body := CompressPage(h, r, tt.page)
			if got := h.Get("Content-Encoding") == "gzip"; got != tt.compressed {
				t.Errorf("%s %s, %q: compressed: %v", tt.method, tt.target, tt.accepted, got)
			}
			if tt.compressed {
				reader, err := gzip.NewReader(bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				plain, err := io.ReadAll(reader)
				if err != nil || !bytes.Equal(plain, tt.page) || h.Get("Vary") != "Accept-Encoding" || len(body) > len(plain)/10 {
					t.Errorf("%d of %d bytes, %v, %v", len(body), len(plain), h, err)
				}
			} else if !bytes.Equal(body, tt.page) {
				t.Errorf("%s %s: another page", tt.method, tt.target)
			}
		}
	}
}
