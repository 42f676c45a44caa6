package registries

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/regcheck"
)

// postgres runs PostgreSQL for the tests that need it.
var postgres = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.DeadlocksFail}}

func TestMain(m *testing.M) {
	postgres.Tests = m
	os.Exit(postgres.Run())
}

// fixture is a service on a real store with a fixed clock.
type fixture struct {
	registriestest.Fixture
	*Service
}

func mustNew(t *testing.T) fixture {
	t.Helper()
	return newFixture(registriestest.New(t, nil), Limits{})
}

func newFixture(f registriestest.Fixture, limits Limits) fixture {
	return fixture{f, New(f.DB, limits, f.Now)}
}

func input(name string) RegistryInput {
	return RegistryInput{Name: name, SyncSupported: true, Definition: registriestest.Definition()}
}

func (k fixture) mustCreate(t *testing.T, w RegistryInput) string {
	t.Helper()
	uid, err := k.Create(t.Context(), k.Admin, audit.Origin{}, w)
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

func (k fixture) mustGet(t *testing.T, uid string) Registry {
	t.Helper()
	r, err := k.Get(t.Context(), k.Admin, uid)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A change and its audit record are one transaction: a refused or failed request changes nothing, and a refusal is audited.
func TestPermissionsAndAuditRecords(t *testing.T) {
	k := mustNew(t)
	uid := k.mustCreate(t, input("One"))
	other := k.mustCreate(t, input("Two"))
	w := input("Renamed")
	w.SyncSupported, w.Definition.Auth.Password = false, mask
	ctx, o := t.Context(), audit.Origin{}
	_, createErr := k.Create(ctx, k.Member, o, input("Three"))
	_, otherErr := k.Get(ctx, k.OtherAdmin, uid)
	_, existsErr := k.Create(ctx, k.Admin, o, input(" ONE "))
	for name, step := range map[string]struct {
		err  error
		code string
	}{
		"a member creates":             {createErr, fault.CodeOperationForbidden},
		"a member replaces":            {k.Replace(ctx, k.Member, o, uid, w), fault.CodeOperationForbidden},
		"a member deletes":             {k.Delete(ctx, k.Member, o, uid), fault.CodeOperationForbidden},
		"another org's admin reads":    {otherErr, fault.CodeResourceNotFound},
		"another org's admin replaces": {k.Replace(ctx, k.OtherAdmin, o, uid, w), fault.CodeResourceNotFound},
		"another org's admin deletes":  {k.Delete(ctx, k.OtherAdmin, o, uid), fault.CodeResourceNotFound},
		"the name is taken":            {existsErr, CodeRegistryExists},
		"another's name is taken":      {k.Replace(ctx, k.Admin, o, other, input("oNe")), CodeRegistryExists},
		"a name in place of a uid":     {k.Delete(ctx, k.Admin, o, "One"), fault.CodeResourceNotFound},
	} {
		if got := codeOf(step.err); got != step.code {
			t.Errorf("%s: %s, want %s", name, got, step.code)
		}
	}
	if r := k.mustGet(t, uid); r.Name != "One" || r.Version != 1 {
		t.Errorf("changed by refused requests: %+v", r)
	}
	if list, _, err := k.List(ctx, k.OtherAdmin, Summary{}, nil); len(list) != 0 || err != nil {
		t.Errorf("another organization's admin lists %v, %v", list, err)
	}
	if err := errors.Join(k.Replace(ctx, k.Admin, o, uid, w), k.Delete(ctx, k.Admin, o, other)); err != nil {
		t.Fatal(err)
	}
	if r := k.mustGet(t, uid); r.Name != "Renamed" || r.Version != 2 || r.SyncSupported || r.Definition.Auth.Password != mask {
		t.Errorf("replaced: %+v", r)
	}
	if opened, err := k.Load(ctx, "org-a", uid); err != nil || opened.Definition.Auth.Password != registriestest.Password ||
		opened.Registry.Version != 2 {
		t.Errorf("the masked secret is not stored: %+v, %v", opened, err)
	}
	want := []string{
		"registry.create succeeded by admin@a", "registry.create succeeded by admin@a",
		"registry.create refused by member@a OperationForbidden",
		"registry.update refused by member@a OperationForbidden", "registry.delete refused by member@a OperationForbidden",
		"registry.update succeeded by admin@a changed name,isSyncSupported", "registry.delete succeeded by admin@a",
	}
	got := k.AuditRecords(t)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a request does not have stays as it is stored: annotations and labels that are nil, and what Over sets.
func TestReplaceWhatWasSent(t *testing.T) {
	k := mustNew(t)
	w := input("One")
	w.Annotations, w.Labels = map[string]string{"a": "1"}, map[string]string{"team": "a"}
	w.Definition.References = []string{"app:1.0.0"}
	uid := k.mustCreate(t, w)
	replace := func(w RegistryInput) Registry {
		t.Helper()
		if err := k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, w); err != nil {
			t.Fatal(err)
		}
		return k.mustGet(t, uid)
	}
	sent := input("Two")
	sent.Over = func(stored regcheck.Definition) regcheck.Definition {
		if p := stored.Auth.Password; p != mask {
			t.Errorf("the stored definition has the secret %q", p.Reveal())
		}
		d := sent.Definition
		d.References = stored.References
		return d
	}
	if r := replace(sent); r.Name != "Two" || r.Annotations["a"] != "1" || r.Labels["team"] != "a" || len(r.Definition.References) != 1 {
		t.Errorf("without annotations, labels and references: %+v", r)
	}
	sent.Annotations, sent.Labels, sent.Over = map[string]string{}, map[string]string{}, nil
	if r := replace(sent); len(r.Annotations)+len(r.Labels)+len(r.Definition.References) != 0 {
		t.Errorf("with empty ones: %+v", r)
	}
}

// A secret that a request did not have is not taken to another target. One that it sent as a mask is for fill, which refuses it.
func TestStoredSecretsStayWithTheirTarget(t *testing.T) {
	stored := func() *regcheck.Auth {
		return &regcheck.Auth{Username: "ada", Password: "new", TLS: regcheck.TLS{Enabled: true, CA: "ca", Certificate: "pem", Key: mask}}
	}
	for _, tt := range []struct {
		sent regcheck.Auth
		want regcheck.TLS
	}{
		{regcheck.Auth{Username: "ada", Password: "new"}, regcheck.TLS{Enabled: true, CA: "ca"}},
		{*stored(), stored().TLS},
	} {
		a := stored()
		if dropTaken(a, &tt.sent); a.TLS != tt.want || a.Password != "new" {
			t.Errorf("%+v", a)
		}
	}
}

// A format without a field for the session token can replace a registry by one at another endpoint: the stored token stays behind.
func TestReplaceAtAnotherTarget(t *testing.T) {
	k := mustNew(t)
	at := func(account string, key regcheck.AWSKey) RegistryInput {
		w := input("One")
		w.Definition = regcheck.Definition{Endpoint: account + ".dkr.ecr.eu-west-1.amazonaws.com",
			Auth: &regcheck.Auth{Type: regcheck.ECR, AWS: &key}}
		return w
	}
	uid := k.mustCreate(t, at("123456789012", regcheck.AWSKey{AccessKey: "AKIA", SecretKey: "secret", SessionToken: "session"}))
	for account, stays := range map[string]bool{"123456789012": true, "210987654321": false} {
		sent := at(account, regcheck.AWSKey{AccessKey: "AKIA", SecretKey: "secret"})
		sent.Over = func(stored regcheck.Definition) regcheck.Definition {
			d := sent.Definition
			d.Auth = d.Auth.Clone()
			d.Auth.AWS.SessionToken = stored.Auth.AWS.SessionToken
			return d
		}
		if err := k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, sent); err != nil {
			t.Fatal(err)
		}
		if got := k.mustGet(t, uid).Definition.Auth.AWS.SessionToken != ""; got != stays {
			t.Errorf("%s has a session token: %t", account, got)
		}
		if err := k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, at("123456789012",
			regcheck.AWSKey{AccessKey: "AKIA", SecretKey: "secret", SessionToken: "session"})); err != nil {
			t.Fatal(err)
		}
	}
}

