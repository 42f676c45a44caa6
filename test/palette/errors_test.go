package palette_test

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/instance"
)

// wrong is one way to be refused for good: nothing changes by trying again.
type wrong struct {
	name         string
	method, path string
	body         string
	key          string // in place of the administrator's
	project      string
	contentType  string // in place of application/json
	status       int
	code         string
}

// everyRefusal is sent to one service: each kind of fault that the clients' operations can meet.
func everyRefusal(t *testing.T, w *world) []wrong {
	t.Helper()
	p := w.plugin()
	c := harbor(t)
	uid := p.create(c)
	member := w.newMember("member@acme.example")
	quiet := anonymous(t)
	unsynchronized := p.create(quiet)
	quiet.Name = "another"
	spec := func(change func(*config)) string {
		other := c
		change(&other)
		return encoded(t, other.spec())
	}
	masked := strings.Replace(strings.Replace(c.body(t), robotSecret, "********", 1), c.Endpoint, "https://other.example", 1)
	const basic, validate, missing = registriesPath + "/basic", registriesPath + "/basic/validate", "00000000-0000-4000-8000-000000000000"
	all := []wrong{
		{name: "unknown path", method: "GET", path: "/v1/nothing", status: 404, code: "PathNotFound"},
		{name: "unknown path below", method: "GET", path: of(uid, "/nothing"), status: 404, code: "PathNotFound"},
		{name: "images", method: "GET", path: registriesPath + "/image", status: 404, code: "PathNotFound"},
		{name: "new registry in the shape of another kind", method: "POST", path: registriesPath + "/ecr",
			body: ecrConfig{Name: "x"}.body(t), status: 400, code: "InvalidRequest"},
		{name: "uid that is the name of a path", method: "GET", path: registriesPath + "/ecr", status: 405, code: "MethodNotAllowed"},
		{name: "users without details", method: "GET", path: "/v1/users/meta", status: 404, code: "PathNotFound"},
		{name: "registry of another kind with the name of a path", method: "GET", path: of("image", "/ecr"), status: 404,
			code: "ResourceNotFound"},
		{name: "registry with the name of a path", method: "GET", path: of("image", "/basic"), status: 404, code: "ResourceNotFound"},
		{name: "kind of resource that is not served", method: "GET", path: "/v1/clusterprofiles", status: 404, code: "PathNotFound"},
		{name: "resource of a kind not served", method: "DELETE", path: "/v1/filters/" + missing, status: 404, code: "PathNotFound"},
		{name: "workspace roles", method: "PUT", path: "/v1/workspaces/users/" + missing + "/roles", body: `{"workspaces":[]}`, status: 405,
			code: "MethodNotAllowed"},
		{name: "project read", method: "GET", path: "/v1/projects/" + missing, status: 404, code: "ResourceNotFound"},
		{name: "project changed", method: "PUT", path: "/v1/projects/" + missing, body: projectConfig{Name: "x"}.body(t, missing),
			status: 404, code: "ResourceNotFound"},
		{name: "project deleted", method: "DELETE", path: "/v1/projects/" + missing, status: 404, code: "ResourceNotFound"},
		{name: "project deleted with its content", method: "DELETE", path: "/v1/projects/" + p.projectUID + "?cleanupProjectResources=true",
			status: 400, code: "InvalidRequest"},
		{name: "user read", method: "GET", path: "/v1/users/" + missing, status: 404, code: "ResourceNotFound"},
		{name: "roles of a user read", method: "GET", path: "/v1/users/" + missing + "/roles", status: 404, code: "ResourceNotFound"},
		{name: "user deleted", method: "DELETE", path: "/v1/users/" + missing, status: 404, code: "ResourceNotFound"},
		{name: "last administrator deleted", method: "DELETE", path: "/v1/users/" + instance.Email, status: 409, code: "LastAdministrator"},
		{name: "wrong method", method: "DELETE", path: registriesPath + "/summary", status: 405, code: "MethodNotAllowed"},
		{name: "unknown key", method: "GET", path: registriesPath + "/summary", key: "no-such-key", status: 401,
			code: "UnAuthorizedAccess"},
		{name: "wrong password", method: "POST", path: "/v1/auth/authenticate",
			body: instance.Credentials("x@acme.example", instance.Org, "wrong"), status: 401, code: "AuthenticationFailed"},
		{name: "no organization", method: "POST", path: "/v1/auth/authenticate", body: sdkLogin, status: 400, code: "InvalidRequest"},
		{name: "unknown token", method: "GET", path: "/v1/auth/refresh/unknown?setCookie=true", status: 401, code: "InvalidRefreshToken"},
		{name: "member creates", method: "POST", path: basic, body: quiet.body(t), key: member, status: 403, code: "OperationForbidden"},
		{name: "member updates", method: "PUT", path: of(uid, "/basic"), body: c.body(t), key: member, status: 403,
			code: "OperationForbidden"},
		{name: "member deletes", method: "DELETE", path: of(uid, "/basic"), key: member, status: 403, code: "OperationForbidden"},
		{name: "member synchronizes", method: "POST", path: of(uid, "/basic/sync"), key: member, status: 403, code: "OperationForbidden"},
		{name: "member lists users", method: "GET", path: "/v1/users", key: member, status: 403, code: "OperationForbidden"},
		{name: "unknown project", method: "GET", path: of(uid, "/basic"), project: missing, status: 404, code: "ProjectNotFoundInTenant"},
		{name: "unknown project in a list", method: "GET", path: registriesPath + "/summary", project: "x", status: 404,
			code: "ProjectNotFoundInTenant"},
		{name: "name taken", method: "POST", path: basic, body: c.body(t), status: 409, code: "RegistryAlreadyExists"},
		{name: "name taken, other case", method: "POST", path: basic, body: strings.Replace(c.body(t), `"harbor"`, `"HARBOR"`, 1),
			status: 409, code: "RegistryAlreadyExists"},
		{name: "renamed to a taken one", method: "PUT", path: of(unsynchronized, "/basic"), body: c.body(t), status: 409,
			code: "RegistryAlreadyExists"},
		{name: "no body", method: "POST", path: basic, status: 400, code: "InvalidRequest"},
		{name: "no body to validate", method: "POST", path: validate, status: 400, code: "InvalidRequest"},
		{name: "endpoint null", method: "POST", path: validate, body: `{"endpoint":null,"auth":{"type":"noAuth"}}`,
			status: 400, code: "InvalidRequest"},
		{name: "endpoint null in a record", method: "POST", path: basic,
			body: `{"metadata":{"name":"n"},"spec":{"endpoint":null,"auth":null}}`, status: 400, code: "InvalidRequest"},
		{name: "empty record", method: "PUT", path: of(uid, "/basic"), body: `{}`, status: 400, code: "InvalidRequest"},
		{name: "no JSON", method: "POST", path: basic, body: `{"metadata":`, status: 400, code: "InvalidRequest"},
		{name: "other provider type", method: "POST", path: basic, body: strings.Replace(quiet.body(t), `"helm"`, `"git"`, 1),
			status: 400, code: "InvalidRequest"},
		{name: "mask on create", method: "POST", path: basic,
			body:   strings.Replace(strings.Replace(c.body(t), robotSecret, "********", 1), `"harbor"`, `"masked"`, 1),
			status: 400, code: "InvalidRequest"},
		{name: "stored secret for another endpoint", method: "PUT", path: of(uid, "/basic"), body: masked,
			status: 400, code: "InvalidRequest"},
		{name: "unknown registryUid", method: "POST", path: validate,
			body: strings.Replace(spec(func(*config) {}), "{", `{"registryUid":"`+missing+`",`, 1), status: 400, code: "InvalidRequest"},
		{name: "text", method: "POST", path: validate, body: spec(func(*config) {}), contentType: "text/plain", status: 415,
			code: "UnsupportedMediaType"},
		{name: "large", method: "POST", path: basic, body: `{"metadata":{"name":"` + strings.Repeat("x", 1<<20) + `"}}`,
			status: 413, code: "RequestTooLarge"},
		{name: "password wrong", method: "POST", path: validate, body: spec(func(c *config) { c.Password = "wrong" }), status: 422,
			code: "RegistryAuthFailed"},
		{name: "no password", method: "POST", path: validate, body: spec(func(c *config) { c.CredentialType = "noAuth" }), status: 422,
			code: "RegistryAuthRequired"},
		{name: "authority unknown", method: "POST", path: validate, body: spec(func(c *config) { c.Certificate = "" }), status: 422,
			code: "RegistryTLSFailed"},
		{name: "nothing listens", method: "POST", path: validate,
			body: spec(func(c *config) { c.Endpoint = "https://" + testport.Unused(t) }), status: 422, code: "RegistryUnreachable"},
		{name: "address forbidden", method: "POST", path: validate, body: spec(func(c *config) { c.Endpoint = "https://169.254.169.254" }),
			status: 422, code: "RegistryAddressForbidden"},
		{name: "no registry", method: "POST", path: validate, body: spec(func(c *config) { c.EndpointSuffix = "missing" }),
			status: 422, code: "RegistryNotOCI"},
		{name: "nothing to synchronize", method: "POST", path: of(unsynchronized, "/basic/sync"), status: 400, code: "InvalidRequest"},
		{name: "component unknown", method: "PUT", path: "/v1/projects/" + p.projectUID + "/alerts/PodHealth", body: `{"channels":[]}`,
			status: 404, code: "ResourceNotFound"},
		{name: "key unknown", method: "DELETE", path: "/v1/apiKeys/" + missing, status: 404, code: "ResourceNotFound"},
		{name: "helm registry unknown", method: "GET", path: "/v1/registries/helm/" + uid + "/sync/status", status: 404,
			code: "ResourceNotFound"},
	}
	for _, status := range []int{500, 503, 504, 429} {
		all = append(all, wrong{name: "registry returns " + http.StatusText(status), method: "POST", path: validate,
			body: instance.JSON(map[string]any{"endpoint": failing(t, status), "auth": map[string]string{"type": "noAuth"}}), status: 422,
			code: "RegistryUnavailable"})
	}
	return append(all, notFound(t, missing, c.body(t))...)
}

