package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/alerts"
)

// These tests cover what the server does before and after a handler, and need no store. The test module tests every
// operation over HTTP with a store.

func edge(log io.Writer, proxies ...string) *Server {
	s := &Server{Alerts: &alerts.Service{}, Log: slog.New(slog.NewTextHandler(log, nil))}
	for _, p := range proxies {
		s.TrustedProxies = append(s.TrustedProxies, netip.MustParsePrefix(p))
	}
	return s
}

// send sends one request with exactly this target.
func send(t *testing.T, h http.Handler, method, target string) (*http.Response, api.Error) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request, err := http.NewRequest(method, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.URL.Opaque = target
	if err := request.Write(conn); err != nil {
		t.Fatal(err)
	}
	return responseOn(t, conn, request)
}

func responseOn(t *testing.T, conn net.Conn, request *http.Request) (*http.Response, api.Error) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var body api.Error
	if response.StatusCode >= 300 && request.Method != http.MethodHead {
		if err := json.Unmarshal(data, &body); err != nil {
			t.Fatalf("the response is not JSON: %s", data)
		}
	}
	return response, body
}

func TestNonCanonicalPathsAreNotFoundAndNeverRedirected(t *testing.T) {
	h := edge(io.Discard).Handler()
	for _, target := range []string{
		"//v1/auth/refresh/token", "/v1//auth/refresh/token", "/v1/auth/../auth/refresh/token", "/v1/auth/refresh/token/",
		"/v1/./healthz", "/healthz/", "/", "/v1", "/V1/auth", "/v1/auth/refresh/", "/v1/auth/refresh/a/b", "/v1/auth/refresh/..",
	} {
		response, body := send(t, h, "GET", target)
		if response.StatusCode != http.StatusNotFound || body.Code != "PathNotFound" || response.Header.Get("Location") != "" {
			t.Errorf("%s: %s, code %q", target, response.Status, body.Code)
		}
		if strings.Contains(body.Message, "token") {
			t.Errorf("%s: the message repeats the path: %s", target, body.Message)
		}
	}
}

// unserved are paths of the public API below those of ours, without /v1/, which are not served.
const unserved = `
	audits/{uid}/sysMsg audits/{uid}/userMsg auth/mfa/devices
	auth/org/{org}/saml/callback auth/org/{org}/saml/logout
	auth/password/{passwordToken}/reset auth/sso/{ssoApp}/callback
	auth/user/password/reset projects/{uid}/macros projects/{uid}/meta
	projects/{uid}/preferences/clusterSettings projects/{uid}/preferences/clusterSettings/nodesAutoRemediationSetting
	projects/{uid}/teams projects/{uid}/users projects/{uid}/validate
	registries/oci/image
	registries/pack/validate registries/pack/{uid} registries/pack/{uid}/sync
	registries/pack/{uid}/sync/status registries/{registryName}/config users/assets/locations
	users/assets/locations/azure users/assets/locations/azure/{uid} users/assets/locations/gcp users/assets/locations/gcp/{uid}
	users/assets/locations/minio users/assets/locations/minio/{uid} users/assets/locations/s3 users/assets/locations/s3/{uid}
	users/assets/locations/{type}/{uid}/default users/assets/locations/{uid} users/assets/sshkeys users/assets/sshkeys/{uid}
	users/assets/vsphere/dnsMapping users/assets/vsphere/dnsMappings users/assets/vsphere/dnsMappings/{uid} users/config/scar
	users/kubectl/session/{sessionUid} users/meta users/mfa/devices users/mfa/devices/{deviceName} users/mfa/register/device/finish
	users/mfa/register/device/start users/password/change users/password/reset users/system/features users/system/macros
	users/{uid}/password/change users/{uid}/password/reset users/{uid}/resourceRoles/{resourceRoleUid} users/{uid}/status/loginMode
`

// Clients take ResourceNotFound for "deleted", so no parameter may match a path of the public API that is not served.
func TestUnservedPathsOfThePublicAPIAreNotFound(t *testing.T) {
	h := edge(io.Discard).Handler()
	for _, path := range strings.Fields(unserved) {
		target := "/v1/" + regexp.MustCompile(`{\w+}`).ReplaceAllString(path, uuid.NewString())
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			response, body := send(t, h, method, target)
			if response.StatusCode != http.StatusNotFound || body.Code != "PathNotFound" && method != "HEAD" {
				t.Errorf("%s %s: %s, code %q", method, target, response.Status, body.Code)
			}
		}
	}
}

