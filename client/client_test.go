package client_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/regcheck"
)

// serve starts a server for a test.
func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server
}

func newClient(t *testing.T, server string, config client.Config) *client.Client {
	t.Helper()
	c, err := client.New(server, config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func respond(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body []byte
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		respond(w, http.StatusCreated, `{"uid":"u1"}`)
	})
	c := newClient(t, server.URL+"/prefix/", client.Config{APIKey: "the-key", Project: "p1", UserAgent: "a-program/1"})
	auth := &regcheck.Auth{Type: regcheck.Basic, Username: "robot", Password: "the-password"}
	definition := api.OCIRegistryDefinition{Definition: regcheck.Definition{Endpoint: "https://registry.example.com", Auth: auth}}
	uid, err := c.Registries.Create(t.Context(),
		api.OCIRegistryRequest{Metadata: api.OCIRegistryName{Name: "ours"},
			Spec: api.OCIRegistryRequestSpec{OCIRegistryDefinition: definition}})
	if err != nil || uid != "u1" {
		t.Fatalf("%q, %v", uid, err)
	}
	var sent struct {
		Spec struct{ Auth map[string]any }
	}
	if err := json.Unmarshal(body, &sent); err != nil || sent.Spec.Auth["password"] != "the-password" {
		t.Errorf("the body is %s (%v), without the password", body, err)
	}
	if got.Method != http.MethodPost || got.URL.Path != "/prefix/v1/registries/oci/basic" {
		t.Errorf("%s %s", got.Method, got.URL)
	}
	for name, want := range map[string]string{"ApiKey": "the-key", "ProjectUid": "p1", "Content-Type": "application/json",
		"User-Agent": "a-program/1", "Authorization": ""} {
		if got.Header.Get(name) != want {
			t.Errorf("header %s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
}

func TestPathParameters(t *testing.T) {
	var path string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		w.WriteHeader(http.StatusNoContent)
	})
	c := newClient(t, server.URL, client.Config{})
	if err := c.Users.Delete(t.Context(), "a/b ä?#%@example.com"); err != nil || path != "/v1/users/a%2Fb%20%C3%A4%3F%23%25@example.com" {
		t.Errorf("path %s, %v", path, err)
	}
	path = ""
	for _, uid := range []string{"", ".", ".."} {
		if err := c.Users.Delete(t.Context(), uid); err == nil || path != "" {
			t.Errorf("uid %q was sent to %q: %v", uid, path, err)
		}
	}
}

func TestServerURL(t *testing.T) {
	for _, server := range []string{"", "ftp://a.example", "https://user:secret-marked@a.example", "https://a.example/?x=1", "https://",
		"https://a.example/%zz-secret-marked"} {
		if _, err := client.New(server, client.Config{}); err == nil || strings.Contains(err.Error(), "secret-marked") {
			t.Errorf("server %q: %v", server, err)
		}
	}
	for name, config := range map[string]client.Config{
		"two kinds": {APIKey: "k", Token: "t"}, "no password": {Email: "a@b.example", Org: "o"}, "no certificate": {CA: []byte("x")},
		"CA and transport": {CA: []byte("x"), Transport: http.DefaultTransport},
	} {
		if _, err := client.New("a.example", config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Without a scheme the connection is TLS: no header is sent to a server that has another certificate.
func TestTLS(t *testing.T) {
	requests := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		respond(w, http.StatusOK, `{"status":"ready"}`)
	}))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "https://")
	if err := newClient(t, address, client.Config{APIKey: "k"}).Health(t.Context()); err == nil || requests != 0 {
		t.Errorf("an unknown certificate was accepted: %v", err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := newClient(t, address, client.Config{CA: ca}).Health(t.Context()); err != nil || requests != 1 {
		t.Errorf("with the certificate: %v", err)
	}
	plain := serve(t, http.NotFound)
	if err := newClient(t, strings.TrimPrefix(plain.URL, "http://"),
		client.Config{APIKey: "k"}).Health(t.Context()); !errors.Is(err, http.ErrSchemeMismatch) {
		t.Errorf("without TLS: %v", err)
	}
}

func TestCheckThatTakesLonger(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		respond(w, http.StatusAccepted, `{"message":"The check takes longer."}`)
	})
	c := newClient(t, server.URL, client.Config{})
	report, err := c.Registries.CheckAndWait(t.Context(), "r1")
	if pending, ok := errors.AsType[*client.PendingError](err); report != nil || !ok || pending.Message != "The check takes longer." {
		t.Errorf("%v, %v", report, err)
	}
	if err := c.Registries.Check(t.Context(), "r1"); err != nil {
		t.Error(err)
	}
}
