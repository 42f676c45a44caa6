package regcheck_test

import (
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// A redirect or a token service may refer to the server itself, so every request has the header.
// It is not a secret: requests with it are rejected.
func TestEveryRequestHasHeader(t *testing.T) {
	for _, server := range []string{"htpasswd", "bearer-other-host", "redirect-cross-origin"} {
		t.Run(server, func(t *testing.T) {
			g := regchecktest.Start(t, server)
			c := checker(g, egress.Policy{}, matrixRow{})
			c.Header = map[string]string{regchecktest.MarkHeader: "the mark of this process"}
			d := regcheck.Definition{Endpoint: g.Endpoint, BaseContentPath: "charts/nginx",
				Auth: &regcheck.Auth{Username: regchecktest.User, Password: regchecktest.Password}}
			if server == "redirect-cross-origin" {
				d.Auth = &regcheck.Auth{Type: regcheck.NoAuth}
			}
			if _, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil); err != nil {
				t.Fatal(err)
			}
			hosts := map[string]bool{}
			for _, r := range g.Requests() {
				hosts[r.At] = true
				if got := r.Header.Values(regchecktest.MarkHeader); len(got) != 1 || got[0] != "the mark of this process" {
					t.Errorf("%s %s%s carries %q", r.Method, r.At, r.Target, got)
				}
			}
			if server != "htpasswd" && len(hosts) < 2 {
				t.Errorf("only %v were asked", hosts)
			}
		})
	}
}
