package service_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

// A definition with unknown fields, or with TLS settings that have no effect, is checked as it would be without them,
// and the report warns. Stored definitions may have fields of newer API versions. What public clients send is known.
func TestUnknownFieldsAreReported(t *testing.T) {
	registry := realregistry.Distribution(t, realregistry.Options{})
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	authorization := client.Login().Authorization
	definition := func(endpoint string) string {
		return instance.JSON(object{"endpoint": endpoint, "basecontentpath": "charts", "isSyncSupported": true,
			"containsSpectroManifest": false,
			"auth": object{"type": "noAuth", "usernme": "ada",
				"tls": object{"enabled": false, "insecureSkipVerify": true}}})
	}
	want := []string{
		"unknownField auth.usernme: did you mean auth.username?", "unknownField basecontentpath: did you mean baseContentPath?",
		"tlsSettingsIgnored auth.tls.enabled: auth.tls.insecureSkipVerify",
	}

	var report warned
	client.Do(http.MethodPost, diagnose, definition(registry.Endpoint), "Authorization", authorization).Want(http.StatusOK).Into(&report)
	report.want(t, want)

	valid := client.Do(http.MethodPost, validate, definition(registry.Endpoint), "Authorization", authorization).
		Want(http.StatusNoContent).Header
	if got := valid["Warning"]; len(got) != 2 || !slices.Contains(got, `299 - "unknown field auth.usernme; did you mean auth.username?"`) {
		t.Errorf("a 204 warns %q", got)
	}
	uid := valid.Get("AuditUid")
	found := false
	for _, r := range auditRecords(t, server) {
		found = found || r.uid == uid
		if r.uid == uid && (!strings.Contains(r.all, "unknownField") || !strings.Contains(r.all, "tlsSettingsIgnored")) {
			t.Errorf("the audit record lacks the warnings: %s", r.all)
		}
	}
	if !found {
		t.Error("no audit record")
	}

	var refused struct{ Details warned }
	client.Do(http.MethodPost, validate, definition("http://"+testport.Unused(t)), "Authorization",
		authorization).Want(http.StatusUnprocessableEntity).Into(&refused)
	refused.Details.want(t, want)

	document := `{"metadata":{"name":"newer","annotations":{},"kind":"x"},"spec":` + definition(registry.Endpoint) + `,"status":{}}`
	client.Do(http.MethodPost, "/v1/registries/oci/basic", document, "Authorization", authorization).Want(http.StatusCreated)
}

// Every operation with a JSON body names the fields that it ignores, whether it succeeds or not. Those of SCIM do not: identity providers
// send attributes of schemas that a service need not have (RFC 7643 section 3.3).
func TestUnknownFieldsAreNamed(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	good := []string{"Authorization", client.Login().Authorization}
	for _, op := range append(slices.Clone(operations),
		protectedOperation{method: "POST", path: "/v1/auth/authenticate",
			body: instance.Credentials(instance.Email, instance.Org, instance.Password)},
		protectedOperation{method: "POST", path: "/v1/auth", body: instance.Credentials(instance.Email, instance.Org, "wrong")},
		protectedOperation{method: "POST", path: "/v1/apiKeys/revoke", body: `{"apiKey":"rwk_x"}`},
		protectedOperation{method: "POST", path: importPath, body: importing(noAuth("https://registry.example.com"))},
	) {
		// RFC 6902 section 4 ignores other members.
		if op.body == "" || strings.HasPrefix(op.body, "[") || strings.HasPrefix(op.path, "/scim/") {
			continue
		}
		sent := strings.Replace(op.body, "{", `{"zzzz":{"a":1},`, 1)
		response := client.Do(op.method, op.path, sent, good...)
		if got := response.Header["Warning"]; !slices.Contains(got, `299 - "unknown field zzzz"`) {
			t.Errorf("%s %s: %d, Warning %q", op.method, op.path, response.Status, got)
		}
	}
	client.Do("POST", "/v1/projects", `{"metadata":{"name":"Red","labels":{"zzzz":"1"}}}`, good...).Want(http.StatusCreated)
}

