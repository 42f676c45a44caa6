package registries

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
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
		shown = append(shown, strings.TrimSpace(string(i.Result)+" "+i.Name+i.Detail+" "+i.DiffersFrom))
	}
	return shown
}

func TestImportStoresEachDefinitionOnce(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		k.mustCreate(t, input("already there"))
		found := []regcheck.Definition{
			foundIn("https://ghcr.io", "acme", "ada", "one"), foundIn("ghcr.io/", "/acme/", "ada", "one"),
			foundIn("https://ghcr.io", "acme", "ada", "two"),
			foundIn("https://r.example.com", "", "ada", registriestest.Password),
			foundIn("https://newline.example.com", "", "ada", "one\n"),
			foundIn("https://long.test", strings.Repeat("p/", 150)+"p", "", ""),
		}
		want := []string{"new ghcr.io/acme", "exists ghcr.io/acme", "new ghcr.io/acme (2) ghcr.io/acme", "exists already there",
			"notValid auth.password must not end in a line break; remove the trailing newline",
			"new long.test/" + strings.Repeat("p/", 115)}
		dry, err := k.Import(t.Context(), operatorOf("org-a"), audit.Origin{}, ImportInput{Definitions: found, DryRun: true})
		if got := imported(dry); err != nil || !slices.Equal(got, want) {
			t.Errorf("dry run: %v\n%q, want\n%q", err, got, want)
		}
		if list, _, err := k.List(t.Context(), k.Admin, Summary{}, nil); err != nil || len(list) != 1 {
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
		if err != nil || opened.Definition.Auth.Password.Reveal() != "two" ||
			opened.Registry.Definition.Auth.Password.Reveal() != secret.Mask {
			t.Errorf("stored: %+v, %v", opened, err)
		}
		want[2] = "stored ghcr.io/acme (2)" // the same now, and what it differs from does not matter
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
		if _, err := k.Import(t.Context(), k.Member, audit.Origin{},
			ImportInput{Definitions: found, DryRun: true}); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("by a member: %v", err)
		}
	})
}

// The result of an administrator's import does not report whether a secret is the stored one.
func TestImportByAdministratorsComparesNoSecrets(t *testing.T) {
	k := newFixture(registriestest.New(t, nil), Limits{})
	k.mustCreate(t, input("already there"))
	open := input("open")
	open.Definition = foundIn("https://open.example.com", "", "", "")
	k.mustCreate(t, open)
	found := []regcheck.Definition{
		foundIn("https://r.example.com", "", "ada", registriestest.Password), foundIn("https://r.example.com", "", "ada", "a guess"),
		foundIn("https://r.example.com", "", "eve", "one"), foundIn("https://r.example.com", "", "", ""),
		foundIn("https://r.example.com", "", "eve", "two"), foundIn("https://open.example.com", "", "", ""),
		foundIn("https://r.example.com", "", "ada", secret.Mask),
	}
	want := []string{"exists already there" + uncompared, "exists already there" + uncompared, "stored r.example.com",
		"stored r.example.com (flux, apps.yaml:3)", "stored r.example.com (flux, apps.yaml:3) (2) r.example.com",
		"exists open", // has no secret to compare
		"notValid auth.password is a mask; send the secret itself"}
	places := slices.Repeat([]string{"flux, apps.yaml:3"}, len(found))
	list, err := k.Import(t.Context(), k.Admin, audit.Origin{}, ImportInput{Definitions: found, Places: places})
	if got := imported(list); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q, want\n%q", err, got, want)
	}
}

// An import reads and decrypts no stored secret: it works while none can be decrypted, with the same result.
func TestImportDecryptsNothing(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		k.mustCreate(t, input("already there"))
		k.exec(t, "UPDATE registry_details SET sealed = NULL")
		found := []regcheck.Definition{
			foundIn("https://r.example.com", "", "ada", registriestest.Password), foundIn("https://r.example.com", "", "ada", "two"),
		}
		for _, tt := range []struct {
			p    auth.Principal
			want []string
		}{
			{k.Admin, []string{"exists already there" + uncompared, "exists already there" + uncompared}},
			{operatorOf("org-a"), []string{"exists already there", "new r.example.com already there"}},
			{operatorOf("org-b"), []string{"new r.example.com", "new r.example.com (2) r.example.com"}},
		} {
			list, err := k.Import(t.Context(), tt.p, audit.Origin{}, ImportInput{Definitions: found, DryRun: true})
			if got := imported(list); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v\n%q, want\n%q", err, got, tt.want)
			}
		}
	})
}

