package service_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/identityprovider"
	"github.com/regwarden/regwarden/test/instance"
)

// Administrators set the identity provider and link users; a member does not even see it, except who it is itself.
func TestIdentityProvider(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	mateUID := admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	const path, issuer = "/v1/sso", "https://login.example.com"
	put := func(issuer, secret string) string {
		return instance.JSON(object{"spec": object{"issuer": issuer, "clientId": "regwarden", "clientSecret": secret}})
	}

	var none, stored api.SSO
	admin.get(path, &none)
	if callback := none.Status.CallbackURL; none.Spec.Issuer != "" || !strings.HasPrefix(callback, server.URL+"/console/sso/") {
		t.Errorf("without a provider: %+v", none)
	}
	admin.refused("DELETE", path, "", 404, "ResourceNotFound")
	switchOffNoProvider(t, server, admin)
	admin.refused("PUT", "/v1/users/"+mateUID+"/identity", `{"subject":"7"}`, 404, "ResourceNotFound")
	admin.do("PUT", path, put(issuer, "secret of the client")).Want(http.StatusNoContent)
	admin.do("PUT", path, put(issuer, "********")).Want(http.StatusNoContent)
	admin.refused("PUT", path, put("https://other.example.com", ""), 400, "InvalidRequest")
	admin.get(path, &stored)
	if stored.Spec.Issuer != issuer || stored.Spec.ClientSecret.Reveal() != "********" ||
		stored.Status.CallbackURL != none.Status.CallbackURL {
		t.Errorf("stored as %+v", stored)
	}
	mate.refused("GET", path, "", 403, "OperationForbidden")
	mate.refused("PUT", path, put(issuer, ""), 403, "OperationForbidden")
	mate.refused("DELETE", path, "", 403, "OperationForbidden")

	admin.do("PUT", "/v1/users/"+mateUID+"/identity", `{"subject":"7"}`).Want(http.StatusNoContent)
	var identity api.UserIdentity
	mate.get("/v1/users/"+mateUID+"/identity", &identity)
	if identity != (api.UserIdentity{Issuer: issuer, Subject: "7"}) {
		t.Errorf("the identity is %+v", identity)
	}
	mate.refused("GET", "/v1/users/"+noUID+"/identity", "", 403, "OperationForbidden")
	mate.refused("PUT", "/v1/users/"+mateUID+"/identity", `{"subject":"8"}`, 403, "OperationForbidden")
	admin.refused("PUT", "/v1/users/"+noUID+"/identity", `{"subject":"8"}`, 404, "ResourceNotFound")
	admin.do("DELETE", path, "").Want(http.StatusNoContent)
}

// switchOffNoProvider has Terraform's provider destroy what there is not. The record that the response announces exists, and a caller who
// may not read the provider is refused: it could be on.
func switchOffNoProvider(t *testing.T, server *instance.Server, admin person) {
	t.Helper()
	var me api.UserInfo
	admin.get("/v1/users/info", &me)
	oidc, off := "/v1/tenants/"+me.TenantUID+"/oidc/config", `{"issuerUrl":""}`
	done := admin.do("POST", oidc, off).Want(http.StatusNoContent)
	admin.do("GET", "/v1/audits/"+done.Header.Get("AuditUid"), "").Want(http.StatusOK)
	role := admin.make("/v1/roles", roleBody("Federators", "tenant", "trust.create"))
	admin.make("/v1/users", newUser("federator@acme.example", object{"roles": []string{role}}))
	federator, _ := loggedIn(t, server, "federator@acme.example", instance.Org, matePassword)
	federator.refused("POST", oidc, off, http.StatusForbidden, "OperationForbidden")
	refused := admin.do("GET", "/v1/audits?action=tenant.update&outcome=refused", "").Want(http.StatusOK).Body
	if strings.Count(refused, `"uid":"oidc"`) != 1 {
		t.Errorf("records of refusals: %s", refused)
	}
}

// browser is a client of a person: it has cookies, trusts the provider, and follows links.
type browser struct {
	t      *testing.T
	client *http.Client
}

