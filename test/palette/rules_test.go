package palette_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// Rule 1: the success status is the documented one, or the client tries again.
func TestRule01SuccessStatusesAreExact(t *testing.T) {
	w := start(t, "--default-org", instance.Org)
	c := harbor(t)
	c.Synchronization = true
	var made struct{ UID string }
	for _, step := range []struct {
		name string
		call func() (operation, any)
	}{
		{"log in", func() (operation, any) { return post("/v1/auth/authenticate", sdkLogin, 200), &struct{}{} }},
		{"projects", func() (operation, any) { return get("/v1/dashboard/projects/metadata"), &struct{}{} }},
		{"validate", func() (operation, any) {
			return post(registriesPath+"/basic/validate", encoded(t, c.spec()), 204), nil
		}},
		{"create", func() (operation, any) {
			return post(registriesPath+"/basic?skipPackSync=false", c.body(t), 201), &made
		}},
		{"read", func() (operation, any) { return get(of(made.UID, "/basic")), &readRegistry{} }},
		{"update", func() (operation, any) { return put(of(made.UID, "/basic"), c.body(t)), nil }},
		{"sync", func() (operation, any) { return post(of(made.UID, "/basic/sync"), "", 202), nil }},
		{"sync status", func() (operation, any) { return get(of(made.UID, "/basic/sync/status")), &readSync{} }},
		{"summary", func() (operation, any) { return get(registriesPath + "/summary"), &readSummary{} }},
		{"metadata", func() (operation, any) { return get("/v1/registries/metadata"), &readNames{} }},
		{"helm", func() (operation, any) { return get("/v1/registries/helm"), &readList{} }},
		{"delete", func() (operation, any) { return del(of(made.UID, "/basic")), nil }},
		{"users", func() (operation, any) { return get("/v1/users"), &readList{} }},
		{"keys", func() (operation, any) { return get("/v1/apiKeys"), &readList{} }},
		{"alerts", func() (operation, any) { return get("/v1/projects/alerts"), &struct{}{} }},
	} {
		t.Run(step.name, func(t *testing.T) {
			o, into := step.call()
			w.in(t).sdk().must(o, into)
		})
	}
}

// Rule 9: what was not sent, or was empty, is read back with its default, in single registries and in lists: Terraform's import would
// plan a change of what is missing.
func TestRule09DefaultsAreReadBack(t *testing.T) {
	w := start(t)
	p := w.plugin()
	type defaults struct{ ProviderType, AuthType, Scope string }
	for spec, want := range map[string]defaults{
		`"auth":{}`: {"helm", "noAuth", "tenant"},
		`"providerType":"","scope":"","auth":{"type":"","username":"u","password":"p"}`: {"helm", "basic", "tenant"},
		`"providerType":"zarf","scope":"system","auth":{"token":"a-token"}`:             {"zarf", "token", "system"},
		`"providerType":"pack","auth":{"type":"token","username":"u","token":"t"}`:      {"pack", "token", "tenant"},
	} {
		body := `{"metadata":{"name":"sparse"},"spec":{"endpoint":"https://registry.example",` + spec + `}}`
		uid := p.createdUID(post(registriesPath+"/basic", body, 201))
		type read struct {
			ProviderType, Scope string
			Auth                struct{ Type string }
		}
		var whole struct{ Spec read }
		var entity read
		var list struct{ Items []struct{ Spec read } }
		p.must(get(of(uid, "/basic")), &whole)
		p.must(get(of(uid, "")), &entity)
		p.must(get(registriesPath+"/summary"), &list)
		for _, got := range []read{whole.Spec, entity} {
			if (defaults{got.ProviderType, got.Auth.Type, got.Scope}) != want {
				t.Errorf("%s: read back as %+v, want %+v", spec, got, want)
			}
		}
		if got := list.Items[0].Spec; got.ProviderType != want.ProviderType || got.Scope != want.Scope {
			t.Errorf("%s: listed as %+v, want %+v", spec, got, want)
		}
		_, imported := p.importResource("sparse")
		if imported.ProviderType != want.ProviderType || imported.CredentialType == "" && want.AuthType != "token" {
			t.Errorf("%s: imported as %+v", spec, imported)
		}
		p.must(del(of(uid, "/basic")), nil)
	}
}