// Registries that a server of an earlier version stored or replaced get their identity from the next import, once.
func TestImportAfterAnUpgrade(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		for i := range identityBatch + 1 {
			stored := input("r" + strconv.Itoa(i))
			stored.Definition.Endpoint = "https://r" + strconv.Itoa(i) + ".example.com"
			k.mustCreate(t, stored)
		}
		damaged := k.mustCreate(t, input("damaged"))
		k.exec(t, "UPDATE registries SET version = version + 1, endpoint = 'https://new.example.com' WHERE name = 'r0'")
		k.exec(t, "UPDATE registries SET identity = NULL, identity_secrets = NULL, identity_version = 0 WHERE name <> 'r0'")
		k.exec(t, "UPDATE registry_details SET sealed = NULL WHERE registry_uid = '"+damaged+"'")
		found := []regcheck.Definition{
			foundIn("https://r0.example.com", "", "ada", registriestest.Password),
			foundIn("https://new.example.com", "", "ada", registriestest.Password),
			foundIn("https://r100.example.com", "", "ada", registriestest.Password),
			foundIn("https://r.example.com", "", "ada", registriestest.Password),
		}
		want := []string{"new r0.example.com", "exists r0", "exists r100", "new r.example.com damaged"}
		for range 2 {
			list, err := k.Import(t.Context(), operatorOf("org-a"), audit.Origin{}, ImportInput{Definitions: found, DryRun: true})
			if got := imported(list); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v\n%q, want\n%q", err, got, want)
			}
			k.exec(t, "UPDATE registry_details SET sealed = NULL") // nothing is decrypted again
		}
	})
}

// A replaced definition is compared as it is now.
func TestImportAfterAReplacement(t *testing.T) {
	k := mustNew(t)
	uid := k.mustCreate(t, input("r"))
	changed := input("r")
	changed.Definition.BaseContentPath, changed.Definition.Auth.Password = "charts", "another"
	if err := k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, changed); err != nil {
		t.Fatal(err)
	}
	found := []regcheck.Definition{
		foundIn("https://r.example.com", "", "ada", registriestest.Password), foundIn("https://r.example.com", "charts/", "ada", "another"),
	}
	list, err := k.Import(t.Context(), operatorOf("org-a"), audit.Origin{}, ImportInput{Definitions: found, DryRun: true})
	if got, want := imported(list), []string{"new r.example.com", "exists r"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q, want\n%q", err, got, want)
	}
}

// exec changes the database as an earlier version could have left it, or damages it.
func (k fixture) exec(t *testing.T, query string) {
	t.Helper()
	driver, address := "sqlite", filepath.Join(k.Dir, "regwarden.db")
	if k.URL != "" {
		driver, address = "pgx", k.URL
	}
	raw, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := raw.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// What was stored before a refusal is reported.
func TestImportReportsWhatItStored(t *testing.T) {
	k := newFixture(registriestest.New(t, nil), Limits{OrgRegistries: 1})
	found := []regcheck.Definition{foundIn("https://a.example.com", "", "", ""), foundIn("https://b.example.com", "", "", ""),
		foundIn("https://c.example.com", "", "", "")}
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
	i, used := importer{numbers: map[string]int{}}, map[string]bool{}
	newName := func(address string) string {
		name, err := i.newName(address, "", func(canonical string) (bool, error) { return used[canonical], nil })
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, want := range []string{"r.example.com", "r.example.com (2)", "r.example.com (3)"} {
		if name := newName("r.example.com"); name != want {
			t.Errorf("got %s, want %s", name, want)
		}
		used[want] = true
	}
	delete(used, "r.example.com (2)")
	if name := newName("r.example.com"); name != "r.example.com (4)" {
		t.Errorf("after a number became free: %s", name)
	}
	if name := newName("other.example.com"); name != "other.example.com" {
		t.Errorf("another address: %s", name)
	}
}

// References identify a definition; without any it has the same identity as before there were references.
func TestReferencesIdentify(t *testing.T) {
	d := foundIn("https://ghcr.io", "acme", "ada", "one")
	without := identityOf(d)
	if want := `["https://ghcr.io/v2/","acme","helm","basic","ada",false,false,"",""]`; without.Open != want {
		t.Errorf("%s, want %s", without.Open, want)
	}
	d.References = []string{}
	if identityOf(d) != without {
		t.Error("an empty list changes the identity")
	}
	d.References = []string{"acme/a:1"}
	if id := identityOf(d); id.Open == without.Open || id.Full == without.Full {
		t.Errorf("references do not change the identity: %+v", id)
	}
}

// A registry of another project, which the caller may not read, does not hide the one that an earlier import stored.
func TestImportIntoAProjectStoresOnce(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		k.mustCreate(t, input("already there"))
		people := directory.New(k.DB, nil, k.Now)
		project, err := people.CreateProject(t.Context(), k.Admin, audit.Origin{}, directory.NewProject{Name: "Blue"})
		if err != nil {
			t.Fatal(err)
		}
		limited := k.Admin
		limited.Limit.Project = project.UID
		found := ImportInput{ProjectUID: project.UID,
			Definitions: []regcheck.Definition{foundIn("https://r.example.com", "", "ada", registriestest.Password)}}
		for _, want := range []string{"stored r.example.com", "exists r.example.com" + uncompared} {
			list, err := k.Import(t.Context(), limited, audit.Origin{}, found)
			if got := imported(list); err != nil || !slices.Equal(got, []string{want}) {
				t.Errorf("%v\n%q, want %q", err, got, want)
			}
		}
	})
}
