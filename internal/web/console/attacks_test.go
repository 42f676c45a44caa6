package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/mutes"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/roles"
	"github.com/regwarden/regwarden/internal/service/trustrule"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/web/console/people"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

const (
	memberEmail    = "mate@acme.example"
	memberPassword = "eleven kettles on the stove"
	stolen         = "hidden-value-" // begins every stored secret
)

// marked returns a text that becomes an element of a page which does not escape it. Its name shows where it came from.
func marked(name string) string { return `"'><x-marker/onfocus=alert(1)>` + name }

// marks are the names of the texts that at least one page must show.
var marks = []string{"project", "key", "registry", "message", "hint", "repository", "tag", "problem", "first", "username", "endpoint",
	"role", "description", "team", "rule", "audience", "claim", "client", "provider", "groups"}

// attacked is a console whose store has markup and secrets in every field.
type attacked struct {
	*world
	admin, mate string // cookies
	principal   auth.Principal
	uids        map[string]string // values of the parameters in paths: by path, or by name
	registry    *httptest.Server
	channels    alerts.Scope
}

func mustAttacked(t *testing.T) *attacked {
	t.Helper()
	a := &attacked{world: mustWorld(t, true), uids: map[string]string{"{group}": "users", "{hash}": "x", "{file...}": "x"}}
	checker := &regcheck.Checker{Egress: egress.ForCommandLine()}
	a.Checks = checks.New(a.db, a.Registries, checker, checks.Limits{}, time.Now)
	if a.Alerts == nil {
		a.Alerts = alerts.New(a.db, alerts.Config{})
	}

	a.registry = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="<x-marker>realm"`)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"errors":[{"code":"<x-marker>","message":"<x-marker onfocus=alert(1)>"}]}`)
	}))
	t.Cleanup(a.registry.Close)
	a.admin = a.mustLogin()
	var err error
	if a.principal, err = a.Auth.Authenticator.AuthenticateConsole(t.Context(),
		secret.String(strings.SplitN(a.admin, "=", 2)[1])); err != nil {
		t.Fatal(err)
	}
	a.fill(t)
	a.mate = a.mustLoginMate()
	return a
}

func (a *attacked) mustLoginMate() string { return a.mustLoginAs("Acme", memberEmail) }

// mustLoginAs returns the cookie of a login with the password of the member.
func (a *attacked) mustLoginAs(org, email string) string {
	a.t.Helper()
	got := a.send("POST", pathLogin, url.Values{"org": {org}, "emailId": {email}, "password": {memberPassword}}.Encode())
	if got.Code != http.StatusSeeOther {
		a.t.Fatalf("the login returns %d", got.Code)
	}
	return strings.SplitN(got.Header().Get("Set-Cookie"), ";", 2)[0]
}

