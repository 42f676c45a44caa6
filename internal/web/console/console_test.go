package console

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/bulk"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/expiries"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/service/hashing/hashingtest"
	"github.com/regwarden/regwarden/internal/service/invitations"
	"github.com/regwarden/regwarden/internal/service/mutes"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/secondfactor"
	"github.com/regwarden/regwarden/internal/service/tenants"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/internal/web/console/changelog"
	"github.com/regwarden/regwarden/internal/web/console/people"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/secret"
)

const (
	email    = "admin@acme.example"
	password = "seven lanterns on the quay"
)

// world is a console on a new store with one administrator.
type world struct {
	*Console
	t      *testing.T
	db     *store.DB
	logins []error
}

func mustWorld(t *testing.T, secure bool) *world {
	t.Helper()
	return mustWorldOn(t, nil, secure)
}

// mustWorldOn is mustWorld on PostgreSQL unless server is nil.
func mustWorldOn(t *testing.T, server *postgrestest.Server, secure bool) *world {
	t.Helper()
	options := store.Options{Timeout: storetest.LongTimeout, DataDir: t.TempDir()}
	options.DatabaseURL = secret.String(storetest.Create(t, options.DataDir, server))
	db, err := store.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	service, err := auth.New(t.Context(), db, auth.Config{LoginWait: time.Minute, PollTime: time.Minute, ComputeHash: hashingtest.Compute})
	if err != nil {
		t.Fatal(err)
	}
	people := directory.New(db, service.Passwords, time.Now)
	if err := people.Bootstrap(t.Context(), audit.Origin{}, "Acme", email, password); err != nil {
		t.Fatal(err)
	}
	w, stored := &world{t: t, db: db}, registries.New(db, registries.Limits{}, time.Now)
	watched, alerting := watch.New(db, stored, nil, time.Now), alerts.New(db, alerts.Config{})
	issuers := federation.New(db, service.Logins, federation.Config{Now: time.Now})
	w.Console, err = New(Config{Auth: service, SSO: federation.NewSSO(issuers, "https://regwarden.example.com", 0),
		Directory: people, Roles: roles.New(db, time.Now), Factors: secondfactor.New(db, service.Logins, time.Now),
		Devices:    federation.NewDevices(issuers, "https://regwarden.example.com"),
		Registries: stored, Watch: watched,
		ContentSync: contentsync.New(db, stored, nil, time.Now), Checks: checks.New(db, stored, nil, checks.Limits{}, time.Now),
		Alerts: alerting, Mutes: mutes.New(db, time.Now), Invitations: &invitations.Service{
			Invitations: directory.Invitations{Directory: people}, Mailer: alerting.Mailer,
			Links: "https://console.test/console/invitation/"},
		Tenants: tenants.New(db, time.Now), Bulk: bulk.New(stored, watched),
		Expiry: expiries.Service{Registries: stored, Keys: service.APIKeys, DB: db, Now: time.Now}, Secure: secure, Now: time.Now,
		CountLogin: func(err error) { w.logins = append(w.logins, err) }})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// configure changes the configuration of the console.
func (w *world) configure(change func(*Config)) {
	w.t.Helper()
	config := w.Config
	change(&config)
	console, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Console = console
}

// response is a response with the error that ServePage returned.
type response struct {
	*httptest.ResponseRecorder
	err error
}

// send sends a request; headers come as name, value, name, value.
func (w *world) send(method, target, form string, headers ...string) response {
	w.t.Helper()
	request := httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(form))
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	if form != "" && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	recorder := httptest.NewRecorder()
	err := w.ServePage(recorder, request, audit.Origin{RequestID: "ref-1", Address: "192.0.2.1"})
	return response{recorder, err}
}

func loginForm(password string) string {
	return url.Values{"org": {"Acme"}, "emailId": {email}, "password": {password}}.Encode()
}