// A client may change a response and send it back.
func TestFieldsOfResponsesAreKnown(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	good := []string{"Authorization", client.Login().Authorization}
	create := func(path, body string) string {
		var made struct{ UID string }
		client.Do("POST", path, body, good...).Want(http.StatusCreated).Into(&made)
		return made.UID
	}
	project := "/v1/projects/" + create("/v1/projects", `{"metadata":{"name":"Red"}}`)
	channels := project + "/alerts/RegistryHealth"
	create(channels, `{"type":"http","isActive":true,"http":{"method":"POST","url":"https://hooks.example.com/x"}}`)
	registry := "/v1/registries/oci/" + create(registriesPath,
		`{"metadata":{"name":"n"},"spec":{"endpoint":"https://registry.example.com","auth":{"type":"noAuth"}}}`)
	for _, path := range []string{project, channels, registry + "/basic"} {
		sent := client.Do("GET", path, "", good...).Want(http.StatusOK).Body
		response := client.Do("PUT", path, string(sent), good...).Want(http.StatusNoContent)
		if got := response.Header["Warning"]; got != nil {
			t.Errorf("PUT %s of %s: Warning %q", path, sent, got)
		}
	}
}

func TestUnknownFieldsHaveHints(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	good := []string{"Authorization", client.Login().Authorization}
	many, first := []string{}, []string{}
	for i := range 20 {
		many = append(many, fmt.Sprintf(`"zz%02d":1`, i))
		if i < 10 {
			first = append(first, fmt.Sprintf(`299 - "unknown field zz%02d"`, i))
		}
	}
	project := channelsOf(noUID)
	for _, tt := range []struct {
		method, path, body string
		want               []string
	}{
		{"POST", "/v1/projects", `{"metadata":{"name":"Blue"}}`, nil},
		{"POST", "/v1/projects", `{"metadata":{"nam":"Blue"}}`,
			[]string{`299 - "unknown field metadata.nam; did you mean metadata.name?"`}},
		{"POST", "/v1/projects", `{"metadata.name":"Blue"}`, []string{`299 - "unknown field metadata.name; use nested objects"`}},
		{"POST", "/v1/projects", `{` + strings.Join(many, ",") + `}`, first},
		{"POST", "/v1/projects", `{"a\r\nX-Evil: \"\\\u00e9` + strings.Repeat("z", 1000) + `":1}`,
			[]string{`299 - "unknown field a??X-Evil: \"\\?` + strings.Repeat("z", 86) + `..."`}},
		{"PUT", project, `{"channels":[{"type":"http"},{"typ":"http","http":{"URL":"u"}}]}`,
			[]string{`299 - "unknown field channels[1].typ; did you mean channels[].type?"`,
				`299 - "unknown field channels[1].http.URL; did you mean channels[].http.url?"`}},
		{"POST", registriesPath, `{"metadata":{"name":"n"},"spec":{"endpont":"e","isPrivate":true}}`,
			[]string{`299 - "unknown field spec.endpont; did you mean spec.endpoint?"`}},
		{"POST", validate, `{"endpoint":"ftp://x","auth":{"user":"u"},"isSyncSupported":true}`,
			[]string{`299 - "unknown field auth.user; did you mean auth.username?"`}},
		{"POST", "/v1/projects", `{"zzzz":1`, nil},
	} {
		response := client.Do(tt.method, tt.path, tt.body, good...)
		if diff := cmp.Diff(tt.want, response.Header["Warning"]); diff != "" || response.Header.Get("X-Evil") != "" {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, response.Status, diff)
		}
	}
	client.Do("POST", "/v1/projects", `{"metadata":{"name":"Green"},"zzzz":1}`, good...).Want(http.StatusCreated)
}

// warned is a report as far as its warnings.
type warned struct {
	Warnings []struct{ Code, Field, Message string }
}

// want holds the warnings against code, field and a part of the message each.
func (w warned) want(t *testing.T, all []string) {
	t.Helper()
	if len(w.Warnings) != len(all) {
		t.Errorf("%d warnings, want %d: %+v", len(w.Warnings), len(all), w.Warnings)
	}
	for _, want := range all {
		head, part, _ := strings.Cut(want, ": ")
		found := false
		for _, warning := range w.Warnings {
			found = found || warning.Code+" "+warning.Field == head && strings.Contains(warning.Message, part)
		}
		if !found {
			t.Errorf("no warning %q in %+v", want, w.Warnings)
		}
	}
}