// Rule 7: a record always carries spec.auth, spec.auth.tls and status.syncStatus, and nothing of these is stored: what comes
// back is accepted as the same definition, and can be imported.
func TestRule07RecordsCarryAuthAndSyncStatus(t *testing.T) {
	w := start(t)
	p := w.plugin()
	for i, body := range []string{
		anonymous(t).body(t),
		`{"metadata":{"name":"bare"},"spec":{"endpoint":"https://registry.example","auth":{}}}`,
		`{"metadata":{"name":"untyped"},"spec":{"endpoint":"https://registry.example","providerType":"helm","auth":{"username":"u",` +
			`"password":"p"}}}`,
		`{"metadata":{"name":"token"},"spec":{"endpoint":"https://registry.example","auth":{"type":"token",` +
			`"token":"a-token-of-some-length"}}}`,
	} {
		var made struct{ UID string }
		p.must(post(registriesPath+"/basic", body, 201), &made)
		var whole struct {
			Spec struct {
				Auth map[string]json.RawMessage `json:"auth"`
			} `json:"spec"`
			Status map[string]json.RawMessage `json:"status"`
		}
		p.must(get(of(made.UID, "/basic")), &whole)
		if got := string(whole.Status["syncStatus"]); !strings.HasPrefix(got, "{") {
			t.Errorf("%d: status.syncStatus is %q, want an object", i, got)
		}
		if got := string(whole.Spec.Auth["tls"]); got != `{"enabled":false,"insecureSkipVerify":false}` && i > 0 {
			t.Errorf("%d: spec.auth.tls is %s", i, got)
		}
		p.importResource(made.UID)
		for _, item := range p.summary().Items {
			p.importResource(item.Metadata.Name)
		}
	}
}

// Rule 8: isSyncSupported of the status is what was sent.
func TestRule08SyncSupportedAsSent(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := anonymous(t)
	for _, kind := range []string{"helm", "zarf", "pack"} {
		for _, sync := range []bool{false, true} {
			c.Name, c.ProviderType, c.Synchronization = fmt.Sprint(kind, sync), kind, sync
			var made struct{ UID string }
			p.must(post(registriesPath+"/basic?skipPackSync=true", c.body(t), 201), &made)
			if got, _ := p.read(made.UID); got.Synchronization != sync {
				t.Errorf("%s: is_synchronization %t, sent %t", kind, got.Synchronization, sync)
			}
			c.Synchronization = !sync
			p.must(put(of(made.UID, "/basic"), c.body(t)), nil)
			if got, _ := p.read(made.UID); got.Synchronization == sync {
				t.Errorf("%s: a change of is_synchronization is lost", kind)
			}
		}
	}
}