// A parameter that is one slash matches the route, so the response is not PathNotFound.
func TestSlashAsParameterIsRouted(t *testing.T) {
	for _, target := range []string{"/v1/registries/oci/%2F/ecr", "/v1/registries/oci/%2f", "/v1/projects/%2F/alerts/%2F"} {
		if response, _ := send(t, edge(io.Discard).Handler(), "BREW", target); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s, want 405 as for a path that is served", target, response.Status)
		}
	}
}

func TestMethodsAreExactlyAsListed(t *testing.T) {
	h := edge(io.Discard).Handler()
	for _, c := range []struct{ method, path, allow string }{
		{"GET", api.PathAuthenticate, "POST"},
		{"HEAD", "/v1/auth/refresh/rt_x", "GET"},
		{"POST", "/v1/auth/refresh/rt_x", "GET"},
		{"OPTIONS", api.PathValidate, "POST"},
		{"DELETE", api.PathProjectAlerts, "GET"},
		{"BREW", api.PathHealth, "GET"},
	} {
		response, body := send(t, h, c.method, c.path)
		if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %s, Allow %q", c.method, c.path, response.Status, response.Header.Get("Allow"))
		}
		if c.method != "HEAD" && body.Code != "MethodNotAllowed" {
			t.Errorf("%s %s: code %q", c.method, c.path, body.Code)
		}
	}
}

func TestEveryResponseIsSafeToCacheAndFrame(t *testing.T) {
	for _, target := range []string{api.PathHealth, "/unknown"} {
		response, _ := send(t, edge(io.Discard).Handler(), "GET", target)
		for header, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Content-Type": "application/json",
			"Strict-Transport-Security": "",
		} {
			if got := response.Header.Get(header); got != want {
				t.Errorf("%s %s: %q, want %q", target, header, got, want)
			}
		}
	}
}

func TestPanicReturns500AndItsValueIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	s := edge(&log)
	h := s.envelope(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("hunter2") }))
	response, body := send(t, h, "GET", "/")
	if response.StatusCode != http.StatusInternalServerError || body.Code != "InternalError" || !strings.Contains(log.String(), body.Ref) {
		t.Errorf("%s %+v", response.Status, body)
	}
	if strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "edge_test.go") {
		t.Errorf("the log has the panic's value, or lacks its stack: %s", log.String())
	}
}

func TestTheLogHasTheTemplateAndNotThePath(t *testing.T) {
	var log bytes.Buffer
	h := edge(&log).Handler()
	send(t, h, "HEAD", "/v1/auth/refresh/rt_marked")
	send(t, h, "GET", "//v1/auth/refresh/rt_marked")
	send(t, h, "rt_marked", "/healthz")
	if strings.Contains(log.String(), "marked") || !strings.Contains(log.String(), "path=/v1/auth/refresh/{token}") {
		t.Errorf("log: %s", log.String())
	}
}

func TestAccessLogLevels(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		path  string
		ctx   context.Context
		ready error
		want  string
	}{
		{api.PathHealth, t.Context(), nil, "level=DEBUG msg=request"},
		{api.PathReady, t.Context(), nil, "level=DEBUG msg=request"},
		{api.PathReady, t.Context(), errors.New("no store"), "level=ERROR msg=request"},
		{api.PathReady, gone, context.Canceled, "level=DEBUG msg=request"},
		{"/unknown", t.Context(), nil, "level=INFO msg=request"},
		{api.PathJWKS, t.Context(), nil, "level=ERROR msg=request"}, // panics without an auth.Service
	} {
		var log bytes.Buffer
		s := edge(nil)
		s.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		s.Ready = func(context.Context) error { return tt.ready }
		s.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(tt.ctx, http.MethodGet, tt.path, nil))
		if !strings.Contains(log.String(), tt.want) {
			t.Errorf("%s: %s, want %s", tt.path, log.String(), tt.want)
		}
	}
}