// mustLogin returns the cookie of a login.
func (w *world) mustLogin() string {
	w.t.Helper()
	got := w.send("POST", pathLogin, loginForm(password))
	if got.Code != http.StatusSeeOther || got.err != nil || got.Header().Get("Location") != pathOverview {
		w.t.Fatalf("the login returns %d, %v, %v", got.Code, got.Header(), got.err)
	}
	return got.Result().Cookies()[0].Name + "=" + got.Result().Cookies()[0].Value
}

// mustIdentify returns the principal of a cookie.
func (w *world) mustIdentify(cookie string) auth.Principal {
	w.t.Helper()
	_, reference, _ := strings.Cut(cookie, "=")
	p, err := w.Auth.Authenticator.AuthenticateConsole(w.t.Context(), secret.String(reference))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func TestCookieOfTheSession(t *testing.T) {
	for secure, want := range map[bool]string{
		true:  "__Host-regwarden-session=rwc_; Path=/; HttpOnly; Secure; SameSite=Strict",
		false: "regwarden-session=rwc_; Path=/; HttpOnly; SameSite=Strict",
	} {
		w := mustWorld(t, secure)
		got := w.send("POST", pathLogin, loginForm(password)).Result().Cookies()
		if len(got) != 2 || got[0].Expires.Before(time.Now().AddDate(0, 0, 29)) {
			t.Fatalf("cookies: %v", got)
		}
		got[0].Value, got[0].Expires = got[0].Value[:4], time.Time{}
		if got[0].String() != want {
			t.Errorf("got %s, want %s", got[0], want)
		}
	}
}

func TestSessionOfABrowser(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	tokens, err := w.Auth.Logins.Login(t.Context(), audit.Origin{}, auth.Credentials{Org: "Acme", Email: email, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.send("GET", pathOverview, "", "Cookie", cookie); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), email) {
		t.Fatalf("with a session: %d %s", got.Code, got.Body)
	}
	name, value, _ := strings.Cut(cookie, "=")
	for what, sent := range map[string][]string{
		"no cookie":                   nil,
		"another name":                {"Cookie", "regwarden-session=" + value},
		"a token":                     {"Cookie", name + "=" + tokens.Authorization.Reveal()},
		"two cookies":                 {"Cookie", cookie + "; " + name + "=rwc_planted"},
		"a token in its header":       {"Authorization", tokens.Authorization.Reveal()},
		"the reference in the header": {"Authorization", value},
	} {
		got := w.send("GET", pathOverview, "", sent...)
		if got.Code != http.StatusSeeOther || !strings.HasPrefix(got.Header().Get("Location"), pathLogin) {
			t.Errorf("%s: %d %v", what, got.Code, got.Header())
		}
	}
	if _, err := w.Auth.Authenticator.Authenticate(t.Context(),
		auth.Presented{Authorization: "Bearer rwc_" + tokens.Refresh}); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the API accepts a reference: %v", err)
	}
	got := w.send("POST", "/console/logout", "", "Cookie", cookie)
	if cleared := got.Result().Cookies(); got.Code != http.StatusSeeOther || len(cleared) != 1 || cleared[0].MaxAge != -1 {
		t.Errorf("the logout returns %d, %v", got.Code, got.Header())
	}
	if got := w.send("GET", pathOverview+"?a=b", "", "Cookie", cookie); got.Header().Get("Location") != pathLogin+"?notice=ended" {
		t.Errorf("after the logout: %d %v", got.Code, got.Header())
	}
}

