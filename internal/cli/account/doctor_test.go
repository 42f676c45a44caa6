package account

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/manage"
)

// Each part that is wrong is named with what to do, and makes the command fail.
func TestDoctor(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		ready      int
		version    string
		off, late  time.Duration
		fails      bool
	}{
		{"good", "clock ok: the same", http.StatusOK, "1.0.0", 0, -time.Minute, false},
		{"no database", "server failed: The service is not ready.", http.StatusServiceUnavailable, "1.0.0", 0, 0, true},
		{"another version", "version warning: 1.0.0 here, 2.0.0 at the server", http.StatusOK, "2.0.0", 0, 0, false},
		{"clock", "clock failed: differs by 5m0s", http.StatusOK, "1.0.0", 5 * time.Minute, 0, true},
		{"late checks", "checks failed: 1 of 1 registries are checked too late", http.StatusOK, "1.0.0", 0, time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // where no request takes time
				server := handler(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					switch r.URL.Path {
					case "/readyz":
						w.WriteHeader(tt.ready)
						fmt.Fprint(w, `{"status":"ready","code":"Unavailable","message":"The service is not ready."}`)
					case "/v1/users/info":
						fmt.Fprint(w, `{"orgName":"Acme","email":"ada@acme.example","role":"admin"}`)
					case "/v1/service":
						fmt.Fprintf(w, `{"version":%q,"time":%q}`, tt.version, time.Now().Add(tt.off).UTC().Format(time.RFC3339Nano))
					default:
						fmt.Fprintf(w, `{"items":[{"metadata":{"name":"a"},"status":{"health":{"state":"healthy","nextCheck":%q}}}],`+
							`"listmeta":{}}`,
							time.Now().Add(-tt.late).UTC().Format(time.RFC3339))
					}
				})
				const url = "http://regwarden.example"
				c, err := client.New(url, client.Config{APIKey: "key", Transport: server})
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				cmd := &cobra.Command{}
				cmd.SetOut(&out)
				call := &manage.Call{Cmd: cmd, Ctx: t.Context(), Client: c,
					Login: &logins.Context{Server: url, Email: "ada@acme.example"}}
				call.Output.Cmd, call.Output.Format = cmd, "text"
				d := &doctor{Call: call, version: "1.0.0"}
				d.examine()
				shown := func() string { return strings.Join(strings.Fields(out.String()), " ") }
				if err := d.show(); (err != nil) != tt.fails || !strings.Contains(shown(), tt.want) {
					t.Errorf("%v\n%s", err, out.String())
				}
			})
		})
	}
}

// handler is a server and the connection to it.
type handler http.HandlerFunc

func (h handler) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	return w.Result(), nil
}