func newBrowser(t *testing.T, p *identityprovider.Provider) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(p.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	described := instance.Contract(t).Transport(t, transport)
	return &browser{t, &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Path, "/v1/") { // of the API, where a login of a program begins and ends
			return described.RoundTrip(r)
		}
		return transport.RoundTrip(r)
	}), Jar: jar, Timeout: time.Minute}}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// get returns where a request ends, and the page there.
func (b *browser) get(address string) (at *url.URL, page string) {
	b.t.Helper()
	response, err := b.client.Get(address)
	return b.page(response, err)
}

func (b *browser) post(address string, form url.Values) (at *url.URL, page string) {
	b.t.Helper()
	response, err := b.client.PostForm(address, form)
	return b.page(response, err)
}

func (b *browser) page(response *http.Response, err error) (*url.URL, string) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.Request.URL, string(body)
}

// login logs in at the provider and returns the page after it.
func (b *browser) login(server string, p *identityprovider.Provider) (at *url.URL, page string) {
	b.t.Helper()
	at, page = b.get(server + "/console/sso?org=acme")
	if !strings.HasPrefix(at.String(), p.URL+"/login/") {
		b.t.Fatalf("a login leads to %s\n%s", at, page)
	}
	return b.post(p.URL+"/login/username", url.Values{"id": {at.Query().Get("authRequestID")},
		"username": {identityprovider.Username}, "password": {identityprovider.Password}})
}

// useProvider sets a provider of the organization, and registers the server there.
func useProvider(t *testing.T, admin person, p *identityprovider.Provider) {
	t.Helper()
	admin.do("PUT", "/v1/sso", instance.JSON(object{"spec": object{"issuer": p.URL, "clientId": identityprovider.ClientID,
		"clientSecret": identityprovider.ClientSecret, "ca": p.CA, "name": "Example"}})).Want(http.StatusNoContent)
	var set api.SSO
	admin.get("/v1/sso", &set)
	p.Register(set.Status.CallbackURL, set.Status.LogoutURL)
}

var refreshTo = regexp.MustCompile(`http-equiv="refresh" content="0; url=([^"]+)"`)

