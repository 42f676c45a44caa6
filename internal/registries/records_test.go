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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
	"github.com/regwarden/regwarden/internal/store/storetest"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

var recordsStart = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// keeping is a service on a real store, with two organizations.
type keeping struct {
	*Service
	admin, member, stranger auth.Principal
	url                     string // of the database; empty for SQLite
}

// postgres runs PostgreSQL for the tests that need it.
var postgres = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true}}

func TestMain(m *testing.M) {
	postgres.Tests = m
	os.Exit(postgres.Run())
}

// mustOpen opens a new store in dir, or on the server when there is one.
func mustOpen(t *testing.T, dir string, server *postgrestest.Server) (db *store.DB, databaseURL string) {
	t.Helper()
	databaseURL = storetest.Create(t, dir, server)
	db, err := store.Open(t.Context(), store.Options{DataDir: dir, DatabaseURL: secret.String(databaseURL)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, databaseURL
}

func mustKeep(t *testing.T) keeping {
	t.Helper()
	db, _ := mustOpen(t, t.TempDir(), nil)
	s := New(db, &regcheck.Checker{}, Limits{})
	s.now = func() time.Time { return recordsStart }
	err := db.InTx(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.Orgs.Insert(t.Context(), store.Org{UID: "org-a", Name: "A", Canonical: "a", CreatedAt: recordsStart}),
			tx.Orgs.Insert(t.Context(), store.Org{UID: "org-b", Name: "B", Canonical: "b", CreatedAt: recordsStart}))
	})
	if err != nil {
		t.Fatal(err)
	}
	who := func(org string, role auth.Role) auth.Principal {
		return auth.Principal{UserUID: "user-" + org, OrgUID: "org-" + org, OrgName: org, Email: string(role) + "@" + org, Role: role, Method: audit.MethodToken}
	}
	return keeping{Service: s, admin: who("a", auth.RoleAdmin), member: who("a", auth.RoleMember), stranger: who("b", auth.RoleAdmin)}
}

func wanted(name string) Wanted {
	return Wanted{Name: name, SyncSupported: true, Definition: regcheck.Definition{Endpoint: "https://r.example.com/", ProviderType: "helm",
		Auth: &regcheck.Auth{Type: regcheck.Basic, Username: "ada", Password: storedPassword}}}
}

