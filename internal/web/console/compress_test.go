package console

import (
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/regcheck"
)

// Only a page that neither has a secret nor repeats what the address says is compressed: its length says nothing then (BREACH).
func TestPagesAreCompressed(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	uid, err := w.Registries.Create(t.Context(), w.mustIdentify(cookie), audit.Origin{},
		registries.RegistryInput{Name: "charts", Definition: regcheck.Definition{Endpoint: "https://r.example.com",
			Auth: &regcheck.Auth{Type: regcheck.NoAuth}}})
	if err != nil {
		t.Fatal(err)
	}
	registry := pathRegistries + "/" + uid
	for _, one := range []struct {
		name, method, target, form, accept string
		status                             int
		compressed                         bool
	}{
		{"overview", "GET", pathOverview, "", "br, gzip", 200, true},
		{"registries", "GET", pathRegistries, "", "gzip;q=0.5", 200, true},
		{"one registry", "GET", registry, "", "gzip", 200, true},
		{"reflected query", "GET", "/console/search?q=charts", "", "gzip", 200, false},
		{"reflected filter", "GET", pathRegistries + "?name=charts", "", "gzip", 200, false},
		{"reflected form", "POST", pathCheck, "endpoint=ftp://x", "gzip", 400, false},
		{"secret shown once", "POST", pathKeys + "/new", "name=ci&expiresAt=2099-01-31", "gzip", 201, false},
	} {
		got := w.send(one.method, one.target, one.form, "Cookie", cookie, "Accept-Encoding", one.accept)
		encoding := got.Header().Get("Content-Encoding")
		if got.Code != one.status || (encoding == "gzip") != one.compressed {
			t.Errorf("%s: %d, encoding %q, headers %v", one.name, got.Code, encoding, got.Header())
		}
	}
}