// After a change of the password, only the new cookie counts.
func TestPasswordChangeRenewsTheCookie(t *testing.T) {
	w := mustWorld(t, true)
	cookie, other := w.mustLogin(), w.mustLogin()
	change := func(current string) response {
		form := url.Values{"currentPassword": {current}, "newPassword": {"two herons in the reeds"}}
		return w.send("POST", pathSessions+"/password", form.Encode(), "Cookie", cookie)
	}
	if got := change("five lanterns on the quay"); got.Code != http.StatusBadRequest || len(got.Result().Cookies()) > 0 {
		t.Errorf("with a wrong password: %d %v", got.Code, got.Header())
	}
	got := change(password)
	set := got.Result().Cookies()
	if got.Code != http.StatusSeeOther || len(set) != 1 || !set[0].Secure || !set[0].HttpOnly ||
		set[0].Expires.Before(time.Now().Add(time.Hour)) {
		t.Fatalf("%d %v", got.Code, got.Header())
	}
	renewed := set[0].Name + "=" + set[0].Value
	for what, row := range map[string]struct {
		cookie string
		status int
	}{"new": {renewed, http.StatusOK}, "former": {cookie, http.StatusSeeOther}, "other": {other, http.StatusSeeOther}} {
		if got := w.send("GET", pathOverview, "", "Cookie", row.cookie); got.Code != row.status {
			t.Errorf("the %s cookie: %d", what, got.Code)
		}
	}
	if got := change(password); got.Header().Get("Location") != pathLogin+"?notice=maybeChanged" {
		t.Errorf("sent again with the former cookie: %v", got.Header())
	}
}

// A form that is sent after the end of the session leads back to it, and its user sees that nothing was changed.
func TestChangeAfterTheEndOfTheSession(t *testing.T) {
	w := mustWorld(t, true)
	for _, tt := range []struct{ path, referer, want string }{
		{pathProjects + "/new", "https://127.0.0.1/console/projects/new?a=b&notice=keySaved",
			pathLogin + "?next=%2Fconsole%2Fprojects%2Fnew%3Fa%3Db&notice=notChanged"},
		{pathProjects + "/new", "", pathLogin + "?notice=notChanged"},
		{pathProjects + "/new", "https://127.0.0.1/%zz", pathLogin + "?notice=notChanged"},
		{pathLogout, "https://127.0.0.1/console/", pathLogin + "?notice=loggedOut"},
	} {
		for _, cookie := range []string{"", "__Host-" + sessionCookie + "=rwc_ended"} {
			got := w.send("POST", tt.path, "name=x", "Referer", tt.referer, "Cookie", cookie)
			if got.Code != http.StatusSeeOther || got.Header().Get("Location") != tt.want {
				t.Errorf("%+v: %d %v", tt, got.Code, got.Header())
			}
		}
	}
}

// A link on another site leads to a page without the cookie, although the browser has it: the page loads itself again.
func TestLinkFromAnotherSite(t *testing.T) {
	w := mustWorld(t, true)
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}
	got := w.send("GET", "/console/nothing", "", link...)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `<meta http-equiv="refresh" content="0">`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := w.send("GET", pathOverview, "", append(link, "Cookie", w.mustLogin())...); !strings.Contains(got.Body.String(),
		"<h1>Overview") {
		t.Errorf("with a cookie: %s", got.Body)
	}
}

func TestChangesFromOtherSitesAreRefused(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	for _, path := range []string{pathLogin, "/console/logout", "/console/theme"} {
		for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
			{"Origin", "https://evil.example"}, {"Origin", "null"}} {
			got := w.send("POST", path, loginForm(password), append(header, "Cookie", cookie)...)
			if got.Code != http.StatusForbidden || len(got.Result().Cookies()) > 0 {
				t.Errorf("%s with %v: %d %v", path, header, got.Code, got.Header())
			}
		}
	}
	if got := w.send("GET", pathOverview, "", "Cookie", cookie); got.Code != http.StatusOK {
		t.Errorf("the session has ended: %d", got.Code)
	}
}