// Rule 9: the configuration is returned unchanged.
func TestRule09FieldsComeBackToTheLetter(t *testing.T) {
	w := start(t)
	pem := harbor(t).Certificate
	plain := func(change func(*config)) config {
		c := config{Name: "plain", Endpoint: "https://registry.example", ProviderType: "helm", CredentialType: "basic",
			Username: "u", Password: "p"}
		change(&c)
		return c
	}
	for name, c := range map[string]config{
		"slash at the end":         plain(func(c *config) { c.Endpoint += "/" }),
		"no scheme":                plain(func(c *config) { c.Endpoint = "Registry.Example:443" }),
		"oci scheme":               plain(func(c *config) { c.Endpoint = "oci://registry.example/v2/" }),
		"capitals and usual port":  plain(func(c *config) { c.Endpoint = "HTTPS://Registry.Example:443" }),
		"artifactory":              plain(func(c *config) { c.Endpoint += "/artifactory/api/docker/packs/" }),
		"docker hub":               plain(func(c *config) { c.Endpoint = "https://docker.io" }),
		"base path with v2":        plain(func(c *config) { c.EndpointSuffix = "/v2/" }),
		"content with slashes":     plain(func(c *config) { c.BaseContentPath = "/packs/" }),
		"blanks":                   plain(func(c *config) { c.Endpoint, c.BaseContentPath = " https://registry.example ", " packs " }),
		"user of harbor":           plain(func(c *config) { c.Username = `robot$library+"ci" <ä>&` }),
		"certificate":              plain(func(c *config) { c.Certificate = pem }),
		"certificate without end":  plain(func(c *config) { c.Certificate = strings.TrimSpace(pem) }),
		"certificate, CRLF":        plain(func(c *config) { c.Certificate = strings.ReplaceAll(pem, "\n", "\r\n") }),
		"certificate and insecure": plain(func(c *config) { c.Certificate, c.Insecure = pem, true }),
		"no credentials":           plain(func(c *config) { c.CredentialType, c.Username, c.Password = "noAuth", "", "" }),
		"zarf":                     plain(func(c *config) { c.ProviderType = "zarf" }),
		"pack synchronized":        plain(func(c *config) { c.ProviderType, c.Synchronization, c.BaseContentPath = "pack", true, "packs" }),
	} {
		t.Run(name, func(t *testing.T) {
			p := w.in(t).plugin()
			c.Name = name
			var made struct{ UID string }
			p.must(post(registriesPath+"/basic?skipPackSync=true", c.body(t), 201), &made)
			p.noDrift(made.UID, c)
			p.must(put(of(made.UID, "/basic"), c.body(t)), nil)
			p.noDrift(made.UID, c)
		})
	}
}

// Rule 10: the password may be masked, and is never shown.
func TestRule10PasswordIsMasked(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := harbor(t)
	uid := p.create(c)
	for _, path := range []string{of(uid, "/basic"), registriesPath + "/" + uid, registriesPath + "/summary", "/v1/registries/metadata",
		of(uid, "/basic/sync/status")} {
		resp, err := p.wire.send(p.request(http.MethodGet, path, ""))
		if err != nil || resp.status != http.StatusOK {
			t.Fatalf("%s: status %d, error %v", path, resp.status, err)
		}
		if strings.Contains(string(resp.body), robotSecret) {
			t.Errorf("%s shows the password", path)
		}
	}
	got, _ := p.read(uid)
	if got.Password == robotSecret {
		t.Error("the password is shown")
	}
	// A client like a console sends back what it read; the stored password stays.
	back := c
	back.Password, back.Name = got.Password, "renamed"
	p.must(put(of(uid, "/basic"), back.body(t)), nil)
	p.must(post(registriesPath+"/basic/validate", strings.Replace(encoded(t, back.spec()), "{", `{"registryUid":"`+uid+`",`, 1), 204), nil)
}

// Rule 11: create returns the uid in lowercase, and no code.
func TestRule11CreateReturnsUID(t *testing.T) {
	w := start(t)
	p := w.plugin()
	var made map[string]any
	p.must(post(registriesPath+"/basic?skipPackSync=false", anonymous(t).body(t), 201), &made)
	if uid, _ := made["uid"].(string); uid == "" || made["code"] != nil {
		t.Errorf("create returns %v", made)
	}
}

