package service_test

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/api"
	_ "github.com/regwarden/regwarden/internal/storage/store" // brings the SQLite driver, to break a store from outside
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/jobtokens"
	"github.com/regwarden/regwarden/test/realregistry"
)

// Each row of the table of errors that a client can bring about with a running service. What needs
// other services and broken ones have separate tests below.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	tokens := server.Client(t).Login()
	signature := strings.LastIndexByte(tokens.Authorization, '.') + 1
	expired := server.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", instance.Email)
	ok := noAuth("http://127.0.0.1:5000")
	tests := []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code, reason             string
	}{
		{"wrong password", "POST", "/v1/auth/authenticate", instance.Credentials(instance.Email, instance.Org, "wrong"), nil, 401,
			"AuthenticationFailed", ""},
		{"wrong password at the short path", "POST", "/v1/auth", instance.Credentials(instance.Email, instance.Org, "wrong"), nil, 401,
			"AuthenticationFailed", ""},
		{"unknown user", "POST", "/v1/auth/authenticate", instance.Credentials("unknown@acme.example", instance.Org, instance.Password),
			nil, 401, "AuthenticationFailed", ""},
		{"unknown organization", "POST", "/v1/auth/authenticate", instance.Credentials(instance.Email, "Missing", instance.Password), nil,
			401, "AuthenticationFailed", ""},
		{"no credentials", "GET", alerts, "", nil, 401, "UnAuthorizedAccess", "missing"},
		{"no credentials to validate", "POST", validate, ok, nil, 401, "UnAuthorizedAccess", "missing"},
		{"no credentials to diagnose", "POST", diagnose, ok, nil, 401, "UnAuthorizedAccess", "missing"},
		{"malformed token", "GET", alerts, "", []string{"Authorization", "x.y.z"}, 401, "UnAuthorizedAccess", "malformed"},
		{"token with another signature", "GET", alerts, "",
			[]string{"Authorization", tokens.Authorization[:signature] + flipped(tokens.Authorization[signature:])},
			401, "UnAuthorizedAccess", "malformed"},
		{"refresh token as authorization", "GET", alerts, "", []string{"Authorization", tokens.RefreshToken}, 401,
			"UnAuthorizedAccess", "malformed"},
		{"API key as authorization", "GET", alerts, "", []string{"Authorization", expired}, 401, "UnAuthorizedAccess", "malformed"},
		{"token as API key", "GET", alerts, "", []string{"ApiKey", tokens.Authorization}, 401, "UnAuthorizedAccess", "malformed"},
		{"unknown API key", "GET", alerts, "", []string{"ApiKey", flipped(expired)}, 401, "UnAuthorizedAccess", ""},
		{"API key at the refresh path", "GET", refresh + expired, "", nil, 401, "InvalidRefreshToken", ""},
		{"unknown refresh token", "GET", refresh + flipped(tokens.RefreshToken), "", nil, 401, "InvalidRefreshToken", ""},
		{"unknown path", "GET", "/v1/clusters", "", nil, 404, "PathNotFound", ""},
		{"unknown project", "GET", alerts, "", []string{"Authorization", tokens.Authorization, "ProjectUid", "none"}, 404,
			"ProjectNotFoundInTenant", ""},
		{"unknown project to validate", "POST", validate, ok, []string{"Authorization", tokens.Authorization, "ProjectUid", "none"}, 404,
			"ProjectNotFoundInTenant", ""},
		{"unknown project to diagnose", "POST", diagnose, ok, []string{"Authorization", tokens.Authorization, "ProjectUid", "none"}, 404,
			"ProjectNotFoundInTenant", ""},
		{"missing fields", "POST", "/v1/auth", `{}`, nil, 400, "InvalidRequest", ""},
		{"repeated header", "GET", alerts, "", []string{"ApiKey", "a", "ApiKey", "b"}, 400, "InvalidRequest", ""},
		{"prefetch", "GET", refresh + "x", "", []string{"Sec-Purpose", "prefetch"}, 400, "InvalidRequest", ""},
		{"wrong method", "DELETE", validate, "", nil, 405, "MethodNotAllowed", ""},
		{"too large", "POST", "/v1/auth", `{"org":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "RequestTooLarge", ""},
		{"not JSON by its type", "POST", "/v1/auth", `x`, []string{"Content-Type", "text/xml"}, 415, "UnsupportedMediaType", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			response := server.Client(t).Do(tt.method, tt.path, tt.body, tt.headers...).Want(tt.status)
			f := response.Fault()
			if f.Code != tt.code || tt.reason != "" && f.Details.Reason != tt.reason {
				t.Errorf("%s, reason %q; want %s, reason %q; body: %s", f.Code, f.Details.Reason, tt.code, tt.reason, response.Body)
			}
			if tt.code == "MethodNotAllowed" && response.Header.Get("Allow") != "POST" {
				t.Errorf("Allow is %q, want POST", response.Header.Get("Allow"))
			}
		})
	}
	checkSameResponse(t, server)
}

// flipped changes a character in the middle: the right form, the wrong content.
func flipped(token string) string {
	i := len(token) / 2
	other := byte('A')
	if token[i] == other {
		other = 'B'
	}
	return token[:i] + string(other) + token[i+1:]
}

// Only the ref may depend on which of email, organization and password was wrong.
func checkSameResponse(t *testing.T, server *instance.Server) {
	t.Helper()
	client := server.Client(t)
	var bodies []string
	for _, body := range []string{
		instance.Credentials(instance.Email, instance.Org, "wrong"), instance.Credentials("unknown@acme.example", instance.Org, "wrong"),
		instance.Credentials(instance.Email, "Missing", "wrong"),
	} {
		response := client.Do(http.MethodPost, "/v1/auth", body)
		bodies = append(bodies, strings.ReplaceAll(response.Body, response.Fault().Ref, "REF"))
	}
	if bodies = slices.Compact(bodies); len(bodies) != 1 {
		t.Errorf("the responses differ: %q", bodies)
	}
}

// Every code of the 422 row, over HTTP, from registries on loopback.
func TestNotValidOverHTTP(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	tokens := server.Client(t).Login()
	registry := secured(t)
	trust := trusting(registry.CA)
	tests := []struct{ code, body, stage, field string }{
		// Go asks no server for names below .onion (RFC 7686), so this leaves no packet.
		{"RegistryHostNotFound", noAuth("http://registry.onion"), "resolve", "endpoint"},
		{"RegistryAddressForbidden", noAuth("http://169.254.169.254"), "egress", "endpoint"},
		{"RegistryUnreachable", noAuth(unusedEndpoint(t)), "connect", "endpoint"},
		{"RegistryTLSFailed", basic(registry.Endpoint, ada, adaPassword), "tls", "auth.tls.ca"},
		{"RegistryNotOCI", noAuth(responding(t, http.StatusOK, "text/html", "<html><title>Welcome</title></html>")), "api", "endpoint"},
		{"RegistryUnavailable", noAuth(responding(t, http.StatusServiceUnavailable, "text/plain", "later")), "api", ""},
		{"RegistryRedirected", basic(redirecting(t, registry.Endpoint+"/v2/"), ada, adaPassword), "api", "endpoint"},
		{"RegistryAuthRequired", noAuth(registry.Endpoint, trust), "auth", "auth.type"},
		{"RegistryAuthFailed", basic(registry.Endpoint, ada, "wrong", trust), "auth", "auth.password"},
		{"RegistryTokenServiceFailed", basic(withoutTokens(t), ada, adaPassword), "auth", ""},
		{"RegistryAccessDenied", basic(responding(t, http.StatusForbidden, "application/json",
			`{"errors":[{"code":"DENIED","message":"no"}]}`), ada, adaPassword), "auth", "auth.username"},
		{"RegistryContentNotFound", basic(registry.Endpoint, ada, adaPassword, trust, content("nothing/here")),
			"content", "baseContentPath"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			client := server.Client(t)
			response := client.Do(http.MethodPost, validate, tt.body, "Authorization",
				tokens.Authorization).Want(http.StatusUnprocessableEntity)
			f := response.Fault()
			if f.Code != tt.code || f.Details.Stage != tt.stage || f.Details.Field != tt.field {
				t.Errorf("%s at stage %s, field %q; want %s, %s, %q\n%s", f.Code, f.Details.Stage, f.Details.Field, tt.code,
					tt.stage, tt.field, response.Body)
			}
			if f.Details.Valid == nil || *f.Details.Valid || f.Details.Hint == "" {
				t.Errorf("the details are not a report with a hint: %s", response.Body)
			}
			var report struct{ Code string }
			client.Do(http.MethodPost, diagnose, tt.body, "Authorization", tokens.Authorization).Want(http.StatusOK).Into(&report)
			if report.Code != tt.code {
				t.Errorf("diagnose says %s, validate %s", report.Code, tt.code)
			}
		})
	}
}

// A loopback registry is forbidden unless it is allowed, since other services of the host listen there.
func TestLoopbackIsForbiddenByDefault(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{DefaultEgress: true})
	client := server.Client(t)
	tokens := client.Login()
	contacted := false
	registry := serve(t, func(http.ResponseWriter, *http.Request) { contacted = true })
	f := client.Do(http.MethodPost, validate, noAuth(registry), "Authorization",
		tokens.Authorization).Want(http.StatusUnprocessableEntity).Fault()
	if f.Code != "RegistryAddressForbidden" {
		t.Errorf("%s, want RegistryAddressForbidden", f.Code)
	}
	if contacted {
		t.Error("the forbidden address was contacted")
	}
}

func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--check-per-minute", "1"}})
	client := server.Client(t)
	tokens := client.Login()
	for _, path := range []string{validate, diagnose, scan} {
		var last instance.Response
		for range 3 {
			last = client.Do(http.MethodPost, path, noAuth(unusedEndpoint(t)), "Authorization", tokens.Authorization)
		}
		if f := last.Want(http.StatusTooManyRequests).Fault(); f.Code != "TooManyRequests" {
			t.Errorf("%s, want TooManyRequests", f.Code)
		}
		wantRetryAfter(t, last)
	}
	client.Do(http.MethodGet, alerts, "", "Authorization", tokens.Authorization).Want(http.StatusOK)
}

// A burst of logins is rejected early, and other requests succeed.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--login-workers", "1", "--login-queue", "1", "--login-wait", "100ms"}})
	client := server.Client(t)
	tokens := client.Login()
	const logins = 24
	responses := make(chan instance.Response, logins)
	var wait sync.WaitGroup
	paths := []string{"/v1/auth", "/v1/auth/authenticate"}
	for i := range logins {
		wait.Go(func() {
			if response, err := client.Try(http.MethodPost, paths[i%2],
				instance.Credentials(instance.Email, instance.Org, instance.Password)); err == nil {
				responses <- response
			}
		})
	}
	client.Do(http.MethodGet, alerts, "", "Authorization", tokens.Authorization).Want(http.StatusOK)
	wait.Wait()
	close(responses)
	byStatus := map[int]int{}
	for response := range responses {
		byStatus[response.Status]++
		if response.Status == http.StatusServiceUnavailable {
			if f := response.Fault(); f.Code != "Unavailable" {
				t.Errorf("%s, want Unavailable", f.Code)
			}
			wantRetryAfter(t, response)
		}
	}
	if byStatus[http.StatusOK] == 0 || byStatus[http.StatusServiceUnavailable] == 0 ||
		byStatus[http.StatusOK]+byStatus[http.StatusServiceUnavailable] != logins {
		t.Errorf("responses by status: %v; want 200 and 503, and nothing else, %d in all", byStatus, logins)
	}
}

// fromMemory are the operations that ask the store for nothing but who calls.
var fromMemory = []string{"/v1/users/info", "/v1/service", alerts, "/v1/registries/pack", "/v1/registries/pack/summary",
	"/v1/clouds/aws/account/sts", "/v1/permissions", "/v1/orgs/" + noUID + "/contents",
	"/scim/v2/ServiceProviderConfig", "/scim/v2/ResourceTypes", "/scim/v2/Schemas"}

// A store that lost its tables is our fault: 500, with nothing of it shown.
func TestInternalError(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	known, unknown := client.Login(), server.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", instance.Email)
	var me api.UserInfo
	client.Do(http.MethodGet, "/v1/users/info", "", "Authorization", known.Authorization).Into(&me)
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	withFactor(t, server, "mate@acme.example")
	waits := pending(t, server, "mate@acme.example", api.MFAVerify)
	db := openStore(t, server)
	for _, table := range []string{"users", "sessions", "audits", "api_keys", "projects", "project_members", "orgs", "registries",
		"registry_watch", "alert_addresses", "device_logins", "identity_providers", "teams", "org_settings", "roles", "key_reminders",
		"invitations", "second_factors", "pending_logins"} {
		if _, err := db.ExecContext(t.Context(), "PRAGMA foreign_keys=OFF; DROP TABLE "+table); err != nil {
			t.Fatalf("drop %s: %v", table, err)
		}
	}
	for _, request := range append([]protectedOperation{
		{method: "POST", path: "/v1/auth/authenticate", body: instance.Credentials(instance.Email, instance.Org, instance.Password)},
		{method: "POST", path: "/v1/auth", body: instance.Credentials(instance.Email, instance.Org, instance.Password)},
		{method: "GET", path: refresh + known.RefreshToken},
		{method: "GET", path: "/v1/auth/org"},
		{method: "POST", path: scan, body: `{"auths":{}}`},
		{method: "POST", path: importPath, body: importing(noAuth("https://registry.example.com"))},
		{method: "POST", path: "/v1/apiKeys/revoke", body: instance.JSON(object{"apiKey": unknown})},
		{method: "GET", path: calendarOf(calendarKey)},
		{method: "GET", path: "/v1/alerts/confirmations/token"},
		{method: "POST", path: "/v1/alerts/confirmations/token"},
		{method: "PATCH", path: "/v1/auth/password/" + unusedInvitation + "/activate", body: `{"password":"nine geese across the marsh"}`},
	}, operations...) {
		checkInternalError(t, server, client.Do(request.method, request.path, request.body, "ApiKey", unknown))
		// The token of a login is cached and needs no store. Every operation needs it, except those on the caller.
		if !slices.Contains(fromMemory, request.path) {
			path := strings.Replace(request.path, tenant, "/v1/tenants/"+me.TenantUID, 1)
			checkInternalError(t, server, client.Do(request.method, path, request.body, "Authorization", known.Authorization))
		}
	}
	checkInternalError(t, server, waits.do("POST", verifyPath, codeBody("123456")))
	checkInternalError(t, server, waits.do("POST", enrollPath, ""))
	token := jobtokens.Start(t).Token(t, "acme/app", server.URL, "1")
	checkInternalError(t, server, client.Do(http.MethodPost, exchangePath, exchangeForm(token), formType...))
	checkInternalError(t, server, client.Do(http.MethodPost, "/v1/auth/device", "client_id=x", formType...))
	logout := "/v1/auth/org/" + noUID + "/oidc/backchannel-logout"
	checkInternalError(t, server, client.Do(http.MethodPost, logout, "logout_token=x", formType...))
	client.Do(http.MethodGet, "/healthz", "").Want(http.StatusOK)
}

func checkInternalError(t *testing.T, server *instance.Server, response instance.Response) {
	t.Helper()
	f := response.Want(http.StatusInternalServerError).Fault()
	if f.Code != "InternalError" {
		t.Errorf("%s, want InternalError", f.Code)
	}
	for _, hidden := range []string{"SQL", "sql", "table", server.DataDir, "goroutine", ".go:"} {
		if strings.Contains(response.Body, hidden) {
			t.Errorf("the response shows %q: %s", hidden, response.Body)
		}
	}
	if !server.Logs(f.Ref) {
		t.Errorf("the log has no %s", f.Ref)
	}
}

// openStore looks into the service's store from outside. Statements wait while the service writes.
func openStore(t *testing.T, server *instance.Server) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(server.DataDir, "regwarden.db")+"?_busy_timeout=60000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func wantRetryAfter(t *testing.T, response instance.Response) {
	t.Helper()
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err != nil || seconds < 1 {
		t.Errorf("Retry-After is %q, want seconds", response.Header.Get("Retry-After"))
	}
}

// serve is a server of a few lines that misbehaves.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func responding(t *testing.T, status int, contentType, body string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func redirecting(t *testing.T, target string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	})
}

// withoutTokens is a registry whose token service is gone: a wrong external URL is the usual cause.
func withoutTokens(t *testing.T) string {
	t.Helper()
	tokens := realregistry.NewTokenServer(t, realregistry.TokenRules{Gone: true})
	return realregistry.Distribution(t, realregistry.Options{Token: tokens}).Endpoint
}
