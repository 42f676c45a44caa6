package cli

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/cli/settings"
)

func TestHealth(t *testing.T) {
	server := http.NewServeMux()
	server.HandleFunc(api.PathHealth, func(http.ResponseWriter, *http.Request) {})
	server.HandleFunc(api.PathReady, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	plain, secure := httptest.NewServer(server), httptest.NewTLSServer(server)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	_, port, err := net.SplitHostPort(plain.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		config settings.Config
		ready  bool
		want   string // of the status, or the error
	}{
		{"healthy", settings.Config{Listen: plain.Listener.Addr().String()}, false, "/healthz: 200 OK"},
		{"on all addresses", settings.Config{Listen: "0.0.0.0:" + port}, false, "/healthz: 200 OK"},
		{"on all addresses without naming one", settings.Config{Listen: ":" + port}, false, "/healthz: 200 OK"},
		{"TLS", settings.Config{Listen: secure.Listener.Addr().String(), TLSSelfSigned: true}, false, "/healthz: 200 OK"},
		{"not ready", settings.Config{Listen: plain.Listener.Addr().String()}, true,
			"the server is not healthy: http://127.0.0.1:" + port + "/readyz: 503 Service Unavailable"},
		{"TLS is not expected", settings.Config{Listen: secure.Listener.Addr().String()}, false,
			"speaks TLS; give this command the settings"},
		{"no server", settings.Config{Listen: "127.0.0.1:1"}, false, "the server does not respond: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, err := health(t.Context(), &tt.config, tt.ready)
			if err != nil {
				status = err.Error()
			}
			if failed := !strings.HasSuffix(tt.want, "200 OK"); failed != (err != nil) || !strings.Contains(status, tt.want) {
				t.Errorf("got %q, want %q", status, tt.want)
			}
		})
	}
}

// As in a container whose server was started with --insecure-http: the health check has the environment alone.
func TestHealthNeedsNoInsecureHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("REGWARDEN_LISTEN", "0.0.0.0:"+port)
	var out strings.Builder
	cmd := newHealth()
	cmd.SetArgs([]string{})
	cmd.SetOut(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.HasSuffix(out.String(), "/healthz: 200 OK\n") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
