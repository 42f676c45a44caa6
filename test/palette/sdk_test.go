package palette_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// sdkLogin is the body of the SDK's own login: no organization.
var sdkLogin = instance.JSON(map[string]string{"emailId": instance.Email, "password": instance.Password})

// login is New(WithUsername, WithPassword): the SDK reads the token and nothing else.
func (c goSDK) login() string {
	c.wire.t.Helper()
	c.key = ""
	var tokens struct{ Authorization string }
	c.must(post("/v1/auth/authenticate", sdkLogin, 200), &tokens)
	if tokens.Authorization == "" {
		c.wire.t.Fatal("the login returns no token")
	}
	return tokens.Authorization
}

// The ways in: the SDK's, the generated call's, and the prose's.
func TestSignIns(t *testing.T) {
	w := start(t, "--default-org", instance.Org)
	for name, o := range map[string]operation{
		"no organization": post("/v1/auth/authenticate", sdkLogin, 200),
		"generated": post("/v1/auth/authenticate?setCookie=true",
			instance.Credentials(instance.Email, instance.Org, instance.Password), 200),
		"generated, no cookie": post("/v1/auth/authenticate?setCookie=false",
			instance.Credentials(instance.Email, instance.Org, instance.Password), 200),
		"other path":                       post("/v1/auth", sdkLogin, 200),
		"empty organization":               post("/v1/auth/authenticate", instance.Credentials(instance.Email, "", instance.Password), 200),
		"trailing newline behind the body": post("/v1/auth/authenticate", sdkLogin+"\n", 200),
		"unknown field in the body":        post("/v1/auth/authenticate", strings.Replace(sdkLogin, "{", `{"rememberMe":true,`, 1), 200),
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			c := w.sdk()
			c.key = ""
			var tokens struct {
				Authorization string
				RefreshToken  string `json:"refreshToken"`
			}
			c.must(o, &tokens)
			c.jwt = tokens.Authorization
			c.projectUID("Default")
			renew(t, c, tokens.Authorization)
			renew(t, c, tokens.RefreshToken)
		})
	}
}

// renew refreshes without credentials; the token is part of the path, not escaped.
func renew(t *testing.T, c goSDK, token string) {
	t.Helper()
	if strings.ContainsAny(token, "/?#%+ ") || token == "" {
		t.Fatalf("the token %q cannot be a path segment unescaped", token)
	}
	c.jwt = ""
	var tokens struct{ Authorization string }
	c.must(get("/v1/auth/refresh/"+token+"?setCookie=true"), &tokens)
	c.jwt = tokens.Authorization
	c.projectUID("Default")
}

// Without a standard organization the SDK's login is refused for good, naming what lacks.
func TestLoginWithoutOrganization(t *testing.T) {
	w := start(t)
	c := w.sdk()
	c.key = ""
	err := c.refused(post("/v1/auth/authenticate", sdkLogin, 200), 400, "InvalidRequest")
	if text := instance.JSON(err.Details); !strings.Contains(text, `"org"`) {
		t.Errorf("details %s do not name org", text)
	}
	c.refused(post("/v1/auth/authenticate", instance.Credentials(instance.Email, instance.Org, "no such password"), 200),
		401, "AuthenticationFailed")
}

// projectUID is GetProjectUID, and Validate.
func (c goSDK) projectUID(name string) string {
	c.wire.t.Helper()
	c.project = ""
	var list readList
	c.must(get("/v1/dashboard/projects/metadata"), &list)
	for _, item := range list.Items {
		if item.Metadata.Name == name {
			return item.Metadata.UID
		}
	}
	c.wire.t.Fatalf("no project %q", name)
	return ""
}

// ValidateTenantAdmin asks for the users, which only an administrator may.
func TestValidateTenantAdmin(t *testing.T) {
	w := start(t)
	c := w.sdk()
	var users readList
	c.must(get("/v1/users"), &users)
	if len(users.Items) == 0 {
		t.Error("an administrator sees no users")
	}
	c.key = w.newMember("member@acme.example")
	c.refused(get("/v1/users"), 403, "OperationForbidden")
}

