package service_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

var metricsAddress = regexp.MustCompile(`msg="serving metrics" address=(\S+)`)

// scrape asks for the metrics, at the address that the log names.
func scrape(t *testing.T, server *instance.Server) string {
	t.Helper()
	if !server.Logs("serving metrics") {
		t.Fatal("the log does not tell where the metrics are")
	}
	response, err := http.Get("http://" + metricsAddress.FindStringSubmatch(server.Log())[1] + "/metrics") //nolint:noctx // a test's own
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", response.Status, err)
	}
	return string(all)
}

// What was done is counted, under labels that no client chooses.
func TestMetrics(t *testing.T) {
	server := instance.Start(t, instance.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	admin, tokens := signedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.client.Do("POST", "/v1/auth", instance.Credentials(instance.Email, instance.Org, "wrong")).Want(http.StatusUnauthorized)
	admin.client.Do("POST", "/v1/auth", `{}`).Want(http.StatusBadRequest)
	admin.client.Do("GET", refresh+tokens.RefreshToken, "").Want(http.StatusOK)
	admin.do("POST", validate, noAuth(unusedEndpoint(t))).Want(http.StatusUnprocessableEntity)
	admin.do("POST", diagnose, noAuth(secured(t).Endpoint)).Want(http.StatusOK)
	admin.do("POST", validate, noAuth("http://127.0.0.1:1", object{"registryUid": "none"})).Want(http.StatusBadRequest)
	admin.client.Do("GET", "/v1/chosen-by-a-client", "").Want(http.StatusNotFound)
	admin.client.Do("BREW", alerts, "").Want(http.StatusMethodNotAllowed)
	text := scrape(t, server)
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