// A form that was opened before another user logged in from another tab is not stored in the name of that user.
func TestFormOfAnotherUserIsRefused(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	p := w.mustIdentify(cookie)
	for _, tt := range []struct {
		opener string
		status int
	}{{"", http.StatusSeeOther}, {p.UserUID, http.StatusSeeOther}, {"another user", http.StatusConflict}} {
		name := "Opened by " + tt.opener + "."
		got := w.send("POST", pathProjects+"/new", url.Values{"name": {name}, "openedBy": {tt.opener}}.Encode(), "Cookie", cookie)
		if got.Code != tt.status {
			t.Errorf("opened by %q: %d %s", tt.opener, got.Code, got.Body)
		}
		list := w.send("GET", pathProjects, "", "Cookie", cookie).Body.String()
		if stored := strings.Contains(list, name+"<"); stored != (tt.status == http.StatusSeeOther) {
			t.Errorf("opened by %q: stored is %t", tt.opener, stored)
		}
	}
	if got := w.send("POST", "/console/theme", "theme=dark&openedBy=another"); got.Code != http.StatusSeeOther {
		t.Errorf("a form for everyone: %d", got.Code)
	}
}

func TestRefusedLogin(t *testing.T) {
	w := mustWorld(t, true)
	got := w.send("POST", pathLogin, loginForm("five lanterns on the quay"))
	page := got.Body.String()
	if got.Code != http.StatusUnauthorized || fault.KindOf(got.err) != fault.Unauthenticated ||
		!strings.Contains(page, "Wrong email, organization or password.") ||
		!strings.Contains(page, `value="`+email) || strings.Contains(page, "five lanterns") || len(got.Result().Cookies()) > 0 {
		t.Errorf("%d %v\n%s", got.Code, got.err, page)
	}
	if got := w.send("POST", pathLogin, "emailId=x"); got.Code != http.StatusBadRequest ||
		!strings.Contains(got.Body.String(), `<a href="#field-org">Organization is required</a>`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := w.send("POST", pathLogin, "org="+strings.Repeat("x", maxForm)); got.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a form that is too large: %d", got.Code)
	}
	if len(w.logins) != 1 || fault.KindOf(w.logins[0]) != fault.Unauthenticated {
		t.Errorf("counted: %v", w.logins)
	}
}

func TestThrottledLoginReportsTheWait(t *testing.T) {
	w := mustWorld(t, true)
	for range 12 {
		if got := w.send("POST", pathLogin, loginForm("five lanterns on the quay")); got.Code == http.StatusTooManyRequests {
			if !strings.Contains(got.Body.String(), "Too many failed logins. Try again in "+got.Header().Get("Retry-After")+" second") {
				t.Errorf("%v\n%s", got.Header(), got.Body)
			}
			return
		}
	}
	t.Error("no login was throttled")
}

// unreadable is a body of a page that takes no form.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body of a request without a form was read")
	return 0, io.ErrUnexpectedEOF
}

// net/http would write the files of a form to disk, without a limit and whatever the method is.
func TestOnlyFormsAreRead(t *testing.T) {
	w := mustWorld(t, false)
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
		for _, target := range []string{pathLogin, pathLogin + "?next=/console/x", pathOverview, "/console/theme"} {
			request := httptest.NewRequestWithContext(t.Context(), method, target, unreadable{t})
			request.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			recorder := httptest.NewRecorder()
			_ = w.ServePage(recorder, request, audit.Origin{})
			if target == pathLogin+"?next=/console/x" && method == "GET" &&
				!strings.Contains(recorder.Body.String(), `value="/console/x"`) {
				t.Errorf("the login leads to another page: %s", recorder.Body)
			}
		}
	}
}

