package console

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/web/budget"
	"github.com/regwarden/regwarden/regcheck"
)

// dockerConfig has an entry with a password, and one that a credential helper has. The checker contacts neither address.
const dockerConfig = `{"auths": {"127.0.0.1:5000": {"auth": "YWRhOmh1bnRlcjI="}, "127.0.0.1:5001": {"auth": "Ym9iOmh1bnRlcjI="}}, ` +
	`"credHelpers": {"127.0.0.1:5002": "pass"}}`

func scanWorld(t *testing.T) (*world, string) {
	t.Helper()
	w := mustWorld(t, false)
	w.configure(func(c *Config) {
		c.Checks = checks.New(w.db, w.Registries, &regcheck.Checker{}, checks.Limits{}, time.Now)
	})
	return w, w.mustLogin()
}

// scan sends a file with the values of other fields: name, value, name, value.
func (w *world) scan(t *testing.T, cookie, file string, values ...string) response {
	t.Helper()
	return w.sendFile(t, pathScan, cookie, "file", file, values...)
}

// sendFile sends a file as a field of a form, with the values of other fields.
func (w *world) sendFile(t *testing.T, path, cookie, field, file string, values ...string) response {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, "config <b>.json")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	for i := 0; i+1 < len(values) && err == nil; i += 2 {
		err = form.WriteField(values[i], values[i+1])
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.send("POST", path, body.String(), "Cookie", cookie, "Content-Type", form.FormDataContentType())
}

var offered = regexp.MustCompile(`name="chosen" value="([0-9a-f]{16})"`)

const chosenBox = ` checked> <label for="chosen-`

// chosen returns the fields that choose the definitions that a page offers.
func chosen(page response) (fields []string) {
	for _, match := range offered.FindAllStringSubmatch(page.Body.String(), -1) {
		fields = append(fields, "chosen", match[1])
	}
	return fields
}

func TestScanListsWithoutSecrets(t *testing.T) {
	w, cookie := scanWorld(t)
	for what, got := range map[string]response{
		"file": w.scan(t, cookie, dockerConfig, "do", "list", "as", "kubelet"),
		"text": w.send("POST", pathScan, url.Values{"text": {dockerConfig}, "do": {"list"}, "as": {"kubelet"}}.Encode(), "Cookie", cookie),
	} {
		page := got.Body.String()
		for _, want := range []string{"3 definitions found", "127.0.0.1:5000</label>", ">ada<br>", "by kubelet", "Unresolved",
			"credentials that are not in the file", `<option value="kubelet" selected>`} {
			if got.Code != http.StatusOK || !strings.Contains(page, want) {
				t.Errorf("%s: %d without %q", what, got.Code, want)
			}
		}
		if strings.Contains(page, "hunter2") || strings.Contains(page, "YWRhOmh1bnRlcjI") || len(chosen(got)) != 4 ||
			strings.Count(page, chosenBox) != 2 {
			t.Errorf("%s: %v in\n%s", what, chosen(got), page)
		}
	}
}

func TestScanOfNothing(t *testing.T) {
	w, cookie := scanWorld(t)
	for _, tt := range []struct {
		file   string
		values []string
		status int
		want   string
	}{
		{"", []string{"do", "list"}, 400, `<a href="#field-file">File is required, or its text</a>`},
		{dockerConfig, []string{"format", "x", "as", "y"}, 400, "Correct 2 fields."},
		{"hello", []string{"do", "list"}, 200, "No registries found"},
		{dockerConfig, []string{"do", "check"}, 400, "Choose at least one definition"},
		{dockerConfig, []string{"do", "save", "chosen", "0123456789abcdef"}, 400, "Choose at least one definition"},
		{strings.Repeat("x", maxScan+maxForm), nil, 413, "at most 1088 KiB"},
		{"{{nonsense", []string{"do", "list", "format", "docker-config"}, 200, "1 problem"},
	} {
		if got := w.scan(t, cookie, tt.file, tt.values...); got.Code != tt.status || !strings.Contains(got.Body.String(), tt.want) {
			t.Errorf("%.20s with %v: %d %s", tt.file, tt.values, got.Code, got.Body)
		}
	}
}

