package registries

import (
	"testing"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// A stored secret goes to the hosts that an index names only if it was stored so.
func TestStoredSecretForOtherHosts(t *testing.T) {
	definition := func(passes bool, password secret.String) regcheck.Definition {
		return regcheck.Definition{Kind: regcheck.KindChartRepository, Endpoint: "https://charts.test",
			Auth: &regcheck.Auth{Type: regcheck.Basic, Username: "u", Password: password, PassCredentials: passes}}
	}
	for _, row := range []struct{ stored, sent, filled bool }{
		{false, false, true}, {true, true, true}, {true, false, true}, {false, true, false},
	} {
		stored := RegistryInput{Definition: definition(row.stored, "hunter2")}.row()
		stored.HasPassword = true
		if got := masked(stored).Auth.PassCredentials; got != row.stored {
			t.Errorf("stored with %v, read with %v", row.stored, got)
		}
		filled, unfilled, err := storedRegistry{Registry: stored}.fill(definition(row.sent, ""))
		if err != nil || (filled.Auth.Password == "hunter2") != row.filled || (len(unfilled) == 0) != row.filled {
			t.Errorf("%+v: %v, %v", row, unfilled, err)
		}
	}
	input := RegistryInput{Definition: definition(true, "p")}
	input.Definition.Kind = ""
	if found := input.definitionProblems(nil); len(found) != 1 || found[0].Field != "auth.passCredentials" {
		t.Errorf("an OCI registry: %v", found)
	}
}

func TestSameTarget(t *testing.T) {
	stored := regcheck.Definition{Endpoint: "https://registry.test/a", BasePath: "b",
		Auth: &regcheck.Auth{TLS: regcheck.TLS{Enabled: true, CA: "pem"}}}
	for _, row := range []struct {
		name   string
		change func(*regcheck.Definition, *regcheck.Auth)
		same   bool
	}{
		{"the same words", func(*regcheck.Definition, *regcheck.Auth) {}, true},
		{"spelled otherwise", func(d *regcheck.Definition, _ *regcheck.Auth) {
			d.Endpoint, d.BasePath = "Registry.Test:443", "/a/b/v2/"
		}, true},
		{"other user", func(_ *regcheck.Definition, a *regcheck.Auth) { a.Username = "other" }, true},
		{"other host", func(d *regcheck.Definition, _ *regcheck.Auth) { d.Endpoint = "https://registry.test.evil.test/a" }, false},
		{"other port", func(d *regcheck.Definition, _ *regcheck.Auth) { d.Endpoint = "https://registry.test:444/a" }, false},
		{"plain http", func(d *regcheck.Definition, _ *regcheck.Auth) { d.Endpoint = "http://registry.test:443/a" }, false},
		{"other path", func(d *regcheck.Definition, _ *regcheck.Auth) { d.BasePath = "c" }, false},
		{"other CA", func(_ *regcheck.Definition, a *regcheck.Auth) { a.TLS.CA = "other" }, false},
		{"certificate is CA", func(_ *regcheck.Definition, a *regcheck.Auth) { a.TLS.CA, a.TLS.Certificate = "", "pem" }, false},
		{"no verification", func(_ *regcheck.Definition, a *regcheck.Auth) { a.TLS.InsecureSkipVerify = true }, false},
		{"not enabled", func(_ *regcheck.Definition, a *regcheck.Auth) { a.TLS.Enabled = false }, false},
		{"unusable", func(d *regcheck.Definition, _ *regcheck.Auth) { d.Endpoint = "" }, false},
	} {
		auth := *stored.Auth
		other := stored
		other.Auth = &auth
		row.change(&other, &auth)
		if got := sameTarget(stored, other); got != row.same {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}