// CreateAPIKey, GetAPIKeys, DeleteAPIKeyByName.
func TestAPIKeys(t *testing.T) {
	w := start(t)
	c := w.sdk()
	var info struct {
		TenantUID string `json:"tenantUid"`
	}
	c.must(get("/v1/users/info"), &info)
	body := encoded(t, map[string]any{
		"metadata": map[string]any{"name": "pipeline", "annotations": map[string]string{"description": "for CI"},
			"creationTimestamp": zeroTime, "deletionTimestamp": zeroTime, "lastModifiedTimestamp": zeroTime},
		"spec": map[string]any{"userUid": info.TenantUID,
			"expiry": time.Now().Add(24 * time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")},
	})
	var made struct {
		APIKey string `json:"apiKey"`
		UID    string `json:"uid"`
	}
	c.must(post("/v1/apiKeys", body, 201), &made)
	if made.APIKey == "" || made.UID == "" {
		t.Fatalf("made %+v", made)
	}
	made2 := c
	made2.key = made.APIKey
	made2.projectUID("Default")

	var keys readList
	c.must(get("/v1/apiKeys"), &keys)
	var uid string
	for _, item := range keys.Items {
		if item.Metadata.Name == "pipeline" {
			uid = item.Metadata.UID
		}
	}
	if uid != made.UID {
		t.Fatalf("the list has uid %q, want %q", uid, made.UID)
	}
	c.must(del("/v1/apiKeys/"+uid), nil)
	made2.refused(get("/v1/dashboard/projects/metadata"), 401, "UnAuthorizedAccess")
	c.refused(del("/v1/apiKeys/"+uid), 404, "ResourceNotFound")
}

// The SDK takes the key out of what it shows; nothing of ours needs that.
func TestErrorsDoNotRepeatTheKey(t *testing.T) {
	w := start(t)
	c := w.sdk()
	for _, o := range []operation{get("/v1/" + w.key), get(of(w.key, "/basic")),
		post(registriesPath+"/basic", `{"metadata":{"name":7},"x":"`+w.key+`"}`, 201)} {
		resp, err := c.wire.send(c.request(o.method, o.path, o.body))
		if err != nil || resp.status < 400 {
			t.Fatalf("%s: status %d, error %v", o.path, resp.status, err)
		}
		if strings.Contains(string(resp.body), w.key) {
			t.Errorf("%s %s repeats the key", o.method, o.path)
		}
	}
}

// ListOCIRegistries and SearchPackRegistryCommon, with a token in the place of the key and a scope.
func TestSDKLists(t *testing.T) {
	w := start(t, "--default-org", instance.Org)
	c := anonymous(t)
	uid := w.plugin().create(c)
	sdk := w.sdk()
	sdk.jwt, sdk.key = sdk.login(), ""
	sdk.project = sdk.projectUID("Default")
	p := &provider{goSDK: sdk}
	if found := findSummary(t, p.summary(), c.Name); found.uid != uid {
		t.Errorf("uid %s, want %s", found.uid, uid)
	}
	var names readNames
	sdk.must(get("/v1/registries/metadata"), &names)
	if len(names.Items) != 1 || names.Items[0].UID != uid {
		t.Errorf("%+v", names)
	}
}

// The registry of any type is a flat entity. What the SDK cannot find in it is empty without an error.
func TestRegistryEntity(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := harbor(t)
	var entity struct {
		Auth          *readAuth `json:"auth"`
		DefaultRegion *string   `json:"defaultRegion"`
		Endpoint      string    `json:"endpoint"`
		ProviderType  string    `json:"providerType"`
		Scope         string    `json:"scope"`
		Type          string    `json:"type"`
	}
	var made struct{ UID string }
	p.must(post(registriesPath+"/basic", strings.Replace(c.body(t), `"spec":{`, `"spec":{"scope":"tenant",`, 1), 201), &made)
	p.must(get(of(made.UID, "")), &entity)
	if entity.Type != "basic" || entity.Scope != "tenant" || entity.Endpoint != c.Endpoint || entity.ProviderType != c.ProviderType ||
		entity.DefaultRegion == nil {
		t.Errorf("%+v", entity)
	}
	if a := entity.Auth; a == nil || a.Type != c.CredentialType || a.Username != c.Username || a.TLS == nil ||
		a.TLS.Certificate != c.Certificate {
		t.Errorf("auth is %+v", entity.Auth)
	}
	p.refused(get(of("00000000-0000-4000-8000-000000000000", "")), 404, "ResourceNotFound")
}

// AuditUid is read on 201, 202 and 204 where it is, and Go finds it under its own spelling. It names the record of the change.
func TestAuditUID(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := anonymous(t)
	c.Synchronization, c.BaseContentPath = true, "charts"
	var uid string
	for _, step := range []struct {
		action string
		call   func() operation
	}{
		{"registry.validate", func() operation { return post(registriesPath+"/basic/validate", encoded(t, c.spec()), 204) }},
		{"registry.create", func() operation { return post(registriesPath+"/basic", c.body(t), 201) }},
		{"registry.update", func() operation { return put(of(uid, "/basic"), c.body(t)) }},
		{"registry.sync", func() operation { return post(of(uid, "/basic/sync"), "", 202) }},
		{"registry.check", func() operation { return post(of(uid, "/check"), "", 202) }},
		{"registry.delete", func() operation { return del(of(uid, "/basic")) }},
		{"project.create", func() operation { return post("/v1/projects", `{"metadata":{"name":"another"}}`, 201) }},
		{"user.create", func() operation { return post("/v1/users", `{"spec":{"emailId":"ada@acme.example"}}`, 201) }},
		{"alert.create", func() operation {
			return post("/v1/projects/"+p.projectUID+"/alerts/RegistryHealth",
				`{"type":"http","http":{"url":"https://hooks.example/x","method":"POST"}}`, 201)
		}},
	} {
		o := step.call()
		resp, err := p.wire.send(p.request(o.method, o.path, o.body))
		if err != nil || resp.status != o.success || resp.header.Get("AuditUid") == "" {
			t.Fatalf("%s: status %d, error %v, header %v", step.action, resp.status, err, resp.header)
		}
		if step.action == "registry.create" {
			var made struct{ UID string }
			if err := json.Unmarshal(resp.body, &made); err != nil {
				t.Fatal(err)
			}
			uid = made.UID
		}
		var record struct {
			Spec struct {
				Action, Outcome string
			}
		}
		p.must(get("/v1/audits/"+resp.header.Get("AuditUid")), &record)
		if record.Spec.Action != step.action || record.Spec.Outcome == "refused" {
			t.Errorf("the record of %s is %+v", step.action, record.Spec)
		}
	}
	// What was not done has no record that could be named.
	taken, err := p.wire.send(p.request(http.MethodPost, "/v1/projects", `{"metadata":{"name":"another"}}`))
	if err != nil || taken.status != 409 || taken.header.Get("AuditUid") != "" {
		t.Errorf("status %d, error %v, AuditUid %q", taken.status, err, taken.header.Get("AuditUid"))
	}
}

// Section 7: the components that alerts can be had about.
func TestAlertComponents(t *testing.T) {
	w := start(t)
	p := w.plugin()
	var list struct {
		Components []struct {
			Name              string   `json:"name"`
			Description       string   `json:"description"`
			SupportedChannels []string `json:"supportedChannels"`
		} `json:"components"`
	}
	p.must(get("/v1/projects/alerts"), &list)
	var names []string
	for _, component := range list.Components {
		if component.Name == "" || component.Description == "" || component.SupportedChannels == nil {
			t.Errorf("%+v", component)
		}
		for _, channel := range component.SupportedChannels {
			if channel != "email" && channel != "http" && channel != "app" {
				t.Errorf("channel %q is not of the specification", channel)
			}
		}
		names = append(names, component.Name)
	}
	if !slices.Contains(names, "RegistryHealth") || !slices.Contains(names, "ClusterHealth") {
		t.Errorf("components %v", names)
	}
}