func TestXForwardedForCountsOnlyFromTrustedProxies(t *testing.T) {
	for _, c := range []struct{ name, remote, forwarded, want string }{
		{"no proxy", "192.0.2.1:1", "203.0.113.9", "192.0.2.1"},
		{"through a proxy", "10.0.0.1:1", "203.0.113.9", "203.0.113.9"},
		{"forged on the left", "10.0.0.1:1", "198.51.100.7, 203.0.113.9", "203.0.113.9"},
		{"through two proxies", "10.0.0.1:1", "203.0.113.9, 10.0.0.2", "203.0.113.9"},
		{"nonsense", "10.0.0.1:1", "203.0.113.9, what", "10.0.0.1"},
		{"none sent", "10.0.0.1:1", "", "10.0.0.1"},
		{"IPv4 in IPv6", "[::ffff:192.0.2.1]:1", "", "192.0.2.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.remote
			r.Header.Set("X-Forwarded-For", c.forwarded)
			if got := edge(io.Discard, "10.0.0.0/8").address(r); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestHairpinValidationIsRefused(t *testing.T) {
	s := edge(io.Discard)
	s.Hairpin = "nonce"
	for nonce, want := range map[string]int{"nonce": http.StatusForbidden, "other": http.StatusOK} {
		r := httptest.NewRequest("GET", api.PathHealth, nil)
		r.Header.Set(HairpinHeader, nonce)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", nonce, w.Code, want)
		}
	}
}

// Requests with both framings are used for request smuggling (RFC 9112 section 6.1).
func TestAChunkedRequestEndsItsConnection(t *testing.T) {
	server := httptest.NewServer(edge(io.Discard).Handler())
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "POST /v1/unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET " +
		"/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if responses := strings.Count(string(all), "HTTP/1.1 "); responses != 1 {
		t.Errorf("%d responses on the connection, want 1:\n%s", responses, all)
	}
}

func TestTheDescriptionIsServedAsJSON(t *testing.T) {
	response, _ := send(t, edge(io.Discard).Handler(), "GET", api.PathOpenAPI)
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	document, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(document, &read); err != nil {
		t.Fatal(err)
	}
	served := 0
	for _, route := range edge(io.Discard).routes() {
		served++
		if read.Paths[route.path][strings.ToLower(route.method)] == nil {
			t.Errorf("%s %s is served but not described", route.method, route.path)
		}
	}
	described := 0
	for _, methods := range read.Paths {
		described += len(methods)
	}
	if described != served {
		t.Errorf("%d operations are described, %d served", described, served)
	}
}

// shortTimeout is a read timeout that is short enough for a test, and in which a request arrives on a busy machine too.
const shortTimeout = 3 * time.Second

// serveShort serves on loopback with shortTimeout.
func serveShort(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	s := edge(io.Discard).HTTPServer()
	if s.ReadTimeout == 0 {
		t.Fatal("the server has no read timeout")
	}
	s.ReadTimeout, s.Handler = shortTimeout, h
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(func() { _ = s.Close() })
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A body that is announced, but neither sent nor read, must not block the response.
func TestMissingBodyDoesNotDelayTheResponse(t *testing.T) {
	t.Parallel()
	for _, request := range []string{
		"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"POST /unknown HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		conn := serveShort(t, edge(io.Discard).Handler())
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(data), "HTTP/1.1 ") {
			t.Errorf("%q: %v, response %q", request, err, data)
		}
	}
}

func TestReadTimeoutDoesNotCancelHandlerWithBody(t *testing.T) {
	t.Parallel()
	s := edge(io.Discard)
	ended := make(chan error, 1)
	conn := serveShort(t, s.envelope(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{Request: r, w: w}
		if _, err := c.decode(&struct{}{}); err != nil {
			ended <- err
			return
		}
		time.Sleep(shortTimeout + 300*time.Millisecond)
		ended <- r.Context().Err()
	})))
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+
		"2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the handler was canceled: %v", err)
	}
}

func TestBodiesAreAnnouncedAsPlainJSON(t *testing.T) {
	for _, c := range []struct {
		types    []string
		encoding string
		fine     bool
	}{
		{types: []string{"application/json"}, fine: true},
		{types: []string{"Application/JSON; charset=UTF-8"}, fine: true},
		{types: []string{"application/json"}, encoding: "identity", fine: true},
		{types: []string{"application/json"}, encoding: "gzip"},
		{types: []string{"application/json; charset=utf-16"}},
		{types: []string{"application/json", "text/plain"}},
		{types: []string{"application/json", "application/json"}},
		{types: []string{"text/json"}},
		{types: []string{""}},
		{},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
		r.Header["Content-Type"] = c.types
		r.Header.Set("Content-Encoding", c.encoding)
		if err := (&call{Request: r}).checkContentType(); (err == nil) != c.fine {
			t.Errorf("%q %q: %v", c.types, c.encoding, err)
		}
	}
}

// pages is a console whose page fails.
type pages struct{ err error }