// fill stores an object of each kind. All belong to the administrator.
func (a *attacked) fill(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	project, err := a.Directory.CreateProject(ctx, a.principal, audit.Origin{}, directory.NewProject{Name: marked("project")})
	user, err2 := a.Directory.CreateUser(ctx, a.principal, audit.Origin{},
		directory.NewUser{Email: memberEmail, Password: memberPassword, Projects: directory.Members([]string{project.UID}),
			PersonName: directory.PersonName{FirstName: marked("first"), LastName: marked("last name")}})
	key, _, err3 := a.Auth.APIKeys.Create(ctx, a.principal, audit.Origin{},
		auth.NewAPIKey{Name: marked("key"), ExpiresAt: time.Now().Add(5 * 24 * time.Hour)})
	registry, err4 := a.Registries.Create(ctx, a.principal, audit.Origin{},
		registries.RegistryInput{Name: marked("registry"), SyncSupported: true, Scope: marked("scope"),
			Labels: map[string]string{marked("label"): marked("value")},
			Definition: regcheck.Definition{Endpoint: "https://r.example.com/" + marked("endpoint"), BaseContentPath: "charts",
				ProviderType: regcheck.Helm,
				Auth:         &regcheck.Auth{Type: regcheck.Basic, Username: marked("username"), Password: stolen + "password"}}})
	a.channels = alerts.Scope{OrgUID: a.principal.OrgUID, ProjectUID: project.UID, Component: alerts.RegistryHealth}
	channel, _, err5 := a.Alerts.Channels.Create(ctx, a.principal, audit.Origin{}, a.channels,
		alerts.Channel{Type: alerts.TypeHTTP, Active: true, HTTP: &alerts.HTTP{
			URL: secret.String("https://hooks.example.com/" + stolen + "path?x=" + url.QueryEscape(marked("url"))), Method: "POST",
			Headers: map[string]secret.String{"X-Token": stolen + "header"}, Body: stolen + "body", Secret: stolen + "signing secret"}})
	sessions, err6 := a.Auth.Sessions.List(ctx, a.principal)
	mute, err7 := a.Mutes.Create(ctx, a.principal, audit.Origin{}, mutes.Input{Label: marked("muted"), Reason: marked("reason"),
		Until: time.Now().Add(time.Hour)})
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7, a.setHealth(ctx), a.setContent(ctx), a.fillPeople(ctx)); err != nil {
		t.Fatal(err)
	}
	invited, err := a.Invitations.Invite(ctx, a.principal, audit.Origin{}, user.UID)
	if err != nil {
		t.Fatal(err)
	}
	records, err := a.Directory.Audits(ctx, a.principal, directory.AuditQuery{Request: paging.Request{Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for name, uid := range map[string]string{"/console/projects/{uid}": project.UID, "/console/users/{uid}": user.UID,
		"/console/api-keys/{uid}": key.UID, "/console/registries/{uid}": registry,
		"/console/sso/{org}": a.principal.OrgUID, "/console/invitation/{key}": invited.Key.Reveal(), "/console/alerts/unmute/{uid}": mute,
		"/console/sessions/{uid}": sessions[0].UID, "/console/audit/{uid}": records.Items[0].UID,
		"{project}": project.UID, "{component}": alerts.RegistryHealth, "{channel}": channel, "{type}": alerts.TypeHTTP} {
		a.uids[name] = uid
	}
}

// fillPeople stores a role, a team that has it, a trust rule, and an identity provider by which no user can log in.
func (a *attacked) fillPeople(ctx context.Context) error {
	role, err := a.Roles.Create(ctx, a.principal, audit.Origin{}, roles.Input{Name: marked("role"), Description: marked("description"),
		Permissions: []access.Permission{access.ReadRegistries}})
	name, given := marked("team"), auth.Role(role)
	team, err2 := directory.Teams{Directory: a.Directory}.Create(ctx, a.principal, audit.Origin{},
		directory.TeamChange{Name: &name, Role: &given})
	rule, err3 := directory.Trusts{Directory: a.Directory}.Create(ctx, a.principal, audit.Origin{}, directory.NewTrust{
		Name: marked("rule"), Issuer: "https://127.0.0.1:1", Audience: marked("audience"), Role: auth.Role(role),
		Claims: trustrule.Conditions{"sub": marked("claim")}})
	err4 := directory.Providers{Directory: a.Directory}.Set(ctx, a.principal, audit.Origin{}, directory.Provider{
		Issuer: "https://127.0.0.1:1", Secret: stolen + "client secret", Settings: identities.Settings{ClientID: marked("client"),
			Name: marked("provider"), Disabled: true, Claims: map[string]string{identities.ClaimGroups: marked("groups")},
			DefaultTeams: []string{team.UID}}})
	a.uids["/console/roles/{uid}"], a.uids["/console/teams/{uid}"], a.uids["/console/trust-rules/{uid}"] = role, team.UID, rule.UID
	return errors.Join(err, err2, err3, err4)
}

// setHealth stores the result of a check that a registry filled with markup.
func (a *attacked) setHealth(ctx context.Context) error {
	now := time.Now()
	return a.db.InTx(ctx, func(tx *store.Tx) error {
		rows, err := tx.Watch.Claim(ctx, "test", now.Add(time.Hour), now.Add(2*time.Hour),
			[]store.Share{{OrgUID: a.principal.OrgUID, Count: 1}})
		for _, row := range rows {
			row.Since, row.LastAt, row.LeaseOwner = now, now, "test"
			row.State = store.HealthResult{Code: marked("code"), Stage: marked("stage"), Reason: marked("reason"), Field: marked("field"),
				CertificateExpiresSoon: true, Message: marked("message"), Hint: marked("hint")}
			err = errors.Join(err, tx.Watch.End(ctx, row, 1, store.HealthPeriod{Since: now, LastAt: now, Counted: true, Result: row.State}))
		}
		return err
	})
}

// setContent stores repositories and tags whose names are markup.
func (a *attacked) setContent(ctx context.Context) error {
	now := time.Now()
	return a.db.InTx(ctx, func(tx *store.Tx) error {
		claimed, err := tx.Syncs.Claim(ctx, "test", now.Add(time.Hour), now.Add(2*time.Hour),
			[]store.Share{{OrgUID: a.principal.OrgUID, Count: 1}})
		for _, s := range claimed {
			err = errors.Join(err, tx.Contents.Add(ctx, s, []store.RegistryContent{{Repository: marked("repository"), Tag: marked("tag"),
				Kind: "other", Digest: marked("digest"), Problem: marked("problem")}}),
				tx.Syncs.Finish(ctx, s, now, now.Add(time.Hour), marked("sync message")))
		}
		return err
	})
}

// address returns the path of a route with the objects of the administrator.
func (a *attacked) address(path string) string {
	a.t.Helper()
	for _, part := range strings.Split(path, "/") {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		before, _, _ := strings.Cut(path, part)
		uid, ok := a.uids[before+part]
		if !ok {
			uid, ok = a.uids[part]
		}
		if part != "{$}" && !ok {
			a.t.Fatalf("%s: this test has no object for %s", path, part)
		}
		path = strings.Replace(path, part, uid, 1)
	}
	return path
}

// injected returns what a page must not contain: elements and attributes from the outside, and what its policy forbids.
func injected(page string) (all []string) {
	tokens := html.NewTokenizer(strings.NewReader(page))
	for tokens.Next() != html.ErrorToken {
		token := tokens.Token()
		if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
			continue
		}
		if strings.Contains(token.Data, "marker") || token.Data == "style" {
			all = append(all, token.String())
		}
		for _, attribute := range token.Attr {
			value := strings.ToLower(strings.TrimSpace(attribute.Val))
			address := attribute.Key == "href" || attribute.Key == "src" || attribute.Key == "action"
			if strings.HasPrefix(attribute.Key, "on") || attribute.Key == "style" || strings.Contains(attribute.Key, "marker") ||
				address && (strings.Contains(value, "script:") || strings.HasPrefix(value, "data:") || strings.HasPrefix(value, "//") ||
					strings.HasPrefix(value, "http")) {
				all = append(all, token.String())
			}
		}
	}
	return all
}

// pages visits every page as an administrator and as a member.
func (a *attacked) pages(visit func(path, page string)) {
	a.t.Helper()
	a.check()
	for _, cookie := range []string{a.admin, a.mate} {
		for _, r := range a.routes() {
			if r.method != http.MethodGet {
				continue
			}
			path := a.address(r.path)
			got := a.send("GET", path, "", "Cookie", cookie)
			refused := strings.HasPrefix(path, "/console/sso") // no provider
			if got.Code >= http.StatusInternalServerError || cookie == a.admin && got.Code >= http.StatusBadRequest && !refused {
				a.t.Errorf("%s: %d, %v", path, got.Code, got.err)
			}
			visit(path, got.Body.String())
		}
	}
}

// check checks a registry whose responses are markup, for the page of its report.
func (a *attacked) check() {
	a.t.Helper()
	for _, r := range a.routes() {
		if r.method != http.MethodPost || r.path != "/console/check" {
			continue
		}
		form := url.Values{"endpoint": {a.registry.URL}, "providerType": {"helm"}, "authType": {"basic"}, "username": {marked("username")},
			"password": {stolen + "checked"}}
		got := a.send("POST", r.path, form.Encode(), "Cookie", a.admin)
		if problems := injected(got.Body.String()); len(problems) > 0 || strings.Contains(got.Body.String(), stolen) {
			a.t.Errorf("%s shows %v:\n%s", r.path, problems, got.Body)
		}
		records, err := a.Directory.Audits(a.t.Context(), a.principal, directory.AuditQuery{Request: paging.Request{Limit: 1},
			Action: audit.RegistryDiagnose})
		if err != nil {
			a.t.Fatal(err)
		}
		a.uids["/console/check/{uid}"] = records.Items[0].UID
	}
}

func TestInjectedMarkupIsFound(t *testing.T) {
	for _, page := range []string{marked("x"), `<img src=x onerror=alert(1)>`, `<a href=" JavaScript:alert(1)">`,
		`<script src="//evil.example"></script>`, `<p style="color:red">`, `<style>`} {
		if len(injected(page)) == 0 || len(injected(html.EscapeString(page))) > 0 {
			t.Errorf("%s: %v", page, injected(page))
		}
	}
}

func TestStoredMarkupIsText(t *testing.T) {
	a := mustAttacked(t)
	shown := ""
	a.pages(func(path, page string) {
		if problems := injected(page); len(problems) > 0 && !strings.HasSuffix(path, ".csv") { // a file, which browsers do not show
			t.Errorf("%s contains %v", path, problems)
		}
		shown += page
	})
	for _, name := range marks {
		if !strings.Contains(shown, html.EscapeString(marked(name))) &&
			!strings.Contains(shown, strings.ReplaceAll(html.EscapeString(marked(name)), "&#34;", "&quot;")) {
			t.Errorf("no page shows the text of %s", name)
		}
	}
}

// The texts that a form shows again, and those of the address.
func TestReflectedMarkupIsText(t *testing.T) {
	a := mustAttacked(t)
	names := map[string]bool{"next": true, "notice": true, "filter": true, "page": true, "uid": true}
	var pages []string
	a.pages(func(path, page string) {
		pages = append(pages, path)
		for _, name := range inputs(page) {
			names[name] = true
		}
	})
	sent := url.Values{}
	for name := range names {
		sent.Set(name, marked(name))
	}
	for _, path := range pages {
		if problems := injected(a.send("GET", path+"?"+sent.Encode(), "", "Cookie", a.admin).Body.String()); len(problems) > 0 {
			t.Errorf("%s shows %v", path, problems)
		}
	}
	for _, r := range a.routes() {
		if r.method != http.MethodPost || r.path == "/console/logout" || r.path == waits || r.path == byLink {
			continue
		}
		path := a.address(r.path)
		got := a.send("POST", path, sent.Encode(), "Cookie", a.admin)
		if problems := injected(got.Body.String()); len(problems) > 0 || got.Code >= http.StatusInternalServerError {
			t.Errorf("%s: %d, %v, shows %v", path, got.Code, got.err, problems)
		}
	}
}

// inputs returns the names of the inputs of a page.
func inputs(page string) (names []string) {
	tokens := html.NewTokenizer(strings.NewReader(page))
	for tokens.Next() != html.ErrorToken {
		token := tokens.Token()
		for _, attribute := range token.Attr {
			if attribute.Key == "name" && token.Data != "meta" {
				names = append(names, attribute.Val)
			}
		}
	}
	return names
}

func TestPagesHaveNoSecret(t *testing.T) {
	a := mustAttacked(t)
	_, reference, _ := strings.Cut(a.admin, "=")
	noSecret := func(where, text string) {
		for _, value := range []string{stolen, reference, password, memberPassword} {
			if strings.Contains(text, value) {
				t.Errorf("%s contains %s", where, value)
			}
		}
	}
	a.pages(noSecret)
}

// byLink is an action whose address is the permission for it.
const byLink = "/console/invitation/{key}"

// waits is an action that members may do too. It waits for a check, and no server does checks in these tests.
const waits = "/console/registries/{uid}/check"

// ownKey is an action by which every user creates an API key of its own.
const ownKey = "/console/expiry"

// ofTheCaller are the actions that every user may do, since they affect the caller only, or store nothing.
var ofTheCaller = map[string]bool{pathLogin: true, "/console/logout": true, "/console/theme": true, "/console/first-steps": true,
	"/console/check": true,
	"/console/scan":  true, pathDevice: true, pathDevice + "/confirm": true,
	"/console/sessions/end-others": true, "/console/sessions/password": true, pathCode: true,
	pathLogin + "/key": true, people.PathFactor: true, people.PathFactor + "/confirm": true, people.PathFactor + "/codes": true,
	people.PathFactor + "/remove": true}

// forged is a form that every action accepts from those who may do it.
var forged = url.Values{"name": {"Forged"}, "endpoint": {"https://forged.example.com"}, "providerType": {"helm"}, "authType": {"noAuth"},
	"emailId":   {"forged@acme.example"},
	"firstName": {"Forged"}, "role": {"admin"}, "password": {"nine windmills in the rain"}, "user": {email},
	"expiresAt": {time.Now().AddDate(0, 0, 9).Format(time.DateOnly)}, "until": {time.Now().AddDate(0, 0, 9).Format("2006-01-02T15:04")},
	"projects": {""}, "http.url": {"https://forged.example.com"}, "component": {alerts.RegistryHealth}, "isActive": {"true"},
	"confirm": {"true"}, "role.admin": {"true"}, "permission.registry.get": {"true"}, "issuer": {"https://issuer.example.com"},
	"action": {"delete"}, "uids": {"00000000-0000-4000-8000-000000000000"},
	"clientId": {"forged"}, "audience": {"forged"}, "claims": {"sub=forged"}}

func TestForgedRequestsOfAMember(t *testing.T) {
	a := mustAttacked(t)
	a.check()
	before := a.state(t)
	for _, r := range a.routes() {
		if r.method != http.MethodPost || r.path == waits || r.path == byLink || r.path == ownKey {
			continue
		}
		path := a.address(r.path)
		got := a.send("POST", path, forged.Encode(), "Cookie", a.mate)
		if !ofTheCaller[r.path] && got.Code != http.StatusForbidden && got.Code != http.StatusNotFound {
			t.Errorf("%s: %d to %s", path, got.Code, got.Header().Get("Location"))
		}
		if ofTheCaller[r.path] {
			a.mate = a.mustLoginMate()
		}
	}
	if after := a.state(t); after != before {
		t.Error(cmp.Diff(before, after))
	}
}

// The pages and actions of an object are not found for an administrator of another organization, who knows its uid.
func TestForgedRequestsOfAnotherOrganization(t *testing.T) {
	a := mustAttacked(t)
	a.check()
	rival, before := a.mustLoginRival(), a.state(t)
	for _, r := range a.routes() {
		if !strings.Contains(r.path, "{") || r.anonymous || strings.HasSuffix(r.path, "{$}") {
			continue
		}
		path, form := a.address(r.path), ""
		if r.method == http.MethodPost {
			form = forged.Encode()
		}
		got := a.send(r.method, path, form, "Cookie", rival)
		if got.Code != http.StatusNotFound || strings.Contains(got.Body.String(), "x-marker") {
			t.Errorf("%s %s: %d to %q\n%s", r.method, path, got.Code, got.Header().Get("Location"), got.Body)
		}
	}
	if after := a.state(t); after != before {
		t.Error(cmp.Diff(before, after))
	}
}

// mustLoginRival returns the cookie of an administrator of another organization.
func (a *attacked) mustLoginRival() string {
	a.t.Helper()
	org, err := a.Directory.CreateOrg(a.t.Context(), auth.Operator(), audit.Origin{}, "Rival")
	of := auth.Operator()
	of.OrgUID, of.OrgName = org.UID, org.Name
	_, err2 := a.Directory.CreateUser(a.t.Context(), of, audit.Origin{},
		directory.NewUser{Email: "rival@rival.example", Password: memberPassword, Role: auth.RoleAdmin})
	if err := errors.Join(err, err2); err != nil {
		a.t.Fatal(err)
	}
	return a.mustLoginAs("Rival", "rival@rival.example")
}

// state describes all objects of the organization except sessions of the member.
func (a *attacked) state(t *testing.T) string {
	t.Helper()
	ctx, p := t.Context(), a.principal
	users, _, err := a.Directory.ListUsers(ctx, p, directory.User{})
	for i := range users {
		users[i].LastLoginAt = time.Time{}
	}
	projects, _, err2 := a.Directory.ListProjects(ctx, p, directory.Project{})
	keys, _, err3 := a.Auth.APIKeys.List(ctx, p, auth.APIKey{})
	registry, err4 := a.Registries.Get(ctx, p, a.uids["/console/registries/{uid}"])
	listed, _, err5 := a.Registries.List(ctx, p, registries.Summary{}, nil)
	channels, err6 := a.Alerts.Channels.List(ctx, a.channels)
	sessions, err7 := a.Auth.Sessions.List(ctx, p)
	defined, err9 := a.Roles.List(ctx, p)
	teams, _, err10 := directory.Teams{Directory: a.Directory}.List(ctx, p, "")
	provider, err11 := directory.Providers{Directory: a.Directory}.Provider(ctx, p)
	rules, err12 := directory.Trusts{Directory: a.Directory}.List(ctx, p)
	text, err8 := json.MarshalIndent([]any{users, projects, keys, registry, listed, channels, len(sessions), defined, teams, provider,
		rules}, "", " ")
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, err12); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
