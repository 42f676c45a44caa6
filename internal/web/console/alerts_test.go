package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// alertWorld is a console with alerts, and the path of its project.
func alertWorld(t *testing.T) (w *world, cookie, project string) {
	t.Helper()
	w = mustWorld(t, false)
	w.configure(func(c *Config) {
		c.Alerts = alerts.New(w.db, alerts.Config{Mail: &alerts.Mail{}, MailDomains: []string{"acme.example"},
			Links: "https://regwarden.acme.example/confirm/"})
	})
	cookie = w.mustLogin()
	page := w.send("GET", pathAlerts, "", "Cookie", cookie).Body.String()
	_, project, _ = strings.Cut(page, `href="`+pathAlerts+`/`)
	project, _, _ = strings.Cut(project, "/")
	if len(project) != 36 || !strings.Contains(page, "No channels yet") {
		t.Fatalf("the project %q of %s", project, page)
	}
	return w, cookie, project
}

// stored returns the only channel.
func (w *world) stored(t *testing.T) (channel store.Channel) {
	t.Helper()
	err := w.db.View(t.Context(), func(tx *store.Tx) error {
		org, err := tx.Orgs.ByName(t.Context(), "acme")
		if err != nil {
			return err
		}
		list, err := tx.Channels.OfOrg(t.Context(), org.UID)
		if len(list) == 1 {
			channel = list[0]
		}
		return err
	})
	if err != nil || channel.UID == "" {
		t.Fatalf("%+v, %v", channel, err)
	}
	return channel
}

func webhookForm(changes ...string) string {
	form := url.Values{"component": {alerts.RegistryHealth}, "http.url": {"https://hooks.acme.example/marked-path"},
		"http.method": {"POST"}, "template": {"slack"},
		"http.headers": {"Authorization: Bearer marked-value\r\nX-Team: <b>"}, "isActive": {"true"}}
	for i := 0; i+1 < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return form.Encode()
}