// Rule 12: every listed registry and project has its metadata; items is there when nothing is, and has nothing twice.
func TestRule12ListsHaveMetadata(t *testing.T) {
	w := start(t)
	p := w.plugin()
	lists := []string{registriesPath + "/summary", "/v1/dashboard/projects/metadata", "/v1/registries/helm",
		"/v1/registries/helm/summary", "/v1/registries/pack",
		"/v1/registries/pack/summary", "/v1/users", "/v1/apiKeys"}
	check := func(least map[string]int) {
		t.Helper()
		for _, path := range lists {
			var list readList
			p.must(get(path), &list)
			if list.Items == nil {
				t.Errorf("%s: items is null or missing", path)
			}
			seen := map[string]bool{}
			for _, item := range list.Items {
				if item.Metadata == nil || item.Metadata.Name == "" || item.Metadata.UID == "" || seen[item.Metadata.UID] {
					t.Errorf("%s: an item with metadata %+v", path, item.Metadata)
					continue
				}
				seen[item.Metadata.UID] = true
			}
			if len(seen) < least[path] {
				t.Errorf("%s: %d items, want %d", path, len(seen), least[path])
			}
		}
	}
	check(nil)
	var empty readNames
	p.must(get("/v1/registries/metadata"), &empty)
	if empty.Items == nil {
		t.Error("/v1/registries/metadata: items is null or missing")
	}
	c := anonymous(t)
	p.create(c)
	c.Name = "another"
	p.create(c)
	check(map[string]int{lists[0]: 2, lists[1]: 1})
}

// Rule 13: times are RFC 3339, and the zero times of requests are ignored.
func TestRule13Timestamps(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := anonymous(t)
	c.Synchronization = true
	uid := p.create(c)
	p.waitForSync(uid)
	for _, path := range []string{of(uid, "/basic"), of(uid, "/basic/sync/status"), registriesPath + "/summary",
		"/v1/apiKeys", "/v1/users"} {
		var whole any
		p.must(get(path), &whole)
		moments := timestamps("", whole)
		for _, name := range slices.Sorted(maps.Keys(moments)) {
			at, err := time.Parse(time.RFC3339, moments[name])
			if err != nil || at.Before(began) {
				t.Errorf("%s: %s is %q (%v)", path, name, moments[name], err)
			}
		}
		if len(moments) == 0 {
			t.Errorf("%s has no moment", path)
		}
	}
}

// timestamps finds the members with the name of a time.
func timestamps(path string, v any) map[string]string {
	all := map[string]string{}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			text, isText := inner.(string)
			if isText && (strings.HasSuffix(name, "Time") || strings.HasSuffix(name, "Timestamp") || name == "expiry" ||
				strings.HasPrefix(name, "last")) {
				all[path+"."+name] = text
			}
			maps.Copy(all, timestamps(path+"."+name, inner))
		}
	case []any:
		for i, inner := range v {
			maps.Copy(all, timestamps(fmt.Sprint(path, i), inner))
		}
	}
	return all
}

// Rule 14: what is unknown or empty in a request is ignored, and ProjectUid may come with any call.
func TestRule14UnknownAndEmptyIgnored(t *testing.T) {
	w := start(t)
	p := w.plugin().scoped()
	c := anonymous(t)
	body := strings.Replace(c.body(t), `"spec":{`,
		`"kind":"BasicOciRegistry","apiVersion":"","status":{"syncStatus":{"status":"Success"}},"spec":{"isPrivate":false,"scope":"",
		"registryUid":"","caCert":null,"syncRecovery":{"deep":[1,2]},`, 1)
	body = strings.Replace(body, `"metadata":{`, `"metadata":{"uid":"","annotations":{},"labels":{},"permissions":null,"selfLink":"",`, 1)
	body = strings.Replace(body, `"auth":{`, `"auth":{"username":"","password":"","token":"",`, 1)
	var made struct{ UID string }
	p.must(post(registriesPath+"/basic?skipPackSync=false&unknown=1", body, 201), &made)
	p.noDrift(made.UID, c)
	p.must(put(of(made.UID, "/basic"), body), nil)
	p.noDrift(made.UID, c)
	p.summary()
	for _, path := range []string{"/v1/registries/metadata", "/v1/registries/helm", "/v1/dashboard/projects/metadata", "/v1/users",
		"/v1/users/info", "/v1/apiKeys", "/v1/projects/alerts", "/v1/audits"} {
		p.must(get(path), &struct{}{})
	}
	p.must(post(registriesPath+"/basic/validate", encoded(t, c.spec()), 204), nil)
	p.must(del(of(made.UID, "/basic")), nil)
}
