package service_test

import (
	"bufio"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// What was done is counted, under labels that no client chooses.
func TestMetrics(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	admin, tokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.client.Do("POST", "/v1/auth", instance.Credentials(instance.Email, instance.Org, "wrong")).Want(http.StatusUnauthorized)
	admin.client.Do("POST", "/v1/auth", `{}`).Want(http.StatusBadRequest)
	admin.client.Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusOK)
	admin.do("POST", validate, noAuth(unusedEndpoint(t))).Want(http.StatusUnprocessableEntity)
	admin.do("POST", diagnose, noAuth(secured(t).Endpoint)).Want(http.StatusOK)
	admin.do("POST", validate, noAuth("http://127.0.0.1:1", object{"registryUid": "none"})).Want(http.StatusBadRequest)
	admin.client.Do("GET", "/v1/chosen-by-a-client", "").Want(http.StatusNotFound)
	admin.client.Do("BREW", alerts, "").Want(http.StatusMethodNotAllowed)
	text := server.Metrics(t)
	for _, want := range []string{
		`regwarden_logins_total{outcome="succeeded"} 1`,
		`regwarden_logins_total{outcome="AuthenticationFailed"} 1`,
		`regwarden_validations_total{code="RegistryUnreachable",outcome="notValid",stage="connect"} 1`,
		`regwarden_validations_total{code="RegistryTLSFailed",outcome="notValid",stage="tls"} 1`,
		`regwarden_validations_total{code="InvalidRequest",outcome="refused",stage=""} 1`,
		`regwarden_validation_duration_seconds_count 2`,
		`regwarden_http_request_duration_seconds_count{method="GET",route="/v1/auth/refresh/{token}",status="2xx"} 1`,
		`regwarden_http_request_duration_seconds_count{method="POST",route="/v1/registries/oci/basic/validate",status="4xx"} 2`,
		`regwarden_http_request_duration_seconds_count{method="GET",route="unknown",status="4xx"} 1`,
		`regwarden_http_request_duration_seconds_count{method="other",route="/v1/projects/alerts",status="4xx"} 1`,
		`regwarden_queue_running{queue="validation"} 0`, `regwarden_queue_waiting{queue="login"} 0`,
		`regwarden_queue_running{queue="scan"} 0`,
		`regwarden_build_info{version="`, "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(text, "chosen-by-a-client") || strings.Contains(text, "BREW") {
		t.Error("a client chooses a label")
	}
	admin.client.Do("GET", "/metrics", "").Want(http.StatusNotFound) // on its own listener alone
}

// TestMetricsOfManyRegistries has one registry more than may have metrics of their own, then one less.
func TestMetricsOfManyRegistries(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0", "--metrics-registries", "2"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uid := ""
	for _, name := range []string{"one", "two", "three"} {
		uid = admin.make(registriesPath, newRegistry(name, spec(unusedEndpoint(t), object{"type": "noAuth"}, nil)))
	}
	instance.Await(t, "all are checked", func() bool { return strings.Contains(server.Metrics(t), `records{state="due"} 0`) })
	if text := server.Metrics(t); !strings.Contains(text, "regwarden_registry_series_omitted 1") ||
		strings.Contains(text, "regwarden_registry_last_check") {
		t.Errorf("three registries, of at most two:\n%s", text)
	}
	admin.do("DELETE", at(uid), "").Want(http.StatusNoContent)
	instance.Await(t, "metrics of the others", func() bool {
		return strings.Count(server.Metrics(t), `regwarden_registry_healthy{kind="oci"`) == 2
	})
}