// What a webhook is sent with is stored, and in no page.
func TestSecretsOfWebhooksAreInNoPage(t *testing.T) {
	w, cookie, project := alertWorld(t)
	got := w.send("POST", pathAlerts+"/"+project+"/http", webhookForm("template", "pagerduty", "routingKey", "marked-key"), "Cookie",
		cookie)
	path := strings.TrimSuffix(got.Header().Get("Location"), "?notice=channelCreated")
	if got.Code != http.StatusSeeOther || !strings.HasPrefix(path, pathAlerts+"/"+project+"/RegistryHealth/") {
		t.Fatalf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	before := w.stored(t)
	if h := before.HTTP; h.URL != "https://hooks.acme.example/marked-path" || h.Headers["Authorization"] != "Bearer marked-value" ||
		!strings.Contains(h.Body, `"marked-key"`) || h.Secret == "" || !before.Active {
		t.Errorf("stored: %+v", h.Headers)
	}
	refused := w.send("POST", path, webhookForm("http.url", "ftp://marked-url", "template", "body", "http.body", "marked-body {{wrong}}",
		"http.secret", "secret", "http.method", "PUT"), "Cookie", cookie)
	page := refused.Body.String()
	if refused.Code != http.StatusBadRequest || !strings.Contains(page, "URL must be a URL such as") ||
		!strings.Contains(page, "has unknown placeholders: {{wrong}}") || !strings.Contains(page, `value="PUT" selected`) {
		t.Errorf("%d %s", refused.Code, page)
	}
	for _, page := range []string{page, w.send("GET", path, "", "Cookie", cookie).Body.String(),
		w.send("GET", pathAlerts, "", "Cookie", cookie).Body.String()} {
		if !strings.Contains(page, "hooks.acme.example") || strings.Contains(page, "marked-") ||
			strings.Contains(page, before.HTTP.Secret) {
			t.Errorf("the page has a secret, or lacks the host:\n%s", page)
		}
	}
}

func TestChangeOfWebhooks(t *testing.T) {
	w, cookie, project := alertWorld(t)
	path := strings.TrimSuffix(w.send("POST", pathAlerts+"/"+project+"/http", webhookForm(), "Cookie", cookie).Header().Get("Location"),
		"?notice=channelCreated")
	first := w.stored(t)
	for _, tt := range []struct {
		what    string
		changes []string
		status  int
		url     string
		headers int
		body    string
	}{
		{"empty fields change nothing", []string{"http.url", "", "template", "", "http.headers", ""}, 303, first.HTTP.URL, 2,
			first.HTTP.Body},
		{"a header without a value has the stored one", []string{"http.url", "", "template", "", "http.headers", "authorization:"}, 303,
			first.HTTP.URL, 1, first.HTTP.Body},
		{"a header that is not stored", []string{"http.url", "", "template", "", "http.headers", "X-Other"}, 400, first.HTTP.URL, 1,
			first.HTTP.Body},
		{"a header twice", []string{"http.headers", "X-A: 1\nX-A: 2"}, 400, first.HTTP.URL, 1, first.HTTP.Body},
		{"stored secrets are not sent to another host", []string{"http.url", "https://other.acme.example/", "template", "", "http.headers",
			""}, 400, first.HTTP.URL, 1, first.HTTP.Body},
		{"a body that would be ignored", []string{"template", "", "http.body", "{}"}, 400, first.HTTP.URL, 1, first.HTTP.Body},
		{"no key of PagerDuty", []string{"template", "pagerduty"}, 400, first.HTTP.URL, 1, first.HTTP.Body},
		{"unknown template", []string{"template", "other"}, 400, first.HTTP.URL, 1, first.HTTP.Body},
		{"Opsgenie", []string{"template", "opsgenie"}, 303, first.HTTP.URL, 2, "{{opsgenie}}"},
		{"another host", []string{"http.url", "https://other.acme.example/", "template", "json", "http.headers", "", "removeHeaders",
			"true"}, 303, "https://other.acme.example/", 0, ""},
	} {
		got := w.send("POST", path, webhookForm(tt.changes...), "Cookie", cookie)
		if h := w.stored(t).HTTP; got.Code != tt.status || h.URL != tt.url || len(h.Headers) != tt.headers || h.Body != tt.body ||
			h.Secret != first.HTTP.Secret {
			t.Errorf("%s: %d, %d headers, body %q: %s", tt.what, got.Code, len(h.Headers), h.Body, got.Body)
		}
		if tt.status == http.StatusBadRequest && !strings.Contains(got.Body.String(), `<a href="#field-`) {
			t.Errorf("%s: no field has the problem: %s", tt.what, got.Body)
		}
	}
	if got := w.send("POST", path+"/delete", "", "Cookie", cookie); got.Header().Get("Location") != pathAlerts+"?notice=channelDeleted" {
		t.Errorf("delete: %d %v", got.Code, got.Header())
	}
	if got := w.send("GET", path, "", "Cookie", cookie); got.Code != http.StatusNotFound {
		t.Errorf("after the deletion: %d", got.Code)
	}
}

// A generated secret is shown where the receiver can verify signatures, and only in the response to the creation.
func TestSigningSecretIsShownOnce(t *testing.T) {
	w, cookie, project := alertWorld(t)
	got := w.send("POST", pathAlerts+"/"+project+"/http", webhookForm("template", "json"), "Cookie", cookie)
	c := w.stored(t)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), c.HTTP.Secret) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	page := w.send("GET", channelView{alerts.Channel{UID: c.UID, Scope: alerts.Scope{ProjectUID: project, Component: c.Component}}}.Path(),
		"", "Cookie", cookie)
	if page.Code != http.StatusOK || strings.Contains(page.Body.String(), c.HTTP.Secret) {
		t.Errorf("%d %s", page.Code, page.Body)
	}
}

func TestEmailChannel(t *testing.T) {
	w, cookie, project := alertWorld(t)
	form := url.Values{"component": {alerts.APIKeyExpiry}, "identifiers": {"ops@acme.example\r\n<b>"}}
	got := w.send("POST", pathAlerts+"/"+project+"/email", form.Encode(), "Cookie", cookie)
	if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "Addresses line 2 must be an email address") ||
		!strings.Contains(got.Body.String(), "ops@acme.example\r\n&lt;b&gt;</textarea>") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	form.Set("identifiers", "ops@acme.example\r\n\r\nguest@other.example")
	got = w.send("POST", pathAlerts+"/"+project+"/email", form.Encode(), "Cookie", cookie)
	if c := w.stored(t); got.Code != http.StatusSeeOther || c.Active || c.Component != alerts.APIKeyExpiry || len(c.Identifiers) != 2 {
		t.Errorf("%d %+v", got.Code, c)
	}
	page := w.send("GET", got.Header().Get("Location"), "", "Cookie", cookie).Body.String()
	for _, want := range []string{"<li>ops@acme.example: gets alerts</li>", "<li>guest@other.example: has not confirmed its link yet</li>",
		"The channel is stored.", "Sends alerts</dt><dd>No<"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	if list := w.send("GET", pathAlerts, "", "Cookie", cookie).Body.String(); !strings.Contains(list, "1 address not confirmed") {
		t.Errorf("the list: %s", list)
	}
}

