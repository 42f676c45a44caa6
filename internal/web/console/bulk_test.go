package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/regcheck"
)

var hiddenField = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// Only registries whose credentials have the type of the first one get those of the form, and none loses its credentials.
func TestReplaceCredentialsOfSeveralTypes(t *testing.T) {
	w := mustWorld(t, false)
	cookie := w.mustLogin()
	p := w.mustIdentify(cookie)
	chosen, uids := url.Values{"action": {"credentials"}}, map[string]string{}
	for _, r := range []struct {
		name string
		auth regcheck.Auth
	}{{"open", regcheck.Auth{Type: regcheck.NoAuth}}, {"basic", regcheck.Auth{Username: "ada", Password: "the stored password"}},
		{"token", regcheck.Auth{Token: "the stored token"}}} {
		uid, err := w.Registries.Create(t.Context(), p, audit.Origin{}, registries.RegistryInput{Name: r.name,
			Definition: regcheck.Definition{Endpoint: "https://r.example.com", Auth: &r.auth}})
		if err != nil {
			t.Fatal(err)
		}
		chosen.Add("uid", uid)
		uids[r.name] = uid
	}
	asked := w.send("POST", pathBulk, chosen.Encode(), "Cookie", cookie).Body.String()
	confirm := url.Values{"username": {"ada"}, "password": {"a new password"}}
	for _, found := range hiddenField.FindAllStringSubmatch(asked, -1) {
		confirm.Set(found[1], found[2])
	}
	if confirm.Get("uids") != uids["basic"] || !strings.Contains(asked, `name="password"`) ||
		!strings.Contains(asked, "Authentication: None, without credentials.") || !strings.Contains(asked, "Authentication: Token.") {
		t.Errorf("%v: %s", confirm, asked)
	}
	if got := w.send("POST", pathBulk, confirm.Encode(), "Cookie", cookie); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	confirm.Set("authType", string(regcheck.NoAuth))
	if got := w.send("POST", pathBulk, confirm.Encode(), "Cookie", cookie); got.Code != http.StatusBadRequest {
		t.Errorf("no credentials: %d %s", got.Code, got.Body)
	}
	for name, want := range map[string]string{"open": "", "basic": "a new password", "token": "the stored token"} {
		r, err := w.Registries.Load(t.Context(), p.OrgUID, uids[name])
		if err != nil {
			t.Fatal(err)
		}
		if a := r.Definition.Auth; a.Password.Reveal()+a.Token.Reveal() != want {
			t.Errorf("%s is stored with %q, want %q", name, a.Password.Reveal()+a.Token.Reveal(), want)
		}
	}
}