// notFound has every operation on a registry that is not there, or goes by a name.
func notFound(t *testing.T, missing, body string) (all []wrong) {
	for _, id := range []string{missing, "harbor", "A%20Name%2Fwith"} {
		for _, o := range []struct{ method, rest, body string }{
			{"GET", "/basic", ""}, {"PUT", "/basic", body}, {"DELETE", "/basic", ""}, {"GET", "/ecr", ""}, {"GET", "", ""},
			{"PUT", "/ecr", ecrConfig{CredentialType: "secret"}.body(t)}, {"DELETE", "/ecr", ""}, {"POST", "/ecr/sync", ""},
			{"GET", "/ecr/sync/status", ""},
			{"POST", "/basic/sync", ""}, {"GET", "/basic/sync/status", ""}, {"GET", "/basic/content", ""},
		} {
			all = append(all, wrong{name: o.method + " " + id + o.rest, method: o.method, path: registriesPath + "/" + id + o.rest,
				body: o.body, status: 404, code: "ResourceNotFound"})
		}
	}
	return all
}

// failing is a server that returns one status to every request.
func failing(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) }))
	t.Cleanup(server.Close)
	return server.URL
}

// each sends every refusal through the client's transport and hands over the response and what the client makes of it.
func each(t *testing.T, check func(t *testing.T, tt wrong, resp response, seen *apiError)) {
	w := start(t)
	for _, tt := range everyRefusal(t, w) {
		t.Run(tt.name, func(t *testing.T) {
			c := w.in(t).sdk()
			c.project = tt.project
			if tt.key != "" {
				c.key = tt.key
			}
			r := c.request(tt.method, tt.path, tt.body)
			for i, line := range r.header {
				if tt.contentType != "" && line[0] == "Content-Type" {
					r.header[i][1] = tt.contentType
				}
			}
			resp, err := c.wire.send(r)
			if err != nil {
				t.Fatal(err)
			}
			check(t, tt, resp, operation{method: tt.method, path: tt.path, success: 299}.read(resp, nil))
		})
	}
}

