package service_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/identityprovider"
	"github.com/regwarden/regwarden/test/instance"
)

// Two organizations have two providers of different makes. The response of one is not accepted in a login at the other, and a person who
// is removed at one is out here.
func TestTwoProviders(t *testing.T) {
	t.Parallel()
	g := identityprovider.StartGlewlwyd(t)
	p := identityprovider.Start(t)
	server := instance.Start(t, instance.Options{Flags: []string{"--sso-recheck", "1s"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	useProvider(t, admin, p)
	server.Admin(t, "", "org", "create", "Babbage")
	server.Admin(t, instance.Password+"\n", "user", "create", "babbage@example.com", "--org", "Babbage", "--role", "admin",
		"--password-stdin")
	second, _ := loggedIn(t, server, "babbage@example.com", "Babbage", instance.Password)
	second.do("PUT", "/v1/sso", instance.JSON(object{"spec": object{"issuer": g.Issuer, "clientId": identityprovider.ClientID,
		"clientSecret": identityprovider.GlewlwydSecret, "ca": g.CA, "name": "Glewlwyd"}})).Want(http.StatusNoContent)
	var set api.SSO
	second.get("/v1/sso", &set)
	g.Register(t, set.Status.CallbackURL)

	b := newBrowser(t, p)
	callback := g.Login(t, b.redirects(server.URL+"/console/sso?org=babbage"))
	if at, page := b.get(callback); !strings.HasPrefix(at.String(), set.Status.CallbackURL) || !strings.Contains(page, `url=/console/"`) {
		t.Fatalf("the login ends at %s\n%s", at, page)
	}
	if _, page := b.get(server.URL + "/console/"); !strings.Contains(page, identityprovider.GlewlwydEmail) {
		t.Fatalf("the overview is\n%s", page)
	}
	g.RemoveUser(t)
	instance.Await(t, "the end of the session", func() bool {
		at, _ := b.get(server.URL + "/console/projects")
		return at.Path == "/console/login"
	})
	g.AddUser(t)

	other := newBrowser(t, p)
	of := other.redirects(server.URL + "/console/sso?org=acme")
	if !strings.HasPrefix(of, p.URL) {
		t.Fatalf("a login of the first organization leads to %s", of)
	}
	code, err := url.Parse(g.Login(t, b.redirects(server.URL+"/console/sso?org=babbage")))
	if err != nil {
		t.Fatal(err)
	}
	var first api.SSO
	admin.get("/v1/sso", &first)
	asked, _ := url.Parse(of)
	mixed := url.Values{"code": {code.Query().Get("code")}, "state": {asked.Query().Get("state")}}
	if _, page := other.get(first.Status.CallbackURL + "?" + mixed.Encode()); strings.Contains(page, `url=/console/"`) {
		t.Errorf("the code of another provider is accepted:\n%s", page)
	}
	if at, page := other.get(code.String()); strings.Contains(page, `url=/console/"`) {
		t.Errorf("a login that another browser began ends at %s\n%s", at, page)
	}
}

// redirects returns where a page redirects to.
func (b *browser) redirects(address string) string {
	b.t.Helper()
	client := *b.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Get(address)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	return response.Header.Get("Location")
}
