package console

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

// formFields are the names of all fields of forms and addresses.
var formFields = []string{"org", "emailId", "email", "password", "currentPassword", "newPassword", "user", "name", "firstName", "lastName",
	"role", "role.admin", "projects", "expiresAt", "description", "inProjects", "permission.registry.get", "users", "issuer", "clientId",
	"clientSecret", "scopes", "emailDomains", "claim.groups", "defaultTeams", "enabled", "audience", "claims", "reusable", "keys",
	"endpoint", "basePath", "baseContentPath", "providerType", "authType", "username", "token", "ca", "certificate", "key", "next", "theme",
	"notice", "filter", "report", "version", "component", "template", "http.url", "http.headers", "http.body", "identifiers", "routingKey",
	"page", "sort", "health", "continue", "history", "repository"}

func mustHostileWorld(t *testing.T) *world {
	t.Helper()
	w := mustWorldOn(t, postgrestest.Start(t, postgrestest.Options{NoSync: true, Settings: postgrestest.LongTimeouts}), false)
	w.configure(func(c *Config) { c.Alerts = alerts.New(w.db, alerts.Config{}) })
	return w
}

// No input is an error of the service, becomes markup, or leads to another site, whichever page gets it. PostgreSQL refuses characters that
// SQLite stores.
func TestHostileInput(t *testing.T) {
	w := mustHostileWorld(t)
	for _, hostile := range []string{"\x00", "\xff", "\"><img src=x onerror=alert(1)>", "javascript:alert(1)", "//evil.example/",
		"\u202e\u0085\r\nX: y", strings.Repeat("A", 5000)} {
		cookie := w.mustLogin()
		values := url.Values{}
		for _, name := range formFields {
			values.Set(name, hostile)
		}
		for _, r := range w.routes() {
			if strings.HasSuffix(r.path, "/logout") {
				continue
			}
			target, form := parameter.ReplaceAllLiteralString(strings.TrimSuffix(r.path, "{$}"), url.PathEscape(hostile)), ""
			if r.method == http.MethodGet {
				target += "?" + values.Encode()
			} else {
				form = values.Encode()
			}
			got := w.send(r.method, target, form, "Cookie", cookie)
			if got.Code >= 500 || strings.Contains(got.Body.String(), "<img src=x") || linksToScript(got.Body.String()) {
				t.Errorf("%s %s with %.20q: %d %v %s", r.method, r.path, hostile, got.Code, got.err, got.Body)
			}
			if to := got.Header().Get("Location"); to != "" &&
				(!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\r\n")) {
				t.Errorf("%s %s with %.20q leads to %q", r.method, r.path, hostile, to)
			}
		}
	}
}

var (
	linkChannel = regexp.MustCompile(`href="(/console/alerts/[^"/]+)/http"`)
	parameter   = regexp.MustCompile(`\{[a-z]+\}`)
)

// linksToScript reports whether a page has a link to a script. A regular expression took three quarters of the time of the test, under the
// race detector.
func linksToScript(page string) bool {
	for _, attribute := range []string{"href", "src", "action"} {
		if strings.Contains(page, attribute+"=javascript:") || strings.Contains(page, attribute+`="javascript:`) {
			return true
		}
	}
	return false
}

// Each field of a form alone is hostile: the others are valid.
func TestHostileFields(t *testing.T) {
	w := mustHostileWorld(t)
	cookie := w.mustLogin()
	project := linkChannel.FindStringSubmatch(w.send("GET", pathAlerts, "", "Cookie", cookie).Body.String())[1]
	for path, valid := range map[string]url.Values{
		pathUsers + "/new": {"emailId": {"a@acme.example"}, "name": {"n"}, "firstName": {"f"}, "lastName": {"l"},
			"projects": {"Default"}, "password": {password}},
		pathProjects + "/new": {"name": {"p"}},
		"/console/roles/new":  {"name": {"r"}, "description": {"d"}, "permission.registry.get": {"true"}},
		"/console/teams/new":  {"name": {"t"}, "users": {email}, "projects": {"Default"}},
		"/console/identity-provider": {"issuer": {"https://127.0.0.1:1"}, "clientId": {"c"}, "clientSecret": {"s"}, "name": {"n"},
			"scopes": {"email"}, "emailDomains": {"example.com"}, "claim.groups": {"groups"}, "defaultTeams": {"t"}, "ca": {"c"}},
		"/console/trust-rules/new": {"name": {"t"}, "issuer": {"https://127.0.0.1:1"}, "audience": {"a"}, "claims": {"sub=x"},
			"role": {"member"}, "projects": {"Default"}, "ca": {"c"}, "keys": {"k"}},
		pathKeys + "/new": {"name": {"k"}, "expiresAt": {"2099-01-01"}, "user": {email}},
		pathNewRegistry: {"name": {"r"}, "endpoint": {"https://registry.example"}, "basePath": {"b"}, "baseContentPath": {"c"},
			"providerType": {"helm"},
			"authType":     {"basic"}, "username": {"u"}, "password": {"p"}, "ca": {"c"}, "certificate": {"c"}, "key": {"k"}},
		project + "/http": {"component": {alerts.RegistryHealth}, "http.url": {"https://hooks.example"}, "http.method": {"POST"},
			"template": {"body"}, "http.body": {"b"},
			"http.headers": {"X: y"}, "http.secret": {"sixteen bytes are needed"}},
		project + "/email": {"component": {alerts.RegistryHealth}, "identifiers": {email}},
	} {
		for name := range valid {
			for _, hostile := range []string{"\x00", "\xff", "a\u0085\u202e", strings.Repeat("A", 60_000), "operator"} {
				form := maps.Clone(valid)
				form.Set(name, hostile)
				got := w.send("POST", path, form.Encode(), "Cookie", cookie)
				if got.Code >= 500 || got.Code < 400 && hostile != "operator" && name != "http.body" || name == "role" &&
					got.Code != http.StatusBadRequest {
					t.Errorf("POST %s with %s=%.20q: %d %v", path, name, hostile, got.Code, got.err)
				}
			}
		}
	}
}
