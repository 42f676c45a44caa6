package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// postgres runs PostgreSQL for the tests that need it.
var postgres = &postgrestest.Shared{Options: postgrestest.Options{NoSync: true, Settings: postgrestest.DeadlocksFail}}

func TestMain(m *testing.M) {
	postgres.Tests = m
	os.Exit(postgres.Run())
}

// memory is a Source that a test fills.
type memory struct {
	mu         sync.Mutex
	objects    []Object
	incomplete map[string]bool // namespaces
	events     []Event
	refuses    string // Events of objects whose place begins with it; empty: none
	changed    func()
}

func (m *memory) Watch(ctx context.Context, changed func()) {
	m.mu.Lock()
	m.changed = changed
	m.mu.Unlock()
	changed()
	<-ctx.Done()
}

func (m *memory) Objects() ([]Object, func(string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.objects), func(namespace string) bool { return !m.incomplete[namespace] }
}

func (m *memory) Write(_ context.Context, e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses != "" && strings.HasPrefix(e.Object.place(), m.refuses) {
		return errors.New("refused")
	}
	m.events = append(m.events, e)
	return nil
}

// written returns the Events since the last call: "Warning Reason Kind namespace/name: message".
func (m *memory) written() (texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		texts = append(texts, fmt.Sprintf("%s %s %s: %s", kind, e.Reason, e.Object.place(), e.Message))
	}
	m.events = nil
	slices.Sort(texts)
	return texts
}

// object returns an object with members of a kind.
func object(apiVersion, kind, namespace, name string, members map[string]any) Object {
	all := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}}
	for key, value := range members {
		all[key] = value
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, UID: "uid of " + name, JSON: text}
}

// pullSecret returns a Secret with the same login at some hosts.
func pullSecret(namespace, name, password string, hosts ...string) Object {
	auths := map[string]any{}
	for _, host := range hosts {
		auths[host] = map[string]any{"username": "ada", "password": password}
	}
	config, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		panic(err)
	}
	return object("v1", "Secret", namespace, name, map[string]any{"type": "kubernetes.io/dockerconfigjson",
		"data": map[string]any{".dockerconfigjson": base64.StdEncoding.EncodeToString(config)}})
}

type fixture struct {
	registriestest.Fixture
	*Service
	memory *memory
	stored *registries.Service
}

func newFixture(f registriestest.Fixture) fixture {
	source := &memory{incomplete: map[string]bool{}}
	stored := registries.New(f.DB, registries.Limits{}, f.Now)
	return fixture{f, New(f.DB, stored, source, Config{Cluster: "prod", OrgUID: f.Admin.OrgUID, Interval: time.Minute,
		Words: func(_ model.Registry, r *regcheck.Report) *regcheck.Report { return r },
		Log:   slog.New(slog.DiscardHandler)}, f.Now), source, stored}
}

