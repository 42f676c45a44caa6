package registries

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/registries/registriestest"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

func foundIn(endpoint, content, username string, password secret.String) regcheck.Definition {
	return regcheck.Definition{Endpoint: endpoint, BaseContentPath: content, Auth: &regcheck.Auth{Username: username, Password: password}}
}

// operatorOf returns the operator for an organization.
func operatorOf(orgUID string) auth.Principal {
	p := auth.Operator()
	p.OrgUID = orgUID
	return p
}

func imported(list []Imported) (shown []string) {
	for _, i := range list {
		shown = append(shown, string(i.Result)+" "+i.Name+i.Detail)
	}
	return shown
}

func TestImportStoresEachDefinitionOnce(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		k.mustCreate(t, input("already there"))
		found := []regcheck.Definition{
			foundIn("https://ghcr.io", "acme", "ada", "one"), foundIn("ghcr.io/", "/acme/", "ada", "one"), foundIn("https://ghcr.io", "acme", "ada", "two"),
			foundIn("https://r.example.com", "", "ada", registriestest.Password), foundIn("https://newline.example.com", "", "ada", "one\n"),
			foundIn("https://long.test", strings.Repeat("p/", 150)+"p", "", ""),
		}
		want := []string{"new ghcr.io/acme", "exists ghcr.io/acme", "new ghcr.io/acme (2)", "exists already there",
			"notValid auth.password must not end in a line break; remove the trailing newline", "new long.test/" + strings.Repeat("p/", 115)}
		dry, err := k.Import(t.Context(), operatorOf("org-a"), audit.Origin{}, ImportInput{Definitions: found, DryRun: true})
		if got := imported(dry); err != nil || !slices.Equal(got, want) {
			t.Errorf("dry run: %v\n%q, want\n%q", err, got, want)
		}
		if list, _, err := k.List(t.Context(), k.Admin, "", Summary{}, nil); err != nil || len(list) != 1 {
			t.Errorf("a dry run stored %d registries, %v", len(list)-1, err)
		}
		stored, err := k.Import(t.Context(), operatorOf("org-a"), audit.Origin{}, ImportInput{Definitions: found})
		for i := range want {
			want[i] = strings.Replace(want[i], "new ", "stored ", 1)
		}
		if got := imported(stored); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v\n%q, want\n%q", err, got, want)
		}
		opened, err := k.Load(t.Context(), "org-a", stored[2].UID)
		if err != nil || opened.Definition.Auth.Password.Reveal() != "two" || opened.Registry.Definition.Auth.Password.Reveal() != secret.Mask {
			t.Errorf("stored: %+v, %v", opened, err)
		}
		again, err := k.Import(t.Context(), operatorOf("org-a"), audit.Origin{}, ImportInput{Definitions: found})
		for i := range want {
			want[i] = strings.Replace(want[i], "stored ", "exists ", 1)
		}
		if got := imported(again); err != nil || !slices.Equal(got, want) {
			t.Errorf("the second time: %v\n%q, want\n%q", err, got, want)
		}
		if records := strings.Join(k.AuditRecords(t), "\n"); strings.Count(records, "registry.create succeeded by operator") != 3 {
			t.Errorf("audit records:\n%s", records)
		}
		if _, err := k.Import(t.Context(), k.Member, audit.Origin{}, ImportInput{Definitions: found, DryRun: true}); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("by a member: %v", err)
		}
	})
}

// The result of an administrator's import does not report whether a secret is the stored one.
func TestImportByAdministratorsComparesNoSecrets(t *testing.T) {
	k := newFixture(registriestest.New(t, nil), Limits{})
	k.mustCreate(t, input("already there"))
	found := []regcheck.Definition{
		foundIn("https://r.example.com", "", "ada", registriestest.Password), foundIn("https://r.example.com", "", "ada", "a guess"),
		foundIn("https://r.example.com", "", "eve", "one"), foundIn("https://r.example.com", "", "", ""), foundIn("https://r.example.com", "", "ada", secret.Mask),
	}
	want := []string{"exists already there", "exists already there", "stored r.example.com", "stored r.example.com (2)", "notValid auth.password is a mask; send the secret itself"}
	list, err := k.Import(t.Context(), k.Admin, audit.Origin{}, ImportInput{Definitions: found})
	if got := imported(list); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q, want\n%q", err, got, want)
	}
}

// What was stored before a refusal is reported.
func TestImportReportsWhatItStored(t *testing.T) {
	k := newFixture(registriestest.New(t, nil), Limits{OrgRegistries: 1})
	found := []regcheck.Definition{foundIn("https://a.example.com", "", "", ""), foundIn("https://b.example.com", "", "", ""), foundIn("https://c.example.com", "", "", "")}
	list, err := k.Import(t.Context(), k.Admin, audit.Origin{}, ImportInput{Definitions: found})
	if err != nil || len(list) != 2 || list[0].Result != ImportStored || list[1].Result != ImportFailed || list[1].Detail == "" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := k.Import(t.Context(), k.Admin, audit.Origin{}, ImportInput{Definitions: found[1:]}); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("with nothing stored: %v", err)
	}
}

func TestImportOfManyDefinitionsOfOneAddress(t *testing.T) {
	k := newFixture(registriestest.New(t, nil), Limits{})
	found := make([]regcheck.Definition, 1000)
	for i := range found {
		found[i] = foundIn("https://r.example.com", "", strconv.Itoa(i), "p")
	}
	list, err := k.Import(t.Context(), k.Admin, audit.Origin{}, ImportInput{Definitions: found, DryRun: true})
	if err != nil || len(list) != len(found) || list[len(list)-1].Name != "r.example.com (1000)" {
		t.Errorf("%d imported, %v", len(list), err)
	}
}

// The search for a free name begins at the last number of the address, although an earlier one is free. With searches from the first
// number, an import of 50,000 definitions of one address takes more than ten minutes.
func TestSearchForANameBeginsAtTheLastNumber(t *testing.T) {
	i := importer{names: map[string]bool{}, numbers: map[string]int{}}
	for _, want := range []string{"r.example.com", "r.example.com (2)", "r.example.com (3)"} {
		if name := i.newName("r.example.com"); name != want {
			t.Errorf("got %s, want %s", name, want)
		}
		i.names[want] = true
	}
	delete(i.names, "r.example.com (2)")
	if name := i.newName("r.example.com"); name != "r.example.com (4)" {
		t.Errorf("after a number became free: %s", name)
	}
	if name := i.newName("other.example.com"); name != "other.example.com" {
		t.Errorf("another address: %s", name)
	}
}