// Each caller of concurrent replacements and a deletion gets the result of its own request.
func TestConcurrentReplacements(t *testing.T) {
	k := mustNew(t)
	uid := k.mustCreate(t, input("One"))
	var done atomic.Int64
	var wait sync.WaitGroup
	for i := range 24 {
		wait.Go(func() {
			w := input(fmt.Sprint("name ", i))
			w.Definition.Auth.Password = "" // each replacement needs the stored password
			switch err := k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, w); {
			case err == nil:
				done.Add(1)
			case fault.KindOf(err) != fault.Unavailable:
				t.Errorf("%v, want a request to try again", err)
			}
		})
	}
	wait.Wait()
	r := k.mustGet(t, uid)
	if done.Load() == 0 || r.Version != 1+done.Load() || len(k.AuditRecords(t)) != int(r.Version) {
		t.Errorf("version %d after %d replacements, %d audited", r.Version, done.Load(), len(k.AuditRecords(t)))
	}
	if opened, err := k.Load(t.Context(), "org-a", uid); err != nil || opened.Definition.Auth.Password != registriestest.Password {
		t.Errorf("the stored secret is lost: %v", err)
	}
	for range 8 {
		wait.Go(func() {
			if err := k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, input("One")); err != nil &&
				codeOf(err) != fault.CodeResourceNotFound && fault.KindOf(err) != fault.Unavailable {
				t.Errorf("replaced while deleted: %v", err)
			}
		})
	}
	if err := k.Delete(t.Context(), k.Admin, audit.Origin{}, uid); err != nil {
		t.Error(err)
	}
	wait.Wait()
	if _, err := k.Get(t.Context(), k.Admin, uid); codeOf(err) != fault.CodeResourceNotFound {
		t.Errorf("a replacement restored it: %v", err)
	}
}