// list returns the names of all registries of the organization.
func (k fixture) list(t *testing.T) (names []string) {
	t.Helper()
	list, _, err := k.stored.List(t.Context(), k.Admin, registries.Summary{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names
}

// read replaces the objects of the cluster, and stores what they have.
func (k fixture) read(t *testing.T, objects ...Object) resolved {
	t.Helper()
	k.memory.objects = objects
	now, err := k.reconcile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func (k fixture) find(t *testing.T, name string) registries.Registry {
	t.Helper()
	r, err := k.stored.Find(t.Context(), k.Admin, name)
	if err != nil {
		t.Fatal(name, err)
	}
	return r
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What is stored follows the objects, and what users store stays.
func TestRegistriesFollowTheirObjects(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f)
		const first = "r.test (prod/apps/Secret/one)"
		if _, err := k.stored.Create(t.Context(), k.Admin, audit.Origin{}, registries.RegistryInput{Name: first,
			Definition: registriestest.Definition()}); err != nil {
			t.Fatal(err)
		}
		k.read(t, pullSecret("apps", "one", "x", "r.test"), pullSecret("apps", "two", "x", "r.test", "s.test/charts"),
			pullSecret("web", "one", "x", "r.test"))
		names := k.list(t)
		if len(names) != 5 || names[0] != first || !strings.HasPrefix(names[1], first+" ") {
			t.Errorf("names: %q", names)
		}
		want(t, "of the others", names[2:], "r.test (prod/apps/Secret/two)", "r.test (prod/web/Secret/one)",
			"s.test/charts (prod/apps/Secret/two)")
		k.read(t, append([]Object{pullSecret("apps", "one", "changed", "r.test")}, k.memory.objects[1:]...)...)
		one := k.find(t, names[1])
		if opened, err := k.stored.Load(t.Context(), k.OrgUID, one.UID); err != nil || opened.Definition.Auth.Password != "changed" {
			t.Errorf("changed secret of a registry with another name: version %d, %v", opened.Registry.Version, err)
		}
		two := k.find(t, "r.test (prod/apps/Secret/two)")
		if two.Origin != "prod/apps/Secret/two" || two.Labels["namespace"] != "apps" || two.Labels["cluster"] != "prod" ||
			two.Definition.Auth.Username != "ada" {
			t.Errorf("stored: %+v", two)
		}
		k.read(t, k.memory.objects...)
		if again := k.find(t, two.UID); again.Version != 1 {
			t.Errorf("version %d after nothing changed", again.Version)
		}
		k.read(t, pullSecret("apps", "two", "other", "r.test"), pullSecret("web", "one", "x", "r.test"))
		want(t, "after changes", k.list(t), first, "r.test (prod/apps/Secret/two)", "r.test (prod/web/Secret/one)")
		if opened, err := k.stored.Load(t.Context(), k.OrgUID, two.UID); err != nil || opened.Registry.Version != 2 ||
			opened.Definition.Auth.Password != "other" {
			t.Errorf("version %d, %v", opened.Registry.Version, err)
		}
		k.memory.incomplete["web"] = true
		k.read(t)
		want(t, "of a namespace that cannot be listed", k.list(t), first, "r.test (prod/web/Secret/one)")
		k.memory.incomplete["web"] = false
		k.read(t)
		want(t, "without objects", k.list(t), first)
	})
}

// Registries that cannot be stored, here because of a quota, do not prevent that others are changed and deleted.
func TestAFailureStopsNoOtherRegistry(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f)
		k.stored = registries.New(f.DB, registries.Limits{OrgRegistries: 40}, f.Now)
		k.Service.registries = k.stored
		var objects []Object
		for i := range 40 {
			objects = append(objects, pullSecret("apps", fmt.Sprintf("old-%02d", i), "x", "r.test"))
		}
		k.read(t, objects...)
		objects = objects[:2:2]
		objects[1] = pullSecret("apps", "old-01", "other", "r.test")
		for i := range 60 {
			objects = append(objects, pullSecret("apps", fmt.Sprintf("new-%02d", i), "x", "r.test"))
		}
		k.memory.objects = objects
		if _, err := k.reconcile(t.Context()); err == nil {
			t.Error("62 registries stored of 40")
		}
		if names := k.list(t); len(names) != 40 {
			t.Errorf("%d registries: %q", len(names), names)
		}
		changed := k.find(t, "r.test (prod/apps/Secret/old-01)")
		if opened, err := k.stored.Load(t.Context(), k.OrgUID, changed.UID); err != nil || opened.Definition.Auth.Password != "other" {
			t.Errorf("%+v, %v", opened.Registry, err)
		}
	})
}

// Flux and Argo CD are read by the rules of a scan, with the Secrets to which they refer.
func TestFluxAndArgoCD(t *testing.T) {
	k := newFixture(registriestest.New(t, nil))
	password := map[string]any{"username": base64.StdEncoding.EncodeToString([]byte("ada")),
		"password": base64.StdEncoding.EncodeToString([]byte("x"))}
	repository := object("v1", "Secret", "argocd", "charts", map[string]any{"type": "Opaque", "data": map[string]any{
		"url":      base64.StdEncoding.EncodeToString([]byte("oci://argo.test/charts")),
		"type":     base64.StdEncoding.EncodeToString([]byte("oci")),
		"username": password["username"], "password": password["password"]},
		"metadata": map[string]any{"namespace": "argocd", "name": "charts",
			"labels": map[string]any{"argocd.argoproj.io/secret-type": "repository"}}})
	k.read(t, repository,
		object("source.toolkit.fluxcd.io/v1", "HelmRepository", "flux", "oci", map[string]any{"spec": map[string]any{
			"type": "oci", "url": "oci://flux.test/charts", "secretRef": map[string]any{"name": "login"}}}),
		object("source.toolkit.fluxcd.io/v1", "OCIRepository", "flux", "unresolved", map[string]any{"spec": map[string]any{
			"url": "oci://flux.test/app", "secretRef": map[string]any{"name": "missing"}}}),
		object("v1", "Secret", "flux", "login", map[string]any{"type": "kubernetes.io/basic-auth", "data": password}))
	want(t, "stored", k.list(t), "argo.test/charts (prod/argocd/Secret/charts)", "flux.test/charts (prod/flux/HelmRepository/oci)")
	if r := k.find(t, "flux.test/charts (prod/flux/HelmRepository/oci)"); r.Definition.Auth.Username != "ada" {
		t.Errorf("without the credentials of its Secret: %+v", r.Definition.Auth)
	}
}