// Only what was chosen is checked or stored, and only with the file that it was chosen from.
func TestScanUsesWhatIsChosen(t *testing.T) {
	w, cookie := scanWorld(t)
	counted := 0
	w.configure(func(c *Config) {
		c.CountValidation = func(report *regcheck.Report, err error) {
			if counted++; err != nil || report.Valid {
				t.Errorf("counted: %+v, %v", report, err)
			}
		}
	})
	fields := chosen(w.scan(t, cookie, dockerConfig, "do", "list"))
	checked := w.scan(t, cookie, dockerConfig, append(fields[:2:2], "do", "check")...).Body.String()
	if strings.Count(checked, `icon "failing"`)+strings.Count(checked, "</svg>Not valid") != 1 ||
		strings.Count(checked, chosenBox) != 1 || strings.Contains(checked, "hunter2") {
		t.Errorf("checked: %s", checked)
	}
	if counted != 1 {
		t.Errorf("%d checks were counted", counted)
	}
	saved := w.scan(t, cookie, dockerConfig, append(fields, "do", "save")...).Body.String()
	if strings.Count(saved, "</svg>Stored</span> as") != 2 || strings.Contains(saved, "hunter2") {
		t.Errorf("saved: %s", saved)
	}
	again := w.scan(t, cookie, dockerConfig, append(fields[:2:2], "do", "save")...).Body.String()
	if !strings.Contains(again, "Stored already, as 127.0.0.1:5000") {
		t.Errorf("again: %s", again)
	}
	if other := w.scan(t, cookie, strings.Replace(dockerConfig, "5000", "5003", 1),
		append(fields[:2:2], "do", "check")...); other.Code != http.StatusBadRequest {
		t.Errorf("with another file: %d %s", other.Code, other.Body)
	}
}

// Members scan and check, and store nothing.
func TestScanOfMembers(t *testing.T) {
	w, _ := scanWorld(t)
	mate := w.member(t, "mate@acme.example")
	list := w.scan(t, mate, dockerConfig, "do", "list")
	if page := list.Body.String(); !strings.Contains(page, "Check the chosen") || strings.Contains(page, "Save the chosen") {
		t.Errorf("%d %s", list.Code, page)
	}
	if got := w.scan(t, mate, dockerConfig, append(chosen(list), "do", "save")...); got.Code != http.StatusForbidden {
		t.Errorf("save: %d", got.Code)
	}
}

// A file with many definitions or long texts makes no large page, and what it contains is no markup.
func TestLargeScans(t *testing.T) {
	w, cookie := scanWorld(t)
	var auths []string
	for i := range 150 {
		auths = append(auths, fmt.Sprintf(`"r%d.example.com/%s": {"auth": "YWRhOmh1bnRlcjI="}`, i, strings.Repeat("<b>", 200)))
	}
	got := w.scan(t, cookie, `{"auths": {`+strings.Join(auths, ",")+`}}`, "do", "list")
	if page := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(page, "These are 100 of 150.") ||
		strings.Contains(page, "<b>") || strings.Count(page, chosenBox) != maxChecked || len(page) > 250_000 {
		t.Errorf("%d, %d bytes:\n%.3000s", got.Code, len(page), page)
	}
}

// panicky is a network of which every use panics.
type panicky struct{}

func (panicky) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) { panic("hunter2") }

func (panicky) DialContext(context.Context, string, string) (net.Conn, error) { panic("hunter2") }

// A large file counts against its user, and is refused before it is read while the user sends others. A small one is not.
func TestLargeScansCountAgainstTheUser(t *testing.T) {
	w, cookie := scanWorld(t)
	w.Requests = budget.NewRequests(8 << 20) // a user may hold an eighth
	other := httptest.NewRequestWithContext(t.Context(), http.MethodPost, pathScan, nil)
	other.ContentLength = 1 << 20
	if err := w.Requests.Reserve(w.mustIdentify(cookie), "", other, other.ContentLength); err != nil {
		t.Fatal(err)
	}
	large := w.scan(t, cookie, dockerConfig+strings.Repeat(" ", 100<<10))
	if large.Code != http.StatusServiceUnavailable || large.Header().Get("Retry-After") == "" ||
		!strings.Contains(large.Body.String(), "too many large requests") {
		t.Errorf("%d %v: %s", large.Code, large.Header(), large.Body)
	}
	if small := w.scan(t, cookie, dockerConfig); small.Code != http.StatusOK {
		t.Errorf("a small file: %d: %s", small.Code, small.Body)
	}
}

// A panic of the engine is the page of errors. It does not end the server, and the error for the log has no value of the panic.
func TestScanWhoseCheckPanics(t *testing.T) {
	w, cookie := scanWorld(t)
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		checker regcheck.Checker
		file    string
	}{
		"dialer":   {regcheck.Checker{Dialer: panicky{}, Egress: policy}, dockerConfig},
		"resolver": {regcheck.Checker{Resolver: panicky{}}, `{"auths": {"r.example.com": {"auth": "YWRhOmh1bnRlcjI="}}}`},
	} {
		w.configure(func(c *Config) { c.Checks = checks.New(w.db, w.Registries, &row.checker, checks.Limits{}, time.Now) })
		fields := chosen(w.scan(t, cookie, row.file, "do", "list"))
		got := w.scan(t, cookie, row.file, append(fields, "do", "check")...)
		if got.Code != http.StatusInternalServerError || !strings.Contains(got.Body.String(), "Reference: <code>ref-1</code>") {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		if got.err == nil || !strings.Contains(got.err.Error(), "panicky") || strings.Contains(got.err.Error(), "hunter2") {
			t.Errorf("%s: logged as %v", name, got.err)
		}
	}
}
