package palette_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// plainly sends one request with these headers and nothing of a client's own.
func (w *wire) plainly(method, target, body string, header ...[2]string) response {
	w.t.Helper()
	resp, err := w.send(request{method: method, target: target, header: append([][2]string{{"Accept", "*/*"}}, header...), body: body})
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, target, err)
	}
	return resp
}

// Rule 15: header names in any spelling.
func TestRule15HeaderNamesInAnySpelling(t *testing.T) {
	w := start(t, "--default-org", instance.Org)
	wire := w.wire()
	project := w.plugin().projectUID
	for _, key := range []string{"Apikey", "ApiKey", "apiKey", "apikey", "APIKEY"} {
		for _, scope := range []string{"Projectuid", "ProjectUid", "ProjectUID", "projectuid"} {
			header := [][2]string{{key, w.key}, {scope, project}}
			if resp := wire.plainly(http.MethodGet, registriesPath+"/summary", "", header...); resp.status != http.StatusOK {
				t.Errorf("%s, %s: status %d", key, scope, resp.status)
			}
			// A name that is not read would let this through.
			header[1][1] = "no-such-project"
			if resp := wire.plainly(http.MethodGet, registriesPath+"/summary", "", header...); resp.status != http.StatusNotFound {
				t.Errorf("%s, %s of no project: status %d", key, scope, resp.status)
			}
		}
	}
	token := w.sdk().login()
	for _, name := range []string{"Authorization", "authorization", "AUTHORIZATION"} {
		if resp := wire.plainly(http.MethodGet, registriesPath+"/summary", "", [2]string{name, token}); resp.status != http.StatusOK {
			t.Errorf("%s: status %d", name, resp.status)
		}
	}
	audit := wire.plainly(http.MethodPost, registriesPath+"/basic/validate", encoded(t, anonymous(t).spec()),
		[2]string{"content-type", "application/json"}, [2]string{"apiKey", w.key})
	if audit.status != http.StatusNoContent || audit.header.Get("Audituid") == "" {
		t.Errorf("validate: status %d, audit uid %q", audit.status, audit.header.Get("Audituid"))
	}
}

// Rule 16: the token is in Authorization without a scheme; Bearer is accepted too.
func TestRule16BareToken(t *testing.T) {
	w := start(t, "--default-org", instance.Org)
	token := w.sdk().login()
	for _, tt := range []struct {
		value  string
		status int
	}{{token, 200}, {"Bearer " + token, 200}, {"Token " + token, 401}, {w.key, 401}} {
		if resp := w.wire().plainly(http.MethodGet, "/v1/dashboard/projects/metadata", "",
			[2]string{"Authorization", tt.value}); resp.status != tt.status {
			t.Errorf("Authorization: %.10s…: status %d, want %d", tt.value, resp.status, tt.status)
		}
	}
}

// Rule 17: the list of project names is the login check, and has Default, for administrators and members.
func TestRule17ProjectNamesHaveDefault(t *testing.T) {
	w := start(t)
	w.plugin()
	w.key = w.newMember("member@acme.example")
	w.plugin()
	p := &provider{goSDK: goSDK{wire: w.wire(), key: "not-a-key", attemptLog: &attemptLog{}}, projectName: "Default"}
	p.refused(get("/v1/dashboard/projects/metadata"), 401, "UnAuthorizedAccess")
}

// Rule 18: HTTPS, verified, HTTP/1.1; the provider's host has no scheme.
func TestRule18HTTPS(t *testing.T) {
	w := start(t)
	wire := w.wire()
	wire.plainly(http.MethodGet, "/v1/dashboard/projects/metadata", "", [2]string{"Apikey", w.key})
	if state := wire.conn.ConnectionState(); state.NegotiatedProtocol != "http/1.1" || state.Version < tls.VersionTLS12 {
		t.Errorf("protocol %q over TLS %x", state.NegotiatedProtocol, state.Version)
	}
	if conn, err := tls.Dial("tcp", w.host, &tls.Config{}); err == nil {
		conn.Close()
		t.Error("a client that does not know the authority connects")
	}
	conn, err := net.DialTimeout("tcp", w.host, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte("GET /v1/projects/alerts HTTP/1.1\r\nHost: " + w.host + "\r\nApikey: " + w.key + "\r\n\r\n"))
	resp := make([]byte, 12)
	n, _ := conn.Read(resp)
	if got := string(resp[:n]); strings.HasPrefix(got, "HTTP/1.1 2") {
		t.Errorf("plain HTTP is returned %q", got)
	}
}

// Rule 19: a path parameter can be a name, escaped. It is one segment, and an unknown name is not found like an unknown uid.
func TestRule19NamesInPaths(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := anonymous(t)
	c.Name = "My Reg/x"
	p.create(c)
	for _, id := range []string{"My%20Reg%2Fx", "My%20Reg%2fx", "unknown", "%2F", "%2e%2e%2fsummary", "a%3Fb%23c",
		"%C3%A4", "..%2F..%2Fapikeys"} {
		for _, rest := range []string{"/ecr", "/basic"} {
			p.refused(get(registriesPath+"/"+id+rest), 404, "ResourceNotFound")
		}
		p.refused(put(registriesPath+"/"+id+"/basic", c.body(t)), 404, "ResourceNotFound")
		p.refused(del(registriesPath+"/"+id+"/basic"), 404, "ResourceNotFound")
	}
	if n := len(p.summary().Items); n != 1 {
		t.Errorf("%d registries, want 1", n)
	}
}

// Rule 20: no path is tidied by a redirect, which would turn a POST into a GET.
func TestRule20NoRedirects(t *testing.T) {
	w := start(t)
	wire := w.wire()
	key := [2]string{"Apikey", w.key}
	uid := w.plugin().create(anonymous(t))
	for _, target := range []string{
		"/v1/registries/oci/basic/", "/v1/registries/oci/basic//", "//v1/registries/oci/basic", "/v1/registries//oci/basic",
		"/v1/./registries/oci/basic",
		"/v1/registries/oci/../oci/basic", "/v1/registries/oci", "/v1/registries/oci/", "/v1/registries/oci/summary/",
		"/v1/registries/oci/" + uid + "/basic/",
		"/v1/registries/oci/" + uid + "/", "/v1/registries/oci//basic", "/V1/registries/oci/basic", "/v1", "/v1/", "/",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			resp := wire.plainly(method, target, "", [2]string{"Content-Type", "application/json"}, key)
			if !slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed}, resp.status) || resp.header.Get("Location") != "" {
				t.Errorf("%s %s: status %d, location %q", method, target, resp.status, resp.header.Get("Location"))
			}
		}
	}
}