func (p pages) ServePage(w http.ResponseWriter, r *http.Request, origin audit.Origin) error {
	r.Pattern = "GET /console/things/{uid}"
	if r.URL.Path == pathConsole {
		r.Pattern = pathConsole + "{$}"
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusTeapot)
	_, err := io.WriteString(w, origin.RequestID)
	return errors.Join(p.err, err)
}

func TestConsoleIsMounted(t *testing.T) {
	var log bytes.Buffer
	s := edge(&log)
	s.Console = pages{&fault.Error{Kind: fault.Conflict, Code: "Taken"}}
	h := s.Handler()
	get := func(method, target, accept string) *httptest.ResponseRecorder {
		log.Reset()
		recorder, request := httptest.NewRecorder(), httptest.NewRequest(method, target, nil)
		request.Header.Set("Accept", accept)
		h.ServeHTTP(recorder, request)
		return recorder
	}
	const browser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
	for target, template := range map[string]string{"/console/": "/console/", "/console/things/secret": "/console/things/{uid}"} {
		got := get("GET", target, browser)
		if got.Code != http.StatusTeapot || got.Body.String() != got.Header().Get(api.HeaderRequestID) ||
			!strings.Contains(log.String(), "path="+template+" ") || !strings.Contains(log.String(), "code=Taken") ||
			strings.Contains(log.String(), "secret") {
			t.Errorf("%s: %d\n%s", target, got.Code, log.String())
		}
	}
	for _, tt := range []struct {
		method, target, accept string
		status                 int
		location               string
	}{
		{"GET", "/", browser, 303, "/console/"},
		{"HEAD", "/", browser, 303, "/console/"},
		{"POST", "/", browser, 404, ""},
		{"GET", "/", "*/*", 404, ""},
		{"GET", "/", "application/json", 404, ""},
		{"GET", "/other", browser, 404, ""},
		{"GET", "/docs", browser, 418, ""},
		{"GET", "/docs/users", browser, 418, ""},
		{"GET", "/documents", browser, 404, ""},
		{"GET", "/console/things/", browser, 404, ""},
		{"GET", "/console/../v1/users", browser, 404, ""},
	} {
		if got := get(tt.method, tt.target, tt.accept); got.Code != tt.status || got.Header().Get("Location") != tt.location {
			t.Errorf("%s %s for %s: %d %v", tt.method, tt.target, tt.accept, got.Code, got.Header())
		}
	}
	s.Console = nil
	h = s.Handler()
	for _, target := range []string{"/", "/console", "/console/", "/console/login", "/docs", "/docs/users"} {
		if got := get("GET", target, browser); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "PathNotFound") {
			t.Errorf("without a console, %s: %d", target, got.Code)
		}
	}
}

// A form must keep arriving, like a body of the API.
func TestFormsMustArrive(t *testing.T) {
	t.Parallel()
	s, ended := edge(io.Discard), make(chan error, 1)
	s.Console = pagesFunc(func(_ http.ResponseWriter, r *http.Request) error {
		_, err := io.ReadAll(r.Body)
		if err == nil {
			time.Sleep(shortTimeout + 300*time.Millisecond)
			err = r.Context().Err()
		}
		ended <- err
		return nil
	})
	server := httptest.NewUnstartedServer(s.Handler())
	server.Config.ReadTimeout = shortTimeout
	server.Start()
	defer server.Close()
	response, err := http.Post(server.URL+"/console/x", "text/plain", strings.NewReader("all of it"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if err := <-ended; err != nil {
		t.Errorf("the deadline of the body ended its request: %v", err)
	}
}

// A file that ends early is not complete for the client: its connection is closed.
func TestPageThatEndsEarlyIsAborted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := edge(&log)
	s.Console = pagesFunc(func(w http.ResponseWriter, _ *http.Request) error {
		_, _ = io.WriteString(w, "uid,at\n")
		_ = http.NewResponseController(w).Flush()
		return fmt.Errorf("%w: %w", http.ErrAbortHandler, errors.New("the store is away"))
	})
	server := httptest.NewServer(s.Handler())
	response, err := http.Get(server.URL + "/console/audit.csv")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	server.Close()
	if err == nil || string(text) != "uid,at\n" {
		t.Errorf("%q, %v", text, err)
	}
	if !strings.Contains(log.String(), "the store is away") {
		t.Error(log.String())
	}
}

type pagesFunc func(http.ResponseWriter, *http.Request) error

func (f pagesFunc) ServePage(w http.ResponseWriter, r *http.Request, _ audit.Origin) error {
	return f(w, r)
}
