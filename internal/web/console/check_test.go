package console

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// mustRecord stores an audit record of the logged-in user's organization, and returns its page.
func (w *world) mustRecord(t *testing.T, record audit.Record, report *regcheck.Report) string {
	t.Helper()
	body, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	outcome, reason := record.Outcome, record.Reason
	record.UID, record.At, record.ActorName, record.Outcome, record.Reason = uuid.NewString(), time.Now(), email, audit.Started, ""
	err = w.db.InTx(t.Context(), func(tx *store.Tx) error {
		if record.OrgUID == "" {
			org, err := tx.Orgs.ByName(t.Context(), "acme")
			if err != nil {
				return err
			}
			record.OrgUID = org.UID
		}
		if err := tx.Audits.Append(t.Context(), record); err != nil || outcome == audit.Started {
			return err
		}
		if report == nil {
			body = nil
		}
		return tx.Audits.Complete(t.Context(), record.UID, outcome, reason, body)
	})
	if err != nil {
		t.Fatal(err)
	}
	return pathCheck + "/" + record.UID
}

// Text of a registry is not HTML, wherever a report has it.
func TestReportHasNoMarkup(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	const markup = `<img src=x onerror="alert(1)">`
	report := regcheck.Report{Code: markup, Message: markup, Stage: markup, Reason: markup, Field: markup, Hint: markup, Retryable: true,
		Registry: "javascript:" + markup,
		Stages: []regcheck.StageResult{{Name: markup, Status: markup, Detail: markup, Hops: []string{markup}},
			{Name: regcheck.StageTLS, Status: regcheck.OK, DurationMS: 5, RoundTrips: 2,
				Hops: []string{"https://a.test", "https://b.test"}}},
		References: []regcheck.ReferenceResult{{Reference: "a/b:1" + markup, Status: markup, Code: markup, Reason: markup, Message: markup,
			Hint: markup},
			{Reference: "a/c:2", Status: regcheck.Failed, Code: regcheck.CodeContentNotFound, Reason: regcheck.ReasonTagUnknown,
				Message: "m", Hint: "push it"}},
		Warnings: []regcheck.Warning{{Code: markup, Field: markup, Message: markup}}}
	page := w.mustRecord(t, audit.Record{Action: audit.RegistryDiagnose, Outcome: audit.NotValid, Object: markup, Reason: markup}, &report)
	form := "report=" + strings.TrimPrefix(page, pathCheck+"/") + "&authType=basic&password=hunter2&endpoint=" + url.QueryEscape(markup)
	for _, got := range []response{
		w.send("GET", page, "", "Cookie", cookie),
		w.send("POST", pathCheck, form, "Cookie", cookie),
	} {
		if got.Code != http.StatusOK || got.err != nil || strings.Contains(got.Body.String(), "<img") ||
			strings.Contains(got.Body.String(), "hunter2") {
			t.Errorf("%d, %v: %s", got.Code, got.err, got.Body)
		}
		for _, want := range []string{"Not valid", "&lt;img", "The same definition may be valid later.",
			`<td class="figure">5 ms</td><td class="figure" data-label="Round trips">2</td>`,
			"By way of https://a.test, https://b.test<",
			`<th scope="row">a/b:1&lt;img`, `<th scope="row">a/c:2</th><td><span class="state failing">`,
			"<code>tagUnknown</code><br>push it"} {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%q is not in the page", want)
			}
		}
	}
}

func TestPagesOfReports(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	for _, row := range []struct {
		record audit.Record
		status int
		text   string
	}{
		{audit.Record{Action: audit.RegistryValidate, Outcome: audit.Started, Object: "https://a.test"}, http.StatusOK, "did not end yet"},
		{audit.Record{Action: audit.RegistryValidate, Outcome: audit.Failed, Reason: "ClientGone"}, http.StatusOK,
			"did not end: <code>ClientGone</code>"},
		{audit.Record{Action: audit.Login, Outcome: audit.Succeeded}, http.StatusNotFound, "There is no report at this address."},
		{audit.Record{Action: audit.RegistryValidate, Outcome: audit.Started, OrgUID: uuid.NewString()}, http.StatusNotFound,
			"Audit record not found."},
	} {
		got := w.send("GET", w.mustRecord(t, row.record, nil), "", "Cookie", cookie)
		if got.Code != row.status || !strings.Contains(got.Body.String(), row.text) {
			t.Errorf("%s %s: %d %s", row.record.Action, row.record.Outcome, got.Code, got.Body)
		}
	}
}

// A key that comes from a file is in no page and no audit record. It is stored like one that was typed, instead of which it is used.
func TestKeyFromFile(t *testing.T) {
	w, cookie := scanWorld(t)
	certificate, key := mustReadPair(t)
	secretLine := strings.Split(key, "\r\n")[1]
	values := []string{"endpoint", "http://127.0.0.1:1", "authType", "noAuth", "providerType", "helm", "certificate", certificate,
		"key", "typed", "name", "from-a-file"}
	checked := w.sendFile(t, pathCheck, cookie, "key.file", key, values...)
	saved := w.sendFile(t, pathCheck+"/save", cookie, "key.file", key, values...)
	again := w.sendFile(t, pathCheck+"/save", cookie, "key.file", key, values...)
	for what, got := range map[string]response{"checked": checked, "saved": saved, "again": again} {
		want := map[string]int{"checked": http.StatusOK, "saved": http.StatusSeeOther, "again": http.StatusConflict}[what]
		if page := got.Body.String(); got.Code != want || strings.Contains(page, secretLine) || want != http.StatusSeeOther &&
			(strings.Count(page, "Enter it again.") != 1 || !strings.Contains(page, html.EscapeString(certificate[:20]))) {
			t.Errorf("%s: %d %s", what, got.Code, page)
		}
	}
	p := w.mustIdentify(cookie)
	uid, _, _ := strings.Cut(strings.TrimPrefix(saved.Header().Get("Location"), pathRegistries+"/"), "?")
	stored, err := w.Registries.Load(t.Context(), p.OrgUID, uid)
	if err != nil || !strings.Contains(stored.Definition.Auth.TLS.Key.Reveal(), secretLine) {
		t.Errorf("stored: %v", err)
	}
	records, err := w.Directory.Audits(t.Context(), p, directory.AuditQuery{Request: paging.Request{Limit: 100}})
	if err != nil || len(records.Items) < 4 || strings.Contains(fmt.Sprintf("%+v", records.Items), secretLine) {
		t.Errorf("%+v, %v", records, err)
	}
}

