package registries

import (
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/registries/registriestest"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

func foundIn(endpoint, content, username string, password secret.String) model.Registry {
	return model.Registry{Resolution: model.Resolved, Definition: regcheck.Definition{Endpoint: endpoint, BaseContentPath: content,
		Auth: &regcheck.Auth{Username: username, Password: password}}}
}

func TestImportStoresEachDefinitionOnce(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		k.mustCreate(t, input("already there"))
		unresolved := foundIn("https://helper.example.com", "", "", "")
		unresolved.Resolution, unresolved.Detail = model.Unresolved, "A helper has them."
		found := []model.Registry{
			foundIn("https://ghcr.io", "acme", "ada", "one"), foundIn("ghcr.io/", "/acme/", "ada", "one"), foundIn("https://ghcr.io", "acme", "ada", "two"),
			foundIn("https://r.example.com", "", "ada", registriestest.Password), unresolved, foundIn("https://newline.example.com", "", "ada", "one\n"),
			foundIn("https://long.test", strings.Repeat("p/", 150)+"p", "", ""),
		}
		names := func(list []Imported) (names []string) {
			for _, i := range list {
				names = append(names, string(i.Result)+" "+i.Name+i.Detail)
			}
			return names
		}
		want := []string{"new ghcr.io/acme", "exists ghcr.io/acme", "new ghcr.io/acme (2)", "exists already there", "unresolved A helper has them.",
			"notValid auth.password must not contain control characters; remove the trailing newline", "new long.test/" + strings.Repeat("p/", 115)}
		dry, err := k.Import(t.Context(), auth.Operator(), audit.Origin{}, "A", found, true)
		if got := names(dry); err != nil || !slices.Equal(got, want) {
			t.Errorf("dry run: %v\n%q, want\n%q", err, got, want)
		}
		if list, _, err := k.List(t.Context(), k.Admin, "", Summary{}, nil); err != nil || len(list) != 1 {
			t.Errorf("a dry run stored %d registries, %v", len(list)-1, err)
		}
		stored, err := k.Import(t.Context(), auth.Operator(), audit.Origin{}, "A", found, false)
		for i := range want {
			want[i] = strings.Replace(want[i], "new ", "stored ", 1)
		}
		if got := names(stored); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v\n%q, want\n%q", err, got, want)
		}
		opened, err := k.Load(t.Context(), "org-a", stored[2].UID)
		if err != nil || opened.Definition.Auth.Password.Reveal() != "two" || opened.Registry.Definition.Auth.Password.Reveal() != secret.Mask {
			t.Errorf("stored: %+v, %v", opened, err)
		}
		again, err := k.Import(t.Context(), auth.Operator(), audit.Origin{}, "A", found, false)
		for i := range want {
			want[i] = strings.Replace(want[i], "stored ", "exists ", 1)
		}
		if got := names(again); err != nil || !slices.Equal(got, want) {
			t.Errorf("the second time: %v\n%q, want\n%q", err, got, want)
		}
		if records := strings.Join(k.AuditRecords(t), "\n"); strings.Count(records, "registry.create succeeded by operator") != 3 {
			t.Errorf("audit records:\n%s", records)
		}
		if _, err := k.Import(t.Context(), k.Admin, audit.Origin{}, "", found, true); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("by an administrator: %v", err)
		}
		if _, err := k.Import(t.Context(), auth.Operator(), audit.Origin{}, "missing", found, true); fault.KindOf(err) != fault.NotFound {
			t.Errorf("into an organization that does not exist: %v", err)
		}
	})
}