// TestProbe asks for a registry by its name, whose first check it waits for, and for one that does not exist.
func TestProbe(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := &account{password: adaPassword}
	endpoint := httptest.NewServer(registry)
	t.Cleanup(endpoint.Close)
	admin.make(registriesPath, newRegistry("good", spec(endpoint.URL, basicAuth(adaPassword), nil)))
	admin.make(registriesPath, newRegistry("bad", spec(endpoint.URL, basicAuth("wrong"), nil)))
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"target=good&organization=" + instance.Org: {http.StatusOK, "\nprobe_success 1\n"},
		"target=bad": {http.StatusOK,
			`regwarden_probe_failure_info{code="RegistryAuthFailed",reason="refused",stage="auth"} 1` + "\n"},
		"target=none":                  {http.StatusNotFound, "Registry not found."},
		"target=good&project=other":    {http.StatusNotFound, "Registry not found."},
		"target=good&endpoint=http://": {http.StatusBadRequest, "Parameters are target, organization, project and max-age."},
	} {
		response, err := http.Get(strings.TrimSuffix(server.URLOf(t, "Metrics"), "/metrics") + "/probe?" + query)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != want.status || !strings.Contains(string(text), want.text) {
			t.Errorf("%s: %s, %v\n%s", query, response.Status, err, text)
		}
		if strings.Contains(string(text), `"`+ada+`"`) || strings.Contains(string(text), adaPassword) {
			t.Errorf("%s: the response has a username or a secret", query)
		}
	}
	text := server.Metrics(t)
	for _, stage := range []string{"resolve", "egress", "connect", "api", "auth"} {
		want := `regwarden_registry_stage_duration_seconds{kind="oci",organization="` + instance.Org + `",registry="bad",stage="` + stage +
			`"} `
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(text, `registry="bad",stage="content"`) || strings.Contains(text, `"`+ada+`"`) {
		t.Error("the metrics have a stage that was skipped, or a username")
	}
	admin.client.Do("GET", "/probe?target=good", "").Want(http.StatusNotFound) // on the listener of metrics alone
}

// A start with port 0 prints every address, whatever the log level is.
func TestFreePorts(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0", "--debug-listen",
		"127.0.0.1:0", "--log-level", "error"}})
	for _, url := range []string{server.URL + "/readyz", server.URLOf(t, "Metrics"), server.URLOf(t, "Profiles")} {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", url, response.Status)
		}
	}
}

// Profiles are served on a listener of their own, and only on this machine.
func TestProfiles(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--debug-listen", "127.0.0.1:0"}})
	profiles := server.URLOf(t, "Profiles")
	for path, status := range map[string]int{"heap": http.StatusOK, "block": http.StatusOK, "cmdline": http.StatusNotFound} {
		response, err := http.Get(profiles + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status {
			t.Errorf("%s: %s", path, response.Status)
		}
	}
	for host, status := range map[string]int{"localhost:6060": 200, "127.0.0.1": 200, "[::1]:6060": 200, "LOCALHOST": 200, "": 400,
		"rebind.example:6060": 403, "127.0.0.1.example": 403, "localhost.": 403, "192.0.2.1": 403, "0.0.0.0": 403} {
		if got := statusOfHost(t, profiles+"heap", host); got != status {
			t.Errorf("Host %q: %d, want %d", host, got, status)
		}
	}
	server.Client(t).Do("GET", "/debug/pprof/heap", "").Want(http.StatusNotFound)
	if everywhere := instance.Run(t, "", "serve", "--debug-listen", "0.0.0.0:0"); everywhere.Code != 2 {
		t.Errorf("on every address: %+v", everywhere)
	}
}

// statusOfHost sends a request with any Host header, also none.
func statusOfHost(t *testing.T, target, host string) int {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", to.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line := "Host: " + host + "\r\n"
	if host == "" {
		line = ""
	}
	if _, err := io.WriteString(conn, "GET "+to.Path+" HTTP/1.1\r\n"+line+"Connection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// Every metric that a rule or a panel of the dashboard names is there once what it counts has happened.
func TestRulesAndPanelsNameRealMetrics(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	receiver := httptest.NewServer(&hooks{})
	t.Cleanup(receiver.Close)
	admin.make(channelsOf(admin.project()), hook(receiver.URL))
	registry := httptest.NewTLSServer(&account{password: adaPassword}) // its certificate and the token expire
	t.Cleanup(registry.Close)
	admin.do("POST", diagnose, noAuth(registry.URL)).Want(http.StatusOK)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: registry.Certificate().Raw}))
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"exp": 4102444800}`))
	admin.make(registriesPath, newRegistry("bad", spec(registry.URL, object{"type": "token", "token": "e30." + claims + ".e30",
		"tls": object{"enabled": true, "insecureSkipVerify": false, "ca": ca}}, nil)))
	names := regexp.MustCompile(`\b(?:regwarden|process)_[a-z_]+`)
	for _, file := range []string{"rules.yaml", "dashboard.json"} {
		text, err := os.ReadFile("../../deploy/chart/files/" + file)
		if err != nil {
			t.Fatal(err)
		}
		named := names.FindAllString(string(text), -1)
		if len(named) < 15 {
			t.Errorf("%s names %d metrics", file, len(named))
		}
		for _, name := range named {
			instance.Await(t, name, func() bool { return regexp.MustCompile(`(?m)^` + name + `[{ ]`).MatchString(server.Metrics(t)) })
		}
	}
}