func (k keeping) mustCreate(t *testing.T, w Wanted) string {
	t.Helper()
	uid, err := k.Create(t.Context(), k.admin, audit.Origin{}, w)
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

func (k keeping) mustGet(t *testing.T, uid string) Registry {
	t.Helper()
	r, err := k.Get(t.Context(), k.admin, uid)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded lists what is on record, the oldest first.
func (k keeping) recorded(t *testing.T) (list []string) {
	t.Helper()
	err := k.db.View(t.Context(), func(tx *store.Tx) error {
		events, err := tx.Audits.List(t.Context(), store.AuditFilter{}, 1000)
		for _, e := range slices.Backward(events) {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s by %s %s", e.Action, e.Outcome, e.ActorName, e.Reason)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A change and its record are one: what is refused or fails changes nothing, and a refusal is on record.
func TestWhoMayKeepAndWhatIsRecorded(t *testing.T) {
	k := mustKeep(t)
	uid := k.mustCreate(t, wanted("One"))
	other := k.mustCreate(t, wanted("Two"))
	w := wanted("Renamed")
	w.SyncSupported, w.Definition.Auth.Password = false, mask
	ctx, o := t.Context(), audit.Origin{}
	_, createErr := k.Create(ctx, k.member, o, wanted("Three"))
	_, strangerErr := k.Get(ctx, k.stranger, uid)
	_, existsErr := k.Create(ctx, k.admin, o, wanted(" ONE "))
	for name, step := range map[string]struct {
		err  error
		code string
	}{
		"a member creates":         {createErr, fault.CodeOperationForbidden},
		"a member replaces":        {k.Replace(ctx, k.member, o, uid, w), fault.CodeOperationForbidden},
		"a member deletes":         {k.Delete(ctx, k.member, o, uid), fault.CodeOperationForbidden},
		"a stranger reads":         {strangerErr, fault.CodeResourceNotFound},
		"a stranger replaces":      {k.Replace(ctx, k.stranger, o, uid, w), fault.CodeResourceNotFound},
		"a stranger deletes":       {k.Delete(ctx, k.stranger, o, uid), fault.CodeResourceNotFound},
		"the name is taken":        {existsErr, CodeRegistryExists},
		"another's name is taken":  {k.Replace(ctx, k.admin, o, other, wanted("oNe")), CodeRegistryExists},
		"a name in place of a uid": {k.Delete(ctx, k.admin, o, "One"), fault.CodeResourceNotFound},
	} {
		if got := codeOf(step.err); got != step.code {
			t.Errorf("%s: %s, want %s", name, got, step.code)
		}
	}
	if r := k.mustGet(t, uid); r.Name != "One" || r.Version != 1 {
		t.Errorf("the refused changed it: %+v", r)
	}
	if list, _, err := k.List(ctx, k.stranger, "", Summary{}, nil); len(list) != 0 || err != nil {
		t.Errorf("a stranger lists %v, %v", list, err)
	}
	if err := errors.Join(k.Replace(ctx, k.admin, o, uid, w), k.Delete(ctx, k.admin, o, other)); err != nil {
		t.Fatal(err)
	}
	if r := k.mustGet(t, uid); r.Name != "Renamed" || r.Version != 2 || r.SyncSupported || r.Definition.Auth.Password != mask {
		t.Errorf("replaced: %+v", r)
	}
	if opened, err := k.stored(ctx, "org-a", uid); err != nil || opened.Definition.Auth.Password != storedPassword || opened.Version != 2 {
		t.Errorf("the masked secret is not kept: %+v, %v", opened, err)
	}
	want := []string{
		"registry.create succeeded by admin@a", "registry.create succeeded by admin@a", "registry.create refused by member@a OperationForbidden",
		"registry.update refused by member@a OperationForbidden", "registry.delete refused by member@a OperationForbidden",
		"registry.update succeeded by admin@a", "registry.delete succeeded by admin@a",
	}
	got := k.recorded(t)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Many replace one definition at once, and somebody deletes it: each is told what became of its own.
func TestReplacementsAtOnce(t *testing.T) {
	k := mustKeep(t)
	uid := k.mustCreate(t, wanted("One"))
	var done atomic.Int64
	var wait sync.WaitGroup
	for i := range 24 {
		wait.Go(func() {
			w := wanted(fmt.Sprint("name ", i))
			w.Definition.Auth.Password = "" // each needs the stored one
			switch err := k.Replace(t.Context(), k.admin, audit.Origin{}, uid, w); {
			case err == nil:
				done.Add(1)
			case fault.KindOf(err) != fault.Unavailable:
				t.Errorf("%v, want a request to try again", err)
			}
		})
	}
	wait.Wait()
	r := k.mustGet(t, uid)
	if done.Load() == 0 || r.Version != 1+done.Load() || len(k.recorded(t)) != int(r.Version) {
		t.Errorf("version %d after %d replacements, %d on record", r.Version, done.Load(), len(k.recorded(t)))
	}
	if opened, err := k.stored(t.Context(), "org-a", uid); err != nil || opened.Definition.Auth.Password != storedPassword {
		t.Errorf("the stored secret is lost: %v", err)
	}
	for range 8 {
		wait.Go(func() {
			if err := k.Replace(t.Context(), k.admin, audit.Origin{}, uid, wanted("One")); err != nil && codeOf(err) != fault.CodeResourceNotFound && fault.KindOf(err) != fault.Unavailable {
				t.Errorf("replaced while deleted: %v", err)
			}
		})
	}
	if err := k.Delete(t.Context(), k.admin, audit.Origin{}, uid); err != nil {
		t.Error(err)
	}
	wait.Wait()
	if _, err := k.Get(t.Context(), k.admin, uid); codeOf(err) != fault.CodeResourceNotFound {
		t.Errorf("a replacement brought it back: %v", err)
	}
}

// All problems are told at once, under the names that the document has.
func TestProblemsOfAWantedRegistry(t *testing.T) {
	k := mustKeep(t)
	uid := k.mustCreate(t, wanted("One"))
	long := map[string]string{"a": strings.Repeat("x", 16<<10)}
	for name, tt := range map[string]struct {
		change func(*Wanted)
		create string // fields
		update string
	}{
		"nothing wrong": {func(w *Wanted) { w.Name = "Another" }, "", ""},
		"everything": {func(w *Wanted) {
			*w = Wanted{Annotations: long, Labels: long, Undecoded: []fault.Field{{Field: "spec.isPrivate"}, {Field: "spec.endpoint"}}}
		}, "metadata.annotations metadata.labels metadata.name spec.auth spec.endpoint spec.isPrivate", "metadata.annotations metadata.labels metadata.name spec.auth spec.endpoint spec.isPrivate"},
		"masks":                   {func(w *Wanted) { w.Definition.Auth.Password, w.Definition.Auth.TLS.Key = mask, mask }, "spec.auth.password spec.auth.tls.key", "spec.auth.tls.key"},
		"no secret":               {func(w *Wanted) { w.Definition.Auth.Password = "" }, "spec.auth.password", ""},
		"elsewhere":               {func(w *Wanted) { w.Definition.Endpoint, w.Definition.Auth.Password = "r.example.org", "" }, "spec.auth.password", "spec.auth.password"},
		"NUL in what is not read": {func(w *Wanted) { w.Definition.Auth.TLS = regcheck.TLS{CA: "\x00", Certificate: "\x00"} }, "spec.auth.tls.ca spec.auth.tls.certificate", "spec.auth.tls.ca spec.auth.tls.certificate"},
		"an impossible endpoint":  {func(w *Wanted) { w.Definition.Endpoint = "ftp://h" }, "spec.endpoint", "spec.endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted("One more")
			tt.change(&w)
			_, err := k.Create(t.Context(), k.admin, audit.Origin{}, w)
			if got := fieldsOf(err); got != tt.create {
				t.Errorf("created: %q, want %q (%v)", got, tt.create, err)
			}
			if w.Name = strings.Replace(w.Name, "Another", "Yet another", 1); w.Name == "One more" {
				w.Name = "One"
			}
			if got := fieldsOf(k.Replace(t.Context(), k.admin, audit.Origin{}, uid, w)); got != tt.update {
				t.Errorf("replaced: %q, want %q", got, tt.update)
			}
		})
	}
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