// Every page has the policies, also that of an error.
func TestHeadersOfPages(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	for target, status := range map[string]int{pathLogin: 303, pathOverview: 200, "/console/nothing": 404, views.PathStatic + "x/y": 404} {
		got := w.send("GET", target, "", "Cookie", cookie)
		if got.Code != status || got.Header().Get("Content-Security-Policy") != policy ||
			got.Header().Get("Referrer-Policy") != "same-origin" || got.Header().Get("Cross-Origin-Opener-Policy") != "same-origin" ||
			strings.Contains(got.Header().Get("Cache-Control"), "public") {
			t.Errorf("%s: %d %v", target, got.Code, got.Header())
		}
		if page := got.Body.String(); strings.Contains(page, "style=") || strings.Contains(page, "<style") ||
			strings.Contains(page, "javascript:") || strings.Contains(page, " onclick") {
			t.Errorf("%s has what the policy forbids:\n%s", target, page)
		}
	}
	for _, method := range []string{"GET", "POST"} { // the files of the page, and the form, are requested without its key
		if got := w.send(method, people.PathInvitation+"rwi_x", ""); got.Header().Get("Referrer-Policy") != "strict-origin" {
			t.Errorf("%s of an invitation: %v", method, got.Header())
		}
	}
	for _, method := range []string{"PUT", "OPTIONS", "DELETE"} {
		if got := w.send(method, pathOverview, "", "Cookie", cookie); got.Code != http.StatusMethodNotAllowed || got.err == nil ||
			got.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, got.Code)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Error("the policy allows what is unsafe")
	}
}

var stylesheet = regexp.MustCompile(views.PathStatic + `[0-9a-f]+/console\.css`)

func TestAssets(t *testing.T) {
	w := mustWorld(t, true)
	style := stylesheet.FindString(w.send("GET", pathLogin, "").Body.String())
	got := w.send("GET", style, "", "Accept-Encoding", "br, gzip")
	unzipped, err := gzip.NewReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	plain := w.send("GET", style, "")
	if err != nil || !bytes.Equal(text, plain.Body.Bytes()) || len(text) < 1000 ||
		plain.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%v, %v", plain.Header(), err)
	}
	for _, response := range []response{got, plain} {
		if response.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" ||
			response.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%v", response.Header())
		}
	}
	older := w.send("GET", views.PathStatic+"0123456789abcdef/console.css", "")
	if older.Code != http.StatusOK || strings.Contains(older.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("of another version: %d %v", older.Code, older.Header())
	}
}

// A successful login fills in the organization of the next one in the same browser, and a failed one does not.
func TestOrganizationOfTheLastLogin(t *testing.T) {
	w := mustWorld(t, false)
	if got := w.send("POST", pathLogin, loginForm("five lanterns on the quay")).Header().Values("Set-Cookie"); len(got) > 0 {
		t.Errorf("a failed login sets %v", got)
	}
	sent := w.send("POST", pathLogin, loginForm(password)).Result().Cookies()[1].Value
	for value, want := range map[string]string{sent: `value="Acme"`, "": "", "%zz": "",
		"%22%3E%3Cscript%3E": `value="&#34;&gt;&lt;script&gt;"`} {
		page := w.send("GET", pathLogin, "", "Cookie", orgCookie+"="+value).Body.String()
		if !strings.Contains(page, want) || strings.Contains(page, "value=\"Acme") != (value == sent) {
			t.Errorf("%s: %s", value, page)
		}
	}
}