// check stores the result of a check of a registry.
func (k fixture) check(t *testing.T, uid string, report *regcheck.Report, at time.Time) {
	t.Helper()
	encoded, err := reports.Encode(report)
	if err != nil {
		t.Fatal(err)
	}
	err = k.DB.InTx(t.Context(), func(tx *store.Tx) error {
		if err := tx.Watch.Schedule(t.Context(), k.OrgUID, uid, at.Add(-time.Hour)); err != nil {
			return err
		}
		list, err := tx.Watch.Claim(t.Context(), "owner", at.Add(-time.Hour), at, []store.Share{{OrgUID: k.OrgUID, Count: 1}})
		if err != nil || len(list) != 1 || list[0].RegistryUID != uid {
			return fmt.Errorf("claimed %v: %w", list, err)
		}
		w := list[0]
		w.Since, w.LastAt, w.NextAt = at, at, at.Add(time.Hour)
		w.State = store.HealthResult{Valid: report.Valid, Code: string(report.Code), Message: report.Message, Hint: report.Hint}
		r, err := tx.Registries.GetPlain(t.Context(), k.OrgUID, uid)
		if err != nil {
			return err
		}
		return tx.Watch.End(t.Context(), w, r.Version, store.HealthPeriod{Counted: true, Result: w.State, Report: encoded})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A change of health is one Event, also if it was refused before, and an object without a definition has one that says why.
func TestEvents(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f)
		clock := f.Now()
		k.now = func() time.Time { return clock }
		now := k.read(t, pullSecret("apps", "one", "x", "r.test"))
		uid := k.find(t, "r.test (prod/apps/Secret/one)").UID
		a := &announcer{Service: k.Service, written: map[defect]time.Time{}}
		failed := &regcheck.Report{Code: regcheck.CodeAuthFailed, Message: "The registry rejects the password.", Hint: "Renew it."}
		const event = "Warning RegistryAuthFailed Secret apps/one: r.test: The registry rejects the password. Fix: Renew it."
		k.check(t, uid, &regcheck.Report{Valid: true}, clock.Add(time.Second))
		a.announce(t.Context(), now)
		want(t, "of a healthy registry", k.memory.written())
		k.check(t, uid, failed, clock.Add(2*time.Second))
		k.memory.refuses = "Secret apps/one"
		a.announce(t.Context(), now)
		k.memory.refuses = ""
		for range 2 {
			a.announce(t.Context(), now)
		}
		want(t, "of a failure", k.memory.written(), event)
		clock = clock.Add(time.Hour)
		a.announce(t.Context(), now)
		want(t, "an hour later", k.memory.written(), event)
		k.check(t, uid, &regcheck.Report{Valid: true}, clock.Add(3*time.Second))
		for range 2 {
			a.announce(t.Context(), now)
		}
		want(t, "of the fix", k.memory.written(), "Normal RegistryValid Secret apps/one: r.test can be used again.")

		now = k.read(t, object("v1", "ServiceAccount", "apps", "default", map[string]any{"imagePullSecrets": []any{
			map[string]any{"name": "missing"}}}), object("v1", "Secret", "apps", "broken", map[string]any{
			"type": "kubernetes.io/dockerconfigjson",
			"data": map[string]any{".dockerconfigjson": base64.StdEncoding.EncodeToString([]byte("{"))}}))
		for range 2 {
			a.announce(t.Context(), now)
		}
		events := k.memory.written()
		if len(events) != 2 || !strings.HasPrefix(events[0], "Warning RegistryDefinitionInvalid Secret apps/broken: ") ||
			!strings.HasPrefix(events[1], "Warning RegistrySecretMissing ServiceAccount apps/default: ") {
			t.Errorf("of objects without a definition: %q", events)
		}
	})
}

