package replicas_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

// PostgreSQL has no text with a NUL. A client's mistake must not look like one of the service.
func TestTextThatPostgreSQLCannotHold(t *testing.T) {
	f := startFleet(t, 1, postgrestest.Start(t, postgrestest.Options{NoSync: true}).NewDatabase(t))
	client := f.client(t)
	token := logIn(t, client).Authorization
	project := do(t, client, http.MethodGet, "/v1/projects", "", "Authorization", token).Want(http.StatusOK).Body
	_, project, _ = strings.Cut(project, `"uid":"`)
	project, _, _ = strings.Cut(project, `"`)
	definition := func(metadata, spec string) string {
		return `{"metadata":{"name":"one"` + metadata +
			`},"spec":{"endpoint":"https://registry.example.com","auth":{"type":"noAuth"}` + spec + `}}`
	}
	const registries, channel = "/v1/registries/oci/basic",
		`{"type":"http","isActive":true,"http":{"method":"POST","url":"https://hooks.example.com/x"`
	for _, c := range []struct{ name, method, path, body string }{
		{"query of a list", "GET", "/v1/audits?userUid=a%00b", ""},
		{"object of a list", "GET", "/v1/audits?resourceUid=a%00b", ""},
		{"place in a list", "GET", "/v1/audits?continue=a%00b", ""},
		{"path of a user", "GET", "/v1/users/a%00b", ""},
		{"path of a registry", "GET", registries[:len(registries)-len("basic")] + "a%00b/basic", ""},
		{"path of a record", "GET", "/v1/audits/a%00b", ""},
		{"path of an API key", "DELETE", "/v1/apiKeys/a%00b", ""},
		{"path of a session", "DELETE", "/v1/users/me/sessions/a%00b", ""},
		{"path of a project", "GET", "/v1/projects/a%00b/alerts/RegistryHealth", ""},
		{"path of a component", "GET", "/v1/projects/" + project + "/alerts/a%00b", ""},
		{"refresh token", "GET", "/v1/auth/refresh/a%00b", ""},
		{"email", "POST", "/v1/auth/authenticate", `{"emailId":"a\u0000b","org":"Acme","password":"seven lanterns on the quay"}`},
		{"organization", "POST", "/v1/auth/authenticate", `{"emailId":"a@b","org":"a\u0000b","password":"seven lanterns on the quay"}`},
		{"registry's name", "POST", registries, strings.Replace(definition("", ""), `"one"`, `"a\u0000b"`, 1)},
		{"label", "POST", registries, definition(`,"labels":{"a\u0000b":"c\u0000d"}`, "")},
		{"annotation", "POST", registries, definition(`,"annotations":{"a":"c\u0000d"}`, "")},
		{"scope", "POST", registries, definition("", `,"scope":"a\u0000b"`)},
		{"content path", "POST", registries, definition("", `,"baseContentPath":"a\u0000b"`)},
		{"registry's uid", "POST", registries + "/validate",
			`{"endpoint":"https://registry.example.com","registryUid":"a\u0000b","auth":{"type":"noAuth"}}`},
		{"new user", "POST", "/v1/users", `{"spec":{"emailId":"a\u0000@b","password":"seven lanterns on the quay","roles":["admin"]}}`},
		{"project of a new user", "POST", "/v1/users",
			`{"spec":{"emailId":"a@b","password":"seven lanterns on the quay","roles":["member"],"projects":["a\u0000b"]}}`},
		{"new project", "POST", "/v1/projects", `{"metadata":{"name":"a\u0000b"}}`},
		{"API key's name", "POST", "/v1/apiKeys", `{"metadata":{"name":"a\u0000b"},"spec":{}}`},
		{"API key's user", "POST", "/v1/apiKeys", `{"metadata":{"name":"b"},"spec":{"userUid":"a\u0000b"}}`},
		{"webhook's body", "POST", "/v1/projects/" + project + "/alerts/RegistryHealth", channel + `,"body":"a\u0000b"}}`},
		{"webhook's header", "POST", "/v1/projects/" + project + "/alerts/RegistryHealth", channel + `,"headers":{"a":"c\u0000d"}}}`},
		{"mail address", "POST", "/v1/projects/" + project + "/alerts/RegistryHealth",
			`{"type":"email","isActive":true,"identifiers":["a\u0000@b"]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			response := do(t, client, c.method, c.path, c.body, "Authorization", token)
			if response.Status >= 500 { // labels and a webhook's body are stored encoded, so they may have one
				t.Errorf("status %d: %s", response.Status, response.Body)
			}
			if strings.Contains(c.path, "?") {
				response.Want(http.StatusBadRequest)
			}
		})
	}
	do(t, client, http.MethodGet, "/v1/projects", "", "Authorization", token, "ProjectUid", project).Want(http.StatusOK)
}