// The bodies of forms with files are bounded, and so is each field.
func TestFilesAreBounded(t *testing.T) {
	w, cookie := scanWorld(t)
	for size, want := range map[int]struct {
		status int
		text   string
	}{300 << 10: {http.StatusBadRequest, "CA certificate must be at most 262144 bytes"},
		maxDefinition: {http.StatusRequestEntityTooLarge, "at most 2048 KiB"}} {
		for _, path := range []string{pathCheck, pathCheck + "/save", pathNewRegistry} {
			got := w.sendFile(t, path, cookie, "ca.file", strings.Repeat("x", size), "endpoint", "https://a.test", "authType", "noAuth")
			if got.Code != want.status || !strings.Contains(got.Body.String(), want.text) {
				t.Errorf("%s with %d bytes: %d, %t", path, size, got.Code, strings.Contains(got.Body.String(), want.text))
			}
		}
	}
}

// refusedForm is in a page whose form was refused, from which the script takes the problems.
var refusedForm = regexp.MustCompile(`(?s)<form id="check".*<div class="problems"`)

// A request for stages is refused like a form that is not complete, before anything is checked or recorded: Checks is nil.
func TestStagesOfIncompleteDefinition(t *testing.T) {
	w := mustWorld(t, true)
	got := w.send("POST", pathCheck, "endpoint=ftp://x&authType=basic&password=hunter2", "Cookie", w.mustLogin(), "Accept", typeStages)
	page := got.Body.String()
	if got.Code != http.StatusBadRequest || got.Header().Get("Content-Type") == typeStages || !refusedForm.MatchString(page) ||
		strings.Contains(page, "hunter2") {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
}

// A check that fails after its first stage ends with the reference to the log.
func TestStagesThatFail(t *testing.T) {
	w := mustWorld(t, true)
	w.configure(func(c *Config) {
		c.Checks = checks.New(w.db, w.Registries, &regcheck.Checker{}, checks.Limits{}, time.Now)
		c.CountValidation = func(*regcheck.Report, error) {}
	})
	form := strings.NewReader("endpoint=http://127.0.0.1:1&authType=noAuth")
	request := httptest.NewRequestWithContext(t.Context(), "POST", pathCheck, form)
	for name, value := range map[string]string{"Cookie": w.mustLogin(), "Accept": typeStages,
		"Content-Type": "application/x-www-form-urlencoded"} {
		request.Header.Set(name, value)
	}
	d := &download{ResponseRecorder: httptest.NewRecorder(), onWrite: func() { // the record of the check is lost
		_ = w.db.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Audits.DeleteBefore(t.Context(), time.Now().Add(time.Hour), 100)
			return err
		})
	}}
	err := w.ServePage(d, request, audit.Origin{RequestID: "ref-1"})
	if !strings.HasSuffix(d.Body.String(), "under the reference below. Reference: ref-1\"}\n") || err == nil {
		t.Errorf("%v: %s", err, d.Body)
	}
}

// Checks of pages have the limits of the API, and are counted like its validations. An address that is forbidden is not contacted.
func TestChecksOfPagesAreLimited(t *testing.T) {
	w := mustWorld(t, true)
	w.configure(func(c *Config) {
		c.Checks = checks.New(w.db, w.Registries, &regcheck.Checker{}, checks.Limits{PerMinute: 2}, time.Now)
	})
	var outcomes []string
	w.configure(func(c *Config) {
		c.CountValidation = func(report *regcheck.Report, err error) {
			if err != nil {
				outcomes = append(outcomes, "refused")
				return
			}
			outcomes = append(outcomes, string(report.Code))
		}
	})
	cookie := w.mustLogin()
	const form = "endpoint=http://127.0.0.1:1&authType=basic&username=u&password=hunter2"
	got := w.send("POST", pathCheck, form, "Cookie", cookie)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Not valid") || strings.Contains(got.Body.String(), "hunter2") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	got = w.send("POST", pathCheck, form, "Cookie", cookie, "Accept", typeStages)
	lines := strings.Split(strings.TrimSpace(got.Body.String()), "\n")
	if got.Code != http.StatusOK || got.Header().Get("Content-Type") != typeStages || len(lines) != 8 ||
		got.Header().Get("X-Accel-Buffering") != "no" ||
		!strings.HasPrefix(lines[0], `{"stage":"Resolve: ok`) || !strings.HasPrefix(lines[7], `{"report":"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for _, accept := range []string{"text/html", typeStages} {
		got = w.send("POST", pathCheck, form, "Cookie", cookie, "Accept", accept)
		page := got.Body.String()
		if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") == "" || !refusedForm.MatchString(page) ||
			!strings.Contains(page, "Too many validations in the last minute. Try again in ") {
			t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
		}
	}
	if want := "RegistryAddressForbidden RegistryAddressForbidden refused refused"; strings.Join(outcomes, " ") != want {
		t.Errorf("counted %v, want %s", outcomes, want)
	}
}