// Events that are refused, such as by a quota of their namespace, prevent no others.
func TestRefusedEventsPreventNoOthers(t *testing.T) {
	k := newFixture(registriestest.New(t, nil))
	clock := k.Fixture.Now()
	k.now = func() time.Time { return clock }
	unreadable := func(namespace string) Object {
		return object("v1", "Secret", namespace, "broken", map[string]any{"type": "kubernetes.io/dockerconfigjson",
			"data": map[string]any{".dockerconfigjson": base64.StdEncoding.EncodeToString([]byte("{"))}})
	}
	objects := []Object{pullSecret("web", "one", "x", "r.test"), unreadable("apps"), unreadable("web")}
	for i := range maxRefused + 2 {
		objects = append(objects, pullSecret("apps", fmt.Sprintf("%02d", i), "x", "r.test"))
	}
	now := k.read(t, objects...)
	for _, name := range k.list(t) {
		k.check(t, k.find(t, name).UID, &regcheck.Report{Code: regcheck.CodeAuthFailed, Message: "Wrong password."}, clock.Add(time.Second))
	}
	a := &announcer{Service: k.Service, written: map[defect]time.Time{}}
	k.memory.refuses = "Secret apps/"
	a.announce(t.Context(), now)
	first := k.memory.written()
	if len(first) != 1 || !strings.HasPrefix(first[0], "Warning RegistryDefinitionInvalid Secret web/broken: ") {
		t.Errorf("of the first pass: %q", first)
	}
	a.announce(t.Context(), now)
	want(t, "of the second pass", k.memory.written(), "Warning RegistryAuthFailed Secret web/one: r.test: Wrong password.")
	k.memory.refuses = ""
	a.announce(t.Context(), now)
	if last := k.memory.written(); len(last) != maxRefused+3 {
		t.Errorf("when no Event is refused: %q", last)
	}
}

// Of two servers one reads the cluster, and the other does when it ends.
func TestOneServerReads(t *testing.T) {
	k := newFixture(registriestest.New(t, nil))
	k.now = time.Now
	other := *k.Service
	second := &memory{incomplete: map[string]bool{}}
	other.source = second
	k.memory.objects = []Object{pullSecret("apps", "one", "x", "r.test")}
	ctx, stop := context.WithCancel(t.Context())
	var first, all sync.WaitGroup
	first.Go(func() { k.Run(ctx) })
	await(t, "the first stores", func() bool { return len(k.list(t)) == 1 })
	secondCtx, stopSecond := context.WithCancel(t.Context())
	all.Go(func() { other.Run(secondCtx) })
	t.Cleanup(all.Wait)
	t.Cleanup(stopSecond)
	reads := func() bool {
		second.mu.Lock()
		defer second.mu.Unlock()
		return second.changed != nil
	}
	k.memory.mu.Lock()
	k.memory.objects = append(k.memory.objects, pullSecret("apps", "two", "x", "r.test"))
	k.memory.mu.Unlock()
	k.memory.changed()
	await(t, "a change is stored", func() bool { return len(k.list(t)) == 2 })
	if reads() {
		t.Error("two servers read the cluster")
	}
	stop()
	first.Wait()
	await(t, "the other reads", reads)
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after two minutes", what)
		}
	}
}

// Long names are cut, and stay different; a definition that cannot be stored is reported.
func TestNamesAndTexts(t *testing.T) {
	long := strings.Repeat("n", 250)
	config := Config{Cluster: "prod"}
	r := resolve("prod", []Object{pullSecret("apps", long+"1", "x", "r.test"), pullSecret("apps", long+"2", "x", "r.test"),
		pullSecret("apps", "nul", "x\x00", "s.test"), pullSecret("apps", "invisible", "x", "t\u200b.test")})
	inputs := r.inputs(config)
	if len(inputs) != 2 || inputs[0].Name == inputs[1].Name || len(inputs[0].Name) > 256 || len(r.defects) != 2 {
		t.Errorf("%+v, %v", inputs, r.defects)
	}
	for _, e := range r.entries {
		if found := r.entry(e.origin); found == nil || found.origin != e.origin {
			t.Errorf("%v is not found", e.origin)
		}
	}
}
