package palette_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// tsSDK is the TypeScript SDK on Node's fetch: it never looks at a status. The headers are the caller's.
type tsSDK struct {
	wire   *wire
	header [][2]string
}

func (w *world) ts(header ...[2]string) tsSDK {
	w.t.Helper()
	return tsSDK{w.wire(), header}
}

// call returns parsed JSON when the content type says JSON, and text otherwise, whatever the status.
func (c tsSDK) call(method, path string, body any) any {
	c.wire.t.Helper()
	header := append([][2]string{{"accept", "*/*"}, {"accept-language", "*"}, {"sec-fetch-mode", "cors"}, {"user-agent", "node"},
		{"accept-encoding", "br, gzip, deflate"}}, c.header...)
	r := request{method: method, target: path, header: append(header, [2]string{"Content-Type", "application/json"})}
	if body != nil {
		r.body = instance.JSON(body)
	}
	resp, err := c.wire.send(r)
	if err != nil {
		c.wire.t.Fatalf("%s %s: %v", method, path, err)
	}
	if !strings.Contains(resp.header.Get("Content-Type"), "application/json") {
		return string(resp.body)
	}
	var v any
	if err := json.Unmarshal(resp.body, &v); err != nil {
		c.wire.t.Fatalf("%s %s: %v: %s", method, path, err, resp.body)
	}
	return v
}

// object is a call whose response must be an object without a code, which would make it an error.
func (c tsSDK) object(method, path string, body any) map[string]any {
	c.wire.t.Helper()
	v, ok := c.call(method, path, body).(map[string]any)
	if !ok || v["code"] != nil {
		c.wire.t.Fatalf("%s %s returns %v", method, path, v)
	}
	return v
}

// failure is a call whose response must be recognizable as an error without its status.
func (c tsSDK) failure(method, path string, body any) map[string]any {
	c.wire.t.Helper()
	v, ok := c.call(method, path, body).(map[string]any)
	code, isText := v["code"].(string)
	if message, _ := v["message"].(string); !ok || !isText || code == "" || message == "" {
		c.wire.t.Fatalf("%s %s returns %v: not an error that is known without its status", method, path, v)
	}
	return v
}

func TestTypeScript(t *testing.T) {
	w := start(t)
	bare := w.ts()
	tokens := bare.object("POST", "/v1/auth/authenticate?setCookie=false",
		map[string]string{"emailId": instance.Email, "org": instance.Org, "password": instance.Password})
	token, _ := tokens["Authorization"].(string)
	if token == "" {
		t.Fatalf("the login returns %v", tokens)
	}
	again := bare.object("GET", "/v1/auth/refresh/"+token, nil) // setCookie is dropped, the token not escaped
	token, _ = again["Authorization"].(string)

	c := w.ts([2]string{"Authorization", token})
	projects, _ := c.object("GET", "/v1/dashboard/projects/metadata", nil)["items"].([]any)
	if len(projects) != 1 {
		t.Fatalf("projects: %v", projects)
	}
	project := projects[0].(map[string]any)["metadata"].(map[string]any)["uid"].(string)
	c.object("GET", "/v1/projects/alerts", nil)

	keyed := w.ts([2]string{"ApiKey", w.key}, [2]string{"ProjectUID", project})
	configured := anonymous(t)
	spec := json.RawMessage(encoded(t, configured.spec()))
	if v := keyed.call("POST", registriesPath+"/basic/validate", spec); v != "" {
		t.Errorf("validate gives %v, want an empty text", v)
	}
	made := keyed.object("POST", registriesPath+"/basic?skipPackSync=false",
		map[string]any{"metadata": map[string]string{"name": "from ts"}, "spec": spec})
	uid, _ := made["uid"].(string)
	read := keyed.object("GET", registriesPath+"/"+uid+"/basic", nil)
	if read["spec"].(map[string]any)["endpoint"] != configured.Endpoint {
		t.Errorf("read %v", read)
	}
	for _, path := range []string{registriesPath + "/summary", "/v1/registries/metadata", registriesPath + "/" + uid,
		registriesPath + "/" + uid + "/basic/sync/status"} {
		keyed.object("GET", path, nil)
	}
	key := keyed.object("POST", "/v1/apiKeys", map[string]any{
		"metadata": map[string]string{"name": "from ts"},
		"spec":     map[string]string{"expiry": time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)},
	})
	if text, _ := key["apiKey"].(string); text == "" {
		t.Errorf("made key %v", key)
	}
	if v := keyed.call("DELETE", registriesPath+"/"+uid+"/basic", nil); v != "" {
		t.Errorf("delete gives %v, want an empty text", v)
	}
}

// An error must be known as one without its status, and a success must have no code.
func TestTypeScriptKnowsErrors(t *testing.T) {
	w := start(t)
	keyed := w.ts([2]string{"ApiKey", w.key})
	refused := keyed.failure("POST", registriesPath+"/basic/validate",
		map[string]any{"endpoint": "http://127.0.0.1:1", "auth": map[string]string{"type": "noAuth"}})
	if refused["code"] == "InvalidRequest" {
		t.Errorf("validate gives %v", refused)
	}
	keyed.failure("GET", registriesPath+"/unknown/basic", nil)
	keyed.failure("DELETE", registriesPath+"/unknown/basic", nil)
	keyed.failure("POST", registriesPath+"/basic", map[string]any{"metadata": nil})
	keyed.failure("GET", "/v1/nothing", nil)
	w.ts().failure("GET", "/v1/projects/alerts", nil)
	w.ts().failure("POST", "/v1/auth/authenticate?setCookie=true", map[string]string{"emailId": "x"})
	w.ts().failure("GET", "/v1/auth/refresh/unknown", nil)
}
