package serve

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestUnknownVariablesAreLogged(t *testing.T) {
	for _, tt := range []struct {
		environ []string
		want    string // "" for no warning
	}{
		{[]string{"REGWARDEN_LOGIN_WIAT=hunter2"}, `variable=REGWARDEN_LOGIN_WIAT nearest=REGWARDEN_LOGIN_WAIT`},
		{[]string{"REGWARDEN_LISEN=hunter2"}, `variable=REGWARDEN_LISEN nearest=REGWARDEN_LISTEN`},
		{[]string{"REGWARDEN_MASTERKEY=hunter2"}, `variable=REGWARDEN_MASTERKEY nearest=REGWARDEN_MASTER_KEY`},
		{[]string{"REGWARDEN_ELEPHANTS=hunter2"}, `variable=REGWARDEN_ELEPHANTS nearest=""`},
		{[]string{"REGWARDEN_DB_PORT=hunter2"}, `variable=REGWARDEN_DB_PORT`},
		{[]string{"REGWARDEN_LOGIN_WAIT=3s", "REGWARDEN_CONFIG=x", "REGWARDEN_BOOTSTRAP_ORG=Acme", "REGWARDEN_REGISTRY_TOKEN=x",
			"REGWARDEN_MASTER_KEY=x",
			"REGWARDEN_SERVER=x", "REGWARDEN_API_KEY=x", "REGWARDEN_CA=x", "REGWARDEN_CONTEXTS=x", "REGWARDEN_ALERT_URL=x",
			"REGWARDEN_ID_TOKEN=x", "REGWARDEN_REGISTRY_AWS_SECRET_KEY=x"}, ""},
		{[]string{"REGWARDEN_LOGIN_WIAT=", "OTHER_LOGIN_WAIT=x", "REGWARDEN"}, ""},
		// Kubernetes, for a Service named regwarden and one named regwarden-db.
		{[]string{"REGWARDEN_SERVICE_HOST=10.0.0.1", "REGWARDEN_SERVICE_PORT=80", "REGWARDEN_SERVICE_PORT_HTTPS=443",
			"REGWARDEN_PORT=tcp://10.0.0.1:80",
			"REGWARDEN_PORT_80_TCP=tcp://10.0.0.1:80", "REGWARDEN_PORT_80_TCP_ADDR=10.0.0.1"}, ""},
		{[]string{"REGWARDEN_DB_PORT=tcp://10.0.0.2:5432", "REGWARDEN_DB_SERVICE_HOST=10.0.0.2", "REGWARDEN_DB_PORT_5432_TCP_PROTO=tcp"},
			""},
	} {
		var out bytes.Buffer
		warnUnknownVariables(slog.New(slog.NewTextHandler(&out, nil)), tt.environ)
		got := out.String()
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) || strings.Contains(got, "hunter2") || tt.want != "" &&
			!strings.Contains(got, "level=WARN") {
			t.Errorf("%q: %s, want %q", tt.environ, got, tt.want)
		}
	}
}