// A person logs in by a real provider and out there too, and is out once the provider does not vouch for it any more.
func TestSingleSignOn(t *testing.T) {
	t.Parallel()
	p := identityprovider.Start(t)
	server := instance.Start(t, instance.Options{Flags: []string{"--sso-recheck", "1s"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	b := newBrowser(t, p)
	if _, page := b.get(server.URL + "/console/login"); strings.Contains(page, "Single sign-on") {
		t.Error("single sign-on is shown without a provider")
	}
	useProvider(t, admin, p)
	if _, page := b.get(server.URL + "/console/login?company=ACME"); !strings.Contains(page, "Sign in with Example") {
		t.Errorf("the login page is\n%s", page)
	}
	at, page := b.login(server.URL, p)
	if !strings.HasPrefix(at.String(), server.URL+"/console/sso/") || !strings.Contains(page, `url=/console/"`) {
		t.Fatalf("the login ends at %s\n%s", at, page)
	}
	if _, again := b.get(at.String()); !strings.Contains(again, "The login has expired") {
		t.Errorf("the address of the callback, again:\n%s", again)
	}
	if _, page = b.get(server.URL + "/console/"); !strings.Contains(page, identityprovider.Email) {
		t.Fatalf("the overview is\n%s", page)
	}
	var people struct{ Items []api.User }
	admin.get("/v1/users", &people)
	if len(people.Items) != 2 {
		t.Errorf("the users are %+v", people.Items)
	}

	_, page = b.post(server.URL+"/console/logout", nil)
	to := refreshTo.FindStringSubmatch(page)
	if to == nil {
		t.Fatalf("after the logout:\n%s", page)
	}
	if at, page = b.get(html.UnescapeString(to[1])); at.String() != server.URL+"/console/login" {
		t.Errorf("the logout at the provider ends at %s\n%s", at, page)
	}
	if at, _ = b.get(server.URL + "/console/projects"); at.Path != "/console/login" {
		t.Errorf("after the logout: %s", at)
	}

	if at, page = b.login(server.URL, p); !strings.HasPrefix(at.String(), server.URL) {
		t.Fatalf("the second login ends at %s\n%s", at, page)
	}
	p.Remove()
	instance.Await(t, "the end of the session", func() bool {
		at, _ := b.get(server.URL + "/console/projects")
		return at.Path == "/console/login"
	})
	if p.Asked() == 0 {
		t.Error("the provider was not asked")
	}
	for _, secret := range []string{identityprovider.ClientSecret, "eyJ"} {
		if strings.Contains(server.Log(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
}

// The command line logs in at a terminal, without a password: it opens a browser, where a person who is logged in by the provider confirms
// it.
func TestDeviceLogin(t *testing.T) {
	t.Parallel()
	p := identityprovider.Start(t)
	server := instance.Start(t, instance.Options{Flags: []string{"--sso-recheck", "1s"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	useProvider(t, admin, p)
	home, b := t.TempDir(), newBrowser(t, p)
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), instance.Binary(t), args...)
		cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}
		return cmd
	}
	terminal, opened, programs := instance.OpenTerminal(t), filepath.Join(t.TempDir(), "opened"), t.TempDir()
	desktop := "#!/bin/sh\nprintf %s \"$1\" >" + opened + ".new && mv " + opened + ".new " + opened + "\n"
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte(desktop), 0o700); err != nil {
		t.Fatal(err)
	}
	login := run("login", server.URL, "--web")
	login.Env = append(login.Env, "DISPLAY=:0", "PATH="+programs+":"+os.Getenv("PATH"))
	login.Stdin, login.Stdout, login.Stderr = terminal.Slave, terminal.Slave, terminal.Slave
	login.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	var shown []string
	instance.Await(t, "the terminal shows address and code", func() bool {
		shown = regexp.MustCompile(`Open (\S+)\s+and enter the code (\S+)\r`).FindStringSubmatch(terminal.Shown())
		return shown != nil
	})
	at, code := shown[1], shown[2]
	instance.Await(t, "the browser opens the page", func() bool {
		page, err := os.ReadFile(opened)
		return err == nil && string(page) == at+"?code="+code
	})
	if at != server.URL+"/console/device" {
		t.Errorf("the command leads to %s", at)
	}
	b.login(server.URL, p)
	if _, page := b.get(at + "?code=" + code); !strings.Contains(page, `value="`+code+`"`) || strings.Contains(page, "127.0.0.1</strong>") {
		t.Errorf("the page is\n%s", page)
	}
	if _, page := b.post(at, url.Values{"code": {"BBBB-BBBB"}}); !strings.Contains(page, "is not the code of a login that waits") {
		t.Errorf("a wrong code:\n%s", page)
	}
	if _, page := b.post(at, url.Values{"code": {code}}); !strings.Contains(page, "<strong>127.0.0.1</strong>") {
		t.Errorf("before it is confirmed:\n%s", page)
	}
	if _, page := b.post(at+"/confirm", url.Values{"code": {code}, "allow": {"true"}}); !strings.Contains(page, "is logged in now") {
		t.Errorf("after it is confirmed:\n%s", page)
	}
	if err := login.Wait(); err != nil {
		t.Fatal(err)
	}
	if out, err := run("whoami").CombinedOutput(); err != nil || !strings.Contains(string(out), identityprovider.Email) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run("project", "list").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What the endpoints of a device return over HTTP.
func TestDeviceLoginOverHTTP(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	c := server.Client(t)
	var begun api.DeviceLogin
	c.Do("POST", "/v1/auth/device", "client_id=x", formType...).Want(http.StatusOK).Into(&begun)
	if begun.VerificationURIComplete != begun.VerificationURI+"?code="+begun.UserCode || begun.ExpiresIn != 600 || begun.Interval != 5 {
		t.Errorf("%+v", begun)
	}
	for name, row := range map[string]struct{ code, want string }{"pending": {begun.DeviceCode, api.ErrorAuthorizationPending},
		"unknown": {"rwd_x", api.ErrorExpiredToken}, "missing": {"", ""}} {
		var refused api.Error
		c.Do("POST", exchangePath, url.Values{api.ParamGrantType: {api.GrantDeviceCode}, api.ParamDeviceCode: {row.code}}.Encode(),
			formType...).Want(http.StatusBadRequest).Into(&refused)
		if refused.OAuthError != row.want {
			t.Errorf("%s: %+v", name, refused)
		}
	}
	c.Do("POST", "/v1/auth/device", "{}", "Content-Type", "application/json").Want(http.StatusUnsupportedMediaType)
	c.Do("POST", "/v1/auth/device", "a=%zz", formType...).Want(http.StatusBadRequest)
	c.Do("POST", "/v1/auth/device", "a="+strings.Repeat("a", 1<<17), formType...).Want(http.StatusRequestEntityTooLarge)
	for range 20 {
		if c.Do("POST", "/v1/auth/device", "client_id=x", formType...).Status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("logins are begun without a limit")
}

// A program logs in by the paths of Palette's API: it asks how, follows the address with its cookies, and gets tokens at the callback.
func TestLoginOfPrograms(t *testing.T) {
	t.Parallel()
	p := identityprovider.Start(t)
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	b := newBrowser(t, p)
	ask := func(org string) (asked api.OrgLogin) {
		t.Helper()
		_, body := b.get(server.URL + "/v1/auth/org?orgName=" + org)
		if err := json.Unmarshal([]byte(body), &asked); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return asked
	}
	for _, org := range []string{instance.Org, "unknown"} {
		if asked := ask(org); asked.AuthType != api.AuthTypePassword || asked.RedirectURL != "" || asked.OrgName != org {
			t.Errorf("without a provider: %+v", asked)
		}
	}
	useProvider(t, admin, p)
	var set api.SSO
	admin.get("/v1/sso", &set)
	p.Register(set.Status.APICallbackURL, set.Status.LogoutURL)
	asked := ask(strings.ToLower(instance.Org))
	if asked.AuthType != api.AuthTypeSSO || asked.OrgName != instance.Org || !strings.HasPrefix(asked.RedirectURL, p.URL) {
		t.Fatalf("with a provider: %+v", asked)
	}
	at, _ := b.get(asked.RedirectURL)
	another := newBrowser(t, p)
	callback, body := b.post(p.URL+"/login/username", url.Values{"id": {at.Query().Get("authRequestID")},
		"username": {identityprovider.Username}, "password": {identityprovider.Password}})
	var tokens api.AuthenticateResponse
	if err := json.Unmarshal([]byte(body), &tokens); err != nil || tokens.Authorization == "" || tokens.RefreshToken == "" {
		t.Fatalf("%s %v: %s", callback, err, body)
	}
	if counted := `regwarden_logins_total{outcome="succeeded"} 2`; !strings.Contains(server.Metrics(t), counted) {
		t.Errorf("the metrics lack %s", counted)
	}
	var me api.UserInfo
	person{t: t, client: server.Client(t), credential: []string{"Authorization", tokens.Authorization}}.get("/v1/users/info", &me)
	if me.Email != identityprovider.Email {
		t.Errorf("logged in as %+v", me)
	}
	for who, again := range map[string]*browser{"the same program": b, "another one": another} {
		if _, body := again.get(callback.String()); !strings.Contains(body, "loginExpired") {
			t.Errorf("%s comes back again: %s", who, body)
		}
	}

	// A login of a program does not end in a browser, nor the other way round.
	begun := ask(instance.Org)
	state, _ := url.Parse(begun.RedirectURL)
	query := url.Values{"code": {"x"}, "state": {state.Query().Get("state")}}.Encode()
	if _, page := b.get(set.Status.CallbackURL + "?" + query); !strings.Contains(page, "expired") {
		t.Errorf("at the callback of browsers: %s", page)
	}
	client := server.Client(t)
	for _, path := range []string{"/v1/auth/sso/logins?org=acme", "/v1/auth/sso/providers", "/v1/auth/sso/idps"} {
		if got := client.Do(http.MethodGet, path, "").Want(http.StatusOK); strings.TrimSpace(got.Body) != "[]" {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	client.Do(http.MethodGet, "/v1/auth/org/"+me.TenantUID+"/oidc/logout?state=x", "").Want(http.StatusNoContent)
	client.Do(http.MethodGet, "/v1/auth/org/"+me.TenantUID+"/oidc/callback", "").Want(http.StatusUnauthorized)
	logout := "/v1/auth/org/" + me.TenantUID + "/oidc/backchannel-logout"
	ended := url.Values{"logout_token": {p.LogoutToken(t, "1")}}.Encode()
	caller := person{t: t, client: client, credential: []string{"Authorization", tokens.Authorization}}
	client.Do(http.MethodPost, logout, ended, formType...).Want(http.StatusOK)
	caller.refused("GET", "/v1/users/info", "", 401, "UnAuthorizedAccess")
	client.Do(http.MethodPost, logout, ended, formType...).Want(http.StatusBadRequest)
	client.Do(http.MethodPost, logout, "logout_token=x", formType...).Want(http.StatusBadRequest)
	client.Do(http.MethodPost, logout, `{}`).Want(http.StatusUnsupportedMediaType)
	client.Do(http.MethodPost, logout, strings.Repeat("x", 1<<17), formType...).Want(http.StatusRequestEntityTooLarge)
	client.Do(http.MethodGet, "/v1/auth/org?orgName=unknown", "").Want(http.StatusOK)
	client.Do(http.MethodGet, "/v1/auth/org?orgName="+instance.Org, "").Want(http.StatusOK)
}

// While the provider does not respond, local users log in with their passwords, and sessions in use go on.
func TestPasswordsWhileTheProviderIsAway(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts connections, and nothing responds
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for name, address := range map[string]string{"it refuses connections": testport.Unused(t), "it says nothing": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withoutProvider(t, "https://"+address)
		})
	}
}

// howToLogIn returns the status of the response to a program that asks how an organization logs in.
func howToLogIn(t *testing.T, server *instance.Server, org string) int {
	t.Helper()
	response, err := http.Get(server.URL + "/v1/auth/org?orgName=" + url.QueryEscape(org))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func withoutProvider(t *testing.T, away string) {
	t.Helper()
	server := instance.Start(t, instance.Options{})
	admin, tokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.do("PUT", "/v1/sso", instance.JSON(object{"spec": object{"issuer": away, "clientId": "regwarden"}})).Want(http.StatusNoContent)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t, &http.Client{Jar: jar, Timeout: time.Minute}}
	if at, page := b.get(server.URL + "/console/sso?org=" + url.QueryEscape(instance.Org)); at.Host != strings.TrimPrefix(server.URL,
		"http://") || !strings.Contains(page, "does not respond") {
		t.Errorf("a login by the provider leads to %s: %.2000s", at, page)
	}
	if status := howToLogIn(t, server, instance.Org); status != http.StatusServiceUnavailable {
		t.Errorf("a program that asks how to log in gets %d", status)
	}
	admin.do("GET", alerts, "").Want(http.StatusOK)
	admin.client.Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusOK)
	admin.client.Do("POST", "/v1/auth", instance.Credentials(instance.Email, instance.Org, instance.Password)).Want(http.StatusOK)
	if _, page := b.get(server.URL + "/console/login?org=" + url.QueryEscape(instance.Org)); !strings.Contains(page, `name="password"`) {
		t.Errorf("the page of logins has no password: %.2000s", page)
	}
	at, page := b.post(server.URL+"/console/login", url.Values{"org": {instance.Org}, "emailId": {instance.Email},
		"password": {instance.Password}})
	if at.Path != "/console/" {
		t.Errorf("a login with a password leads to %s: %.2000s", at, page)
	}
}