// Of concurrent replacements of the same version, one succeeds. The others change nothing.
func TestReplacementsOfAVersion(t *testing.T) {
	k := mustNew(t)
	uid := k.mustCreate(t, input("One"))
	var done atomic.Int64
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			w := input(fmt.Sprint("name ", i))
			w.Version = 1
			switch err := k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, w); {
			case err == nil:
				done.Add(1)
			case codeOf(err) != CodeRegistryChanged:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if r := k.mustGet(t, uid); done.Load() != 1 || r.Version != 2 {
		t.Errorf("%d replacements of version 1 succeeded, and the version is %d", done.Load(), r.Version)
	}
}

// All problems are reported at once, by the field names of the document.
func TestProblemsOfRegistryInput(t *testing.T) {
	k := mustNew(t)
	uid := k.mustCreate(t, input("One"))
	long := map[string]string{"a": strings.Repeat("x", 16<<10)}
	for name, tt := range map[string]struct {
		change func(*RegistryInput)
		create string // fields
		update string
	}{
		"nothing wrong": {func(w *RegistryInput) { w.Name = "Another" }, "", ""},
		"everything": {func(w *RegistryInput) {
			*w = RegistryInput{Annotations: long, Labels: long,
				Undecoded: []fault.Field{{Field: "isPrivate"}, {Field: "endpoint"}}}
		}, "annotations auth endpoint isPrivate labels name",
			"annotations auth endpoint isPrivate labels name"},
		"masks": {func(w *RegistryInput) { w.Definition.Auth.Password, w.Definition.Auth.TLS.Key = mask, mask },
			"auth.password auth.tls.key", "auth.tls.key"},
		"no secret": {func(w *RegistryInput) { w.Definition.Auth.Password = "" }, "auth.password", ""},
		"another target": {func(w *RegistryInput) { w.Definition.Endpoint, w.Definition.Auth.Password = "r.example.org", "" },
			"auth.password", "auth.password"},
		"NUL in what is not read": {func(w *RegistryInput) { w.Definition.Auth.TLS = regcheck.TLS{CA: "\x00", Certificate: "\x00"} },
			"auth.tls.ca auth.tls.certificate", "auth.tls.ca auth.tls.certificate"},
		"an impossible endpoint": {func(w *RegistryInput) { w.Definition.Endpoint = "ftp://h" }, "endpoint", "endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			w := input("One more")
			tt.change(&w)
			_, err := k.Create(t.Context(), k.Admin, audit.Origin{}, w)
			if got := fieldsOf(err); got != tt.create {
				t.Errorf("created: %q, want %q (%v)", got, tt.create, err)
			}
			if w.Name = strings.Replace(w.Name, "Another", "Yet another", 1); w.Name == "One more" {
				w.Name = "One"
			}
			if got := fieldsOf(k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, w)); got != tt.update {
				t.Errorf("replaced: %q, want %q", got, tt.update)
			}
		})
	}
}

// codeOf returns the code of a fault.
func codeOf(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	return ""
}

func fieldsOf(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return ""
	}
	var fields []string
	for _, p := range f.Fields {
		fields = append(fields, p.Field)
	}
	slices.Sort(fields)
	return strings.Join(fields, " ")
}
