package console

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/storage/identities"
)

// The login offers the provider of the organization that is known, asks for it otherwise, and has no trace of it without one.
func TestLoginOffersProvider(t *testing.T) {
	w := mustWorld(t, true)
	page := func(query string) string { return w.send("GET", "/console/login"+query, "").Body.String() }
	if strings.Contains(page("?company=Acme"), "ingle sign-on") {
		t.Error("single sign-on is shown without a provider")
	}
	const name = "<b onclick=marker>Example</b>"
	if err := (directory.Providers{Directory: w.Directory}).Set(t.Context(), auth.Operator(), audit.Origin{}, directory.Provider{
		Issuer: "https://login.example.com", Settings: identities.Settings{ClientID: "client", Name: name}}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		query, want string
		offered     bool
	}{
		{"", "Single sign-on", false},
		{"?company=ACME", `href="/console/sso?next=%2Fconsole%2F&amp;org=Acme"`, true},
		{"?company=acme&next=/console/projects", `next=%2Fconsole%2Fprojects&amp;org=Acme"`, true},
		{"?company=acme&next=https://evil.example/", `next=%2Fconsole%2F&amp;org=Acme"`, true},
		{"?company=Unknown", "This organization has no identity provider.", false},
		{"?company=" + url.QueryEscape(`"><img src=x onerror=marker>`), "This organization has no identity provider.", false},
	} {
		got := page(row.query)
		if !strings.Contains(got, row.want) || strings.Contains(got, "Sign in with &lt;b") != row.offered || len(injected(got)) > 0 {
			t.Errorf("%s: offered, want %v; %v\n%s", row.query, row.offered, injected(got), got)
		}
		if !strings.Contains(got, `name="password"`) {
			t.Errorf("%s: no password can be entered", row.query)
		}
	}
}

// Refused logins lead to no other site, and delete the cookie of the login.
func TestRefusedSSO(t *testing.T) {
	for _, secure := range []bool{true, false} {
		w := mustWorld(t, secure)
		for _, target := range []string{"/console/sso?org=unknown", "/console/sso", "/console/sso/unknown/callback?code=a&state=b&iss=c",
			"/console/sso/unknown/callback?error=%3Cb%20onclick=marker%3E"} {
			got := w.send("GET", target, "", "Cookie", "regwarden-sso=abc; __Host-regwarden-sso=abc")
			if got.Code != http.StatusUnauthorized && got.Code != http.StatusNotFound || got.Header().Get("Location") != "" ||
				!strings.Contains(got.Body.String(), `role="alert"`) || len(injected(got.Body.String())) > 0 {
				t.Errorf("%s: %d\n%s", target, got.Code, got.Body)
			}
			deleted := strings.Contains(got.Header().Get("Set-Cookie"), "regwarden-sso=; Path=/; Max-Age=0")
			if deleted != strings.Contains(target, "callback") {
				t.Errorf("%s sets %q", target, got.Header().Get("Set-Cookie"))
			}
		}
	}
}

// A link with a code only fills the form; the next page shows the address of the program, and only its button confirms.
func TestDevicePage(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	device, err := w.Devices.Begin(t.Context(), audit.Origin{Address: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	code := url.Values{"code": {device.UserCode}}.Encode()
	redeemed := func() bool {
		_, err := w.Devices.Redeem(t.Context(), audit.Origin{}, device.Code)
		return err == nil
	}
	anonymous := w.send("GET", "/console/device?"+code, "").Header().Get("Location")
	if !strings.HasPrefix(anonymous, "/console/login?next=%2Fconsole%2Fdevice%3Fcode") {
		t.Errorf("without a session: to %s", anonymous)
	}
	if got := w.send("GET", "/console/device?"+code, "", "Cookie", cookie); got.Code != http.StatusOK || redeemed() {
		t.Errorf("a link: %d\n%s", got.Code, got.Body)
	}
	got := w.send("POST", "/console/device", code, "Cookie", cookie)
	if !strings.Contains(got.Body.String(), "<strong>192.0.2.7</strong>") || redeemed() {
		t.Errorf("the code: %d\n%s", got.Code, got.Body)
	}
	got = w.send("POST", "/console/device/confirm", code+"&allow=true", "Cookie", cookie, "Sec-Fetch-Site", "cross-site")
	if got.Code != http.StatusForbidden || redeemed() {
		t.Errorf("from another site: %d", got.Code)
	}
	got = w.send("POST", "/console/device/confirm", code+"&allow=true", "Cookie", cookie)
	if got.Header().Get("Location") != "/console/?notice=deviceAllowed" || !redeemed() {
		t.Errorf("confirmed: %d to %s", got.Code, got.Header().Get("Location"))
	}
	got = w.send("POST", "/console/device", code, "Cookie", cookie)
	if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "has expired") {
		t.Errorf("again: %d\n%s", got.Code, got.Body)
	}
}

// Saving the form as it is shown leaves the default teams as they are, also one that was deleted: without them new users become members.
func TestFormOfProviderKeepsDeletedTeams(t *testing.T) {
	w := mustWorld(t, true)
	cookie := w.mustLogin()
	p, providers := w.mustIdentify(cookie), directory.Providers{Directory: w.Directory}
	teams, name := directory.Teams{Directory: w.Directory}, "New users"
	team, err := teams.Create(t.Context(), p, audit.Origin{}, directory.TeamChange{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(providers.Set(t.Context(), p, audit.Origin{}, directory.Provider{Issuer: "https://login.example.com",
		Settings: identities.Settings{ClientID: "client", DefaultTeams: []string{team.UID}}}),
		teams.Delete(t.Context(), p, audit.Origin{}, team.UID)); err != nil {
		t.Fatal(err)
	}
	page := w.send("GET", "/console/identity-provider", "", "Cookie", cookie).Body.String()
	values := url.Values{"issuer": {"https://login.example.com"}, "clientId": {"client"}}
	for _, found := range textarea.FindAllStringSubmatch(page, -1) {
		values.Set(found[1], html.UnescapeString(found[2]))
	}
	if got := w.send("POST", "/console/identity-provider", values.Encode(), "Cookie", cookie); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if stored, err := providers.Provider(t.Context(), p); err != nil || !slices.Equal(stored.DefaultTeams, []string{team.UID}) {
		t.Errorf("stored default teams: %q, %v; want %s", stored.DefaultTeams, err, team.UID)
	}
}