// Rule 2: errors are application/json.
func TestRule02ErrorsAreJSON(t *testing.T) {
	each(t, func(t *testing.T, _ wrong, resp response, _ *apiError) {
		media, parameters, err := mime.ParseMediaType(resp.header.Get("Content-Type"))
		if err != nil || media != "application/json" || len(parameters) > 1 {
			t.Errorf("status %d, content type %q", resp.status, resp.header.Get("Content-Type"))
		}
	})
}

// Rule 3: code is a string, the one that is documented, and nothing of the error is lost to the SDK.
func TestRule03CodeIsAString(t *testing.T) {
	each(t, func(t *testing.T, tt wrong, resp response, seen *apiError) {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(resp.body, &body); err != nil {
			t.Fatalf("%v: %s", err, resp.body)
		}
		if string(body["code"]) != `"`+tt.code+`"` || resp.status != tt.status {
			t.Errorf("status %d, code %s; want %d, %q: %s", resp.status, body["code"], tt.status, tt.code, resp.body)
		}
		if seen.Lossy != "" || seen.Code != tt.code {
			t.Errorf("the SDK reads %v", seen)
		}
	})
}

// Rule 4: no error has an empty body; each has a message other than its code, and a ref.
func TestRule04ErrorsHaveABody(t *testing.T) {
	each(t, func(t *testing.T, _ wrong, _ response, seen *apiError) {
		if seen.Message == "" || seen.Ref == "" || seen.Message == seen.Code {
			t.Errorf("message %q, ref %q", seen.Message, seen.Ref)
		}
	})
}

// Rule 5: a missing resource is 404 with exactly ResourceNotFound for every operation; nothing else has that code.
func TestRule05NotFoundToTheLetter(t *testing.T) {
	each(t, func(t *testing.T, tt wrong, _ response, seen *apiError) {
		if (seen.Code == "ResourceNotFound") != (tt.code == "ResourceNotFound") {
			t.Errorf("the SDK reads %v", seen)
		}
	})
}

// Rule 6: a permanent error has no status that the clients retry.
func TestRule06NothingPermanentIsRetried(t *testing.T) {
	each(t, func(t *testing.T, _ wrong, _ response, seen *apiError) {
		if seen.Retried != "" {
			t.Errorf("the client tries again: %s", seen.Retried)
		}
	})
}
