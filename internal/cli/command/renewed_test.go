package command

import (
	"testing"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// A helper is asked by the name that docker asks with, and may have an identity token. TLS settings stay.
func TestCredentialHelperOfARegistry(t *testing.T) {
	for endpoint, server := range map[string]string{
		"https://r.test:5000/team": "r.test:5000", "r.test/team": "r.test",
		"https://docker.io": dockerHubKey, "https://registry-1.docker.io": dockerHubKey,
	} {
		for username, want := range map[string]regcheck.Auth{
			"u":       {Type: regcheck.Basic, Username: "u", Password: "hunter2", TLS: regcheck.TLS{Enabled: true}},
			"<token>": {Type: regcheck.Token, Token: "hunter2", TLS: regcheck.TLS{Enabled: true}},
		} {
			asked := ""
			r := renewed{Helper: func(server string) (string, secret.String, error) { asked = server; return username, "hunter2", nil }}
			d := regcheck.Definition{Endpoint: endpoint, Auth: &regcheck.Auth{TLS: regcheck.TLS{Enabled: true}}}
			if err := r.useHelper(&d); err != nil || asked != server || *d.Auth != want {
				t.Errorf("%s, %s: %v, asked for %q, %+v", endpoint, username, err, asked, d.Auth)
			}
		}
	}
}