// Members see the channels of their projects, and change nothing.
func TestAlertsOfMembers(t *testing.T) {
	w, cookie, project := alertWorld(t)
	path := strings.TrimSuffix(w.send("POST", pathAlerts+"/"+project+"/http", webhookForm(), "Cookie", cookie).Header().Get("Location"),
		"?notice=channelCreated")
	other := w.member(t, "other@acme.example")
	if page := w.send("GET", pathAlerts, "", "Cookie", other).Body.String(); !strings.Contains(page,
		"You are a member of no project yet") || strings.Contains(page, "hooks.acme.example") {
		t.Errorf("without a project: %s", page)
	}
	if got := w.send("GET", path, "", "Cookie", other); got.Code != http.StatusNotFound {
		t.Errorf("without a project: %d", got.Code)
	}
	mate := w.member(t, "mate@acme.example", project)
	for _, target := range []string{pathAlerts, path} {
		page := w.send("GET", target, "", "Cookie", mate)
		if got := page.Body.String(); page.Code != http.StatusOK || !strings.Contains(got, "hooks.acme.example") ||
			strings.Contains(got, "Send test") || strings.Contains(got, "/http") || strings.Contains(got, "Delete") {
			t.Errorf("%s: %d %s", target, page.Code, got)
		}
	}
	for method, targets := range map[string][]string{"GET": {pathAlerts + "/" + project + "/http"},
		"POST": {pathAlerts + "/" + project + "/http", path, path + "/test", path + "/delete"}} {
		for _, target := range targets {
			if got := w.send(method, target, webhookForm(), "Cookie", mate); got.Code != http.StatusForbidden {
				t.Errorf("%s %s: %d", method, target, got.Code)
			}
		}
	}
	if w.stored(t).HTTP.URL == "" {
		t.Error("the channel was changed")
	}
}

// member creates a member of projects, and returns the cookie of its login.
func (w *world) member(t *testing.T, address string, projects ...string) string {
	t.Helper()
	tokens, err := w.Auth.Logins.Login(t.Context(), audit.Origin{}, auth.Credentials{Org: "Acme", Email: email, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := w.Auth.Authenticator.Authenticate(t.Context(), auth.Presented{Authorization: tokens.Authorization})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Directory.CreateUser(t.Context(), admin, audit.Origin{},
		directory.NewUser{Email: address, Password: password, Projects: directory.Members(projects)}); err != nil {
		t.Fatal(err)
	}
	got := w.send("POST", pathLogin, url.Values{"org": {"Acme"}, "emailId": {address}, "password": {password}}.Encode())
	return got.Result().Cookies()[0].Name + "=" + got.Result().Cookies()[0].Value
}

func TestMoreProjectsThanOnePage(t *testing.T) {
	w, cookie, _ := alertWorld(t)
	for i := range 60 {
		err := w.db.InTx(t.Context(), func(tx *store.Tx) error {
			org, err := tx.Orgs.ByName(t.Context(), "acme")
			if err != nil {
				return err
			}
			name := fmt.Sprintf("p%02d", i)
			return tx.Projects.Insert(t.Context(), store.Project{UID: name, OrgUID: org.UID, Name: name, Canonical: name,
				CreatedAt: time.Now()})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	first := w.send("GET", pathAlerts, "", "Cookie", cookie).Body.String()
	second := w.send("GET", pathAlerts+"?page=2", "", "Cookie", cookie).Body.String()
	if !strings.Contains(first, `<a rel="next" href="/console/alerts?page=2">`) || strings.Contains(first, "Project p59") ||
		strings.Contains(first, `rel="prev"`) {
		t.Error(first)
	}
	if !strings.Contains(second, `<a rel="prev" href="/console/alerts?page=1">`) || !strings.Contains(second, "Project p59") ||
		strings.Contains(second, "Project p00<") || strings.Contains(second, `rel="next"`) {
		t.Error(second)
	}
	for _, form := range []string{"mute", "reminders"} {
		refused := w.send("POST", pathAlerts+"/"+form, "days=x", "Cookie", cookie)
		if next := w.link(t, linkNext, refused.Body.String()); refused.Code != http.StatusBadRequest || next != pathAlerts+"?page=2" {
			t.Errorf("%s: %d, the next page is %s", form, refused.Code, next)
		}
	}
}

// The label of a mute is the one that registries have, also if it was pasted with spaces.
func TestMutePastedLabel(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	form := url.Values{"label": {" team=a "}, "until": {time.Now().UTC().Add(time.Hour).Format(formMinute)}}
	sent := w.send("POST", pathAlerts+"/mute", form.Encode(), "Cookie", cookie)
	list, err := w.Mutes.List(t.Context(), w.mustIdentify(cookie))
	if err != nil || len(list) != 1 || list[0].Label != "team=a" {
		t.Errorf("%d, %+v, %v", sent.Code, list, err)
	}
}