func TestTheme(t *testing.T) {
	w := mustWorld(t, false)
	got := w.send("POST", "/console/theme", "theme=dark&next=/console/login")
	cookie := got.Result().Cookies()[0]
	if got.Code != http.StatusSeeOther || cookie.Value != "dark" || !cookie.HttpOnly || got.Header().Get("Location") != pathLogin {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	for value, want := range map[string]bool{"dark": true, "light": true, `"><script>`: false, "system": false} {
		page := w.send("GET", pathLogin, "", "Cookie", themeCookie+"="+value).Body.String()
		if strings.Contains(page, `data-theme="`+value+`"`) != want || strings.Contains(page, "data-theme") != want {
			t.Errorf("%s: %.200s", value, page)
		}
	}
}

// The overview counts all registries, and lists the newest failures and what expires soon.
func TestOverview(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	if page := w.send("GET", pathOverview, "", "Cookie", cookie).Body.String(); !strings.Contains(page, "has no registries yet") {
		t.Errorf("without registries: %s", page)
	}
	certificate, credentials := time.Now().Add(20*24*time.Hour+time.Hour), time.Now().Add(-3*24*time.Hour)
	w.store(t, 250, func(i int) (since time.Time, health store.HealthResult) {
		if i >= 100 {
			since = time.Now().Add(-time.Duration(i) * time.Hour)
		}
		return since, store.HealthResult{Valid: i >= 125, CertificateExpiresSoon: i == 249, CertificateNotAfter: certificate,
			CredentialsExpireSoon: i >= 248, CredentialsNotAfter: credentials,
			Message: fmt.Sprintf("The cause of r%d", i)}
	})
	page := w.send("GET", pathOverview, "", "Cookie", cookie).Body.String()
	for _, want := range []string{"health=healthy\">125<", "health=failing&amp;sort=since\">25<", "health=unknown\">100<",
		"?expiry=soon&amp;sort=expiry\">2<",
		"25 registries <span class=\"muted\">at r.example.com<", "<title>(25) Overview",
		`aria-label="25 registries failing">25<`, "r100 &lt;b&gt;", "The cause of r100", "and 5 more",
		"<td>The credentials expire soon or have expired: " +
			credentials.UTC().Format(time.DateOnly) + ", <time ", ">3 days ago</time>.",
		"<td>The certificate expires soon: " + certificate.UTC().Format(time.DateOnly) + ", <time ",
		">in 20 days</time>. The credentials expire soon"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "r120 ") || len(page) > 40_000 {
		t.Errorf("%d bytes:\n%s", len(page), page)
	}
}

// The lists of the overview are short, say that there is more, and name the registries of changes that are not in the other lists.
func TestOverviewIsShort(t *testing.T) {
	w := mustWorld(t, false)
	cookie, p := w.mustLogin(), w.admin(t)
	w.store(t, maxListed+1, func(int) (time.Time, store.HealthResult) {
		return time.Now(), store.HealthResult{Valid: true, CredentialsExpireSoon: true}
	})
	found, err := w.Registries.Search(t.Context(), p, registries.Query{Name: "r3"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	err = w.db.InTx(t.Context(), func(tx *store.Tx) (err error) {
		for i := range maxListed + 1 {
			name := fmt.Sprint("key", i)
			err = errors.Join(err, tx.APIKeys.Insert(t.Context(),
				store.APIKey{UID: uuid.NewString(), OrgUID: p.OrgUID, UserUID: p.UserUID, Name: name, Canonical: name,
					Hash: []byte(name), CreatedAt: now.Add(-2 * soon), ExpiresAt: now.Add(time.Duration(i+1) * time.Hour)}))
		}
		for i := range changelog.Max + 1 {
			record := audit.Record{UID: uuid.NewString(), At: now.Add(time.Duration(-i) * time.Minute), OrgUID: p.OrgUID,
				Action: audit.RegistryUpdate, Object: found.Items[0].UID, Outcome: audit.Succeeded}
			switch i {
			case 0:
				record.Action, record.Outcome, record.Reason = audit.RegistryWatch, audit.Valid, string(alerts.CredentialsExpireSoon)
			case 1:
				record.Action, record.Object = audit.RegistryDelete, "that of a deleted registry"
			case 2:
				record.Outcome, record.Reason = audit.Failed, "a failed change"
			}
			err = errors.Join(err, tx.Audits.Append(t.Context(), record))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page := w.send("GET", pathOverview, "", "Cookie", cookie).Body.String()
	for text, want := range map[string]int{"These are the first 5 to expire.": 2,
		"The credentials expire soon": maxListed, ">key4<": 1, ">key5<": 0,
		"r3 &lt;b&gt;</a></th><td>Credentials expire soon": 1, "r3 &lt;b&gt;</a></th><td>Changed": maxListed - 2,
		"that of a deleted registry</th><td>Deleted": 1, "a failed change": 0} {
		if n := strings.Count(page, text); n != want {
			t.Errorf("%q is %d times in the page, want %d", text, n, want)
		}
	}
}

// Beyond the registries that the overview reads, it says that there are more, and what expires first is in it.
func TestOverviewOfMany(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.store(t, maxRead+2, func(i int) (since time.Time, health store.HealthResult) {
		since = time.Now().Add(-time.Hour)
		health = store.HealthResult{Code: "newer", CredentialsExpireSoon: true, CredentialsNotAfter: since.AddDate(0, 0, 2)}
		if i == 99 { // the last one by name
			return since.AddDate(0, 0, -1), store.HealthResult{Code: "older", CredentialsExpireSoon: true,
				CredentialsNotAfter: since.AddDate(0, 0, 1)}
		}
		return since, health
	})
	page := w.send("GET", pathOverview, "", "Cookie", cookie).Body.String()
	for _, want := range []string{"Show all failing registries", "at least 500 registries", "and at least 480 more", "at least 501</a>",
		"r99 &lt;b&gt;</a>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
}

// store adds registries named r0 <b> and so on, with the health that is returned for each.
func (w *world) store(t *testing.T, n int, health func(int) (time.Time, store.HealthResult)) {
	t.Helper()
	now, numbers, org := time.Now(), map[string]int{}, ""
	err := w.db.InTx(t.Context(), func(tx *store.Tx) error {
		found, err := tx.Orgs.ByName(t.Context(), "acme")
		if err != nil {
			return err
		}
		org = found.UID
		for i := range n {
			r := store.Registry{UID: uuid.NewString(), OrgUID: org, Name: fmt.Sprintf("r%d <b>", i), Canonical: fmt.Sprintf("r%d <b>", i),
				Version: 1, CreatedAt: now, UpdatedAt: now, Endpoint: "https://r.example.com"}
			numbers[r.UID] = i
			if err := errors.Join(tx.Registries.Insert(t.Context(), r), tx.Watch.Schedule(t.Context(), org, r.UID, now)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = w.db.InTx(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.Watch.Claim(t.Context(), "test", now, now.Add(time.Hour), []store.Share{{OrgUID: org, Count: n}})
		for _, row := range rows {
			row.Since, row.State = health(numbers[row.RegistryUID])
			row.LastAt, row.LeaseOwner = now, "test"
			err = errors.Join(err, tx.Watch.End(t.Context(), row, 1,
				store.HealthPeriod{Since: now, LastAt: now, Counted: true, Result: row.State}))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A large page is counted while it is sent, and refused when too many are.
func TestLargePagesAreCounted(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.store(t, 40, func(int) (time.Time, store.HealthResult) {
		return time.Now(), store.HealthResult{Message: strings.Repeat("m", 1000), Hint: strings.Repeat("h", 1000)}
	})
	counted, refusal := int64(0), error(nil)
	w.Reserve = func(p auth.Principal, n int64) (func(), error) {
		if p.Email != email {
			t.Errorf("counted for %+v", p)
		}
		counted += n
		return func() { counted -= n }, refusal
	}
	page := w.send("GET", pathRegistries, "", "Cookie", cookie)
	if page.Code != http.StatusOK || page.Body.Len() < smallPage || counted != 0 {
		t.Errorf("%d with %d bytes, %d counted", page.Code, page.Body.Len(), counted)
	}
	refusal = fault.Busy("Too many large responses.", time.Second)
	if page := w.send("GET", pathRegistries, "", "Cookie", cookie); page.Code != http.StatusServiceUnavailable || counted == 0 {
		t.Errorf("refused: %d, %d counted", page.Code, counted)
	}
}

// Callers without a session share a part of the budget, which has no limit for a caller without a uid.
func TestLargePagesWithoutASessionAreCounted(t *testing.T) {
	w, counted := mustWorld(t, false), 0
	w.Reserve = func(p auth.Principal, _ int64) (func(), error) {
		if counted++; p.UserUID == "" || p.OrgUID == "" {
			t.Errorf("counted for %+v", p)
		}
		return func() {}, nil
	}
	if page := w.send("GET", pathDocs+"/registries", ""); page.Code != http.StatusOK || page.Body.Len() < smallPage || counted != 1 {
		t.Errorf("%d with %d bytes, %d counted", page.Code, page.Body.Len(), counted)
	}
}

// A panic is the page of errors with the reference, and an error for the log without the panic's value.
func TestPanicOfAPage(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	w.configure(func(c *Config) { c.Directory = nil })
	got := w.send("GET", pathUsers, "", "Cookie", cookie)
	if got.Code != http.StatusInternalServerError || !strings.Contains(got.Body.String(), "Reference: <code>ref-1</code>") ||
		got.err == nil || !strings.Contains(got.err.Error(), "users.go") {
		t.Errorf("%d, %v\n%s", got.Code, got.err, got.Body)
	}
	recorder := httptest.NewRecorder()
	begun := &call{Request: httptest.NewRequestWithContext(t.Context(), "GET", pathCheck, nil), ResponseWriter: recorder,
		console: w.Console}
	w.serve(begun, route{anonymous: true, handle: func(c *call) error {
		c.begin(http.StatusOK)
		panic("hunter2")
	}})
	if !errors.Is(begun.err, http.ErrAbortHandler) || strings.Contains(begun.err.Error(), "hunter2") ||
		recorder.Code != http.StatusOK || recorder.Body.Len() > 0 {
		t.Errorf("after the response began: %d %s, %v", recorder.Code, recorder.Body, begun.err)
	}
}

// The navigation has the icons that it names.
func TestIconsOfTheNavigation(t *testing.T) {
	w := mustWorld(t, false)
	page := w.send("GET", pathOverview, "", "Cookie", w.mustLogin()).Body.String()
	nav := page[strings.Index(page, `aria-label="Main"`):strings.Index(page, "</nav>")]
	if icons := strings.Count(nav, "<svg"); len(w.nav) < 10 || icons != len(w.nav) {
		t.Errorf("%d icons for %d entries", icons, len(w.nav))
	}
}

// The first steps are shown to who may add registries, until all are done, or hidden.
func TestFirstSteps(t *testing.T) {
	a := mustAttacked(t)
	steps := func(cookies string) (links []string) {
		page := a.send("GET", pathOverview, "", "Cookie", cookies).Body.String()
		_, page, _ = strings.Cut(page, `id="steps"`)
		page, _, _ = strings.Cut(page, "</ul>")
		for _, link := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			links = append(links, link[1])
		}
		return links
	}
	empty := mustWorld(t, false)
	page := empty.send("GET", pathOverview, "", "Cookie", empty.mustLogin()).Body.String()
	for _, label := range []string{"Scan files", "Add one", ">Alerts</a>", "New key", "New user"} {
		if !strings.Contains(page, label) {
			t.Errorf("an empty organization lacks %q", label)
		}
	}
	if got := steps(a.mustLogin()); len(got) > 0 {
		t.Errorf("all is done, and shown: %q", got)
	}
	if got := steps(a.mate); got != nil {
		t.Errorf("shown to a member: %q", got)
	}
	err := a.db.InTx(t.Context(), func(tx *store.Tx) error {
		channels, err := tx.Channels.OfOrg(t.Context(), a.principal.OrgUID)
		for _, c := range channels {
			err = errors.Join(err, tx.Channels.Delete(t.Context(), c.OrgUID, c.UID))
		}
		return err
	})
	if got, want := steps(a.mustLogin()), []string{"/console/alerts"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
	if got := steps(a.mustLogin() + "; " + securePrefix + stepsCookie + "=hidden"); got != nil {
		t.Errorf("hidden, and shown: %q", got)
	}
}
