package registries

import (
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

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
