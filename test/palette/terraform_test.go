package palette_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

const (
	robot       = "robot$pull"
	robotSecret = "kingfisher under the weir"
)

// harbor is a real registry with a private authority, one user and some content, and a configuration for it.
func harbor(t *testing.T) config {
	t.Helper()
	ca := testca.New(t, "Registry CA")
	registry := realregistry.Distribution(t, realregistry.Options{Users: map[string]string{robot: robotSecret}, CA: ca})
	realregistry.Fill(t, registry.As(robot, robotSecret))
	return config{
		Name: "harbor", Endpoint: registry.Endpoint, ProviderType: "helm", BaseContentPath: "charts", CredentialType: "basic",
		Username: robot, Password: robotSecret, Certificate: registry.CA,
	}
}

// anonymous is a configuration for an open registry.
func anonymous(t *testing.T) config {
	t.Helper()
	registry := realregistry.Distribution(t, realregistry.Options{})
	realregistry.Fill(t, registry)
	return config{Name: "open", Endpoint: registry.Endpoint, ProviderType: "helm", CredentialType: "noAuth"}
}

// A resource's whole life: create, plan, change, destroy; each kind with and without synchronization.
func TestResourceLife(t *testing.T) {
	w := start(t)
	base := harbor(t)
	for _, tt := range []struct {
		kind, content string
		sync          bool
	}{
		{"helm", "charts", false}, {"helm", "charts", true}, {"zarf", "zarf", false}, {"zarf", "zarf", true}, {"pack", "packs", true},
	} {
		name := tt.kind
		if tt.sync {
			name += " synchronized"
		}
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			c := base
			c.Name, c.ProviderType, c.BaseContentPath, c.Synchronization = name, tt.kind, tt.content, tt.sync
			uid := w.plugin().create(c)
			w.plugin().noDrift(uid, c)

			changed := c
			changed.Name += " again"
			changed.BaseContentPath += "/"
			w.plugin().update(uid, changed)
			w.plugin().noDrift(uid, changed)
			if changes := w.plugin().plan(uid, c); len(changes) != 2 {
				t.Errorf("against the configuration before, the plan shows %q", changes)
			}

			if err := w.plugin().destroy(uid); err != nil {
				t.Fatalf("destroy: %v", err)
			}
			if _, there := w.plugin().read(uid); there {
				t.Error("destroyed, it is still there")
			}
			// What is gone already is an error of destroy, and one that ends it.
			w.plugin().refused(del(of(uid, "/basic")), 404, "ResourceNotFound")
		})
	}
}

// in is the same service for a subtest, whose breaches fail the subtest.
func (w *world) in(t *testing.T) *world {
	inner := *w
	inner.t = t
	return &inner
}

// wait_for_sync ends: well where the registry can be used, with a warning where it cannot, at once where nothing
// is to be synchronized.
func TestWaitForSync(t *testing.T) {
	w := start(t)
	base := harbor(t)
	for _, kind := range []string{"helm", "zarf"} {
		c := base
		c.Name, c.ProviderType, c.BaseContentPath, c.Synchronization = kind, kind,
			map[string]string{"helm": "charts", "zarf": "zarf"}[kind], true
		p := w.plugin()
		uid := p.create(c)
		if last, warning := p.waitForSync(uid); warning || last.Status != "Success" || last.LastSyncedTime.IsZero() {
			t.Errorf("%s: %+v, warning %t", kind, last, warning)
		}
		p.noDrift(uid, c)

		c.Synchronization, c.Name = false, kind+" unsynchronized"
		quiet := p.create(c)
		if last, warning := p.waitForSync(quiet); warning || last.IsSyncSupported {
			t.Errorf("%s, nothing to synchronize: %+v, warning %t", kind, last, warning)
		}
	}
}

// A failed synchronization leaves the resource and shows the reason.
func TestWaitForSyncFails(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := harbor(t)
	c.Synchronization = true
	uid := p.create(c)
	p.waitForSync(uid)
	c.Password = "another password"
	p.must(put(of(uid, "/basic"), c.body(t)), nil)
	last, warning := p.waitForSync(uid)
	if !warning || last.Message == "" {
		t.Errorf("with a wrong password: %+v, warning %t", last, warning)
	}
	if strings.Contains(last.Message, c.Password) {
		t.Errorf("the message has the password: %s", last.Message)
	}
	p.noDrift(uid, c)
}

// With synchronization the provider validates first, and a user sees why it is not valid.
func TestCreateShowsWhyItIsNotValid(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := harbor(t)
	c.Password, c.Synchronization = "wrong password here", true
	err := p.refused(post(registriesPath+"/basic/validate", encoded(t, c.spec()), 204), 422, "RegistryAuthFailed")
	details, _ := err.Details.(map[string]any)
	if err.Message == "" || details["field"] != "auth.password" {
		t.Errorf("%v, details %v", err, err.Details)
	}
	// Terraform shows the message alone, so it must contain what to do.
	if hint, _ := details["hint"].(string); hint == "" || err.Message != details["message"].(string)+" "+hint {
		t.Errorf("the message is %q, the report's %q, and its hint %q", err.Message, details["message"], details["hint"])
	}
}

// A resource that another hand removed is planned anew, not an error.
func TestRemovedBehindTheProvider(t *testing.T) {
	w := start(t)
	c := anonymous(t)
	uid := w.plugin().create(c)
	w.plugin().must(del(of(uid, "/basic")), nil)
	if changes := w.plugin().plan(uid, c); len(changes) != 1 || !strings.Contains(changes[0], "gone") {
		t.Errorf("the plan shows %q", changes)
	}
	again := w.plugin().create(c)
	if again == uid {
		t.Error("a removed registry's uid is given again")
	}
}

func TestImport(t *testing.T) {
	w := start(t)
	c := harbor(t)
	c.Name = "My Reg/x ä%"
	uid := w.plugin().create(c)
	for _, id := range []string{uid, c.Name} {
		got, state := w.plugin().importResource(id)
		if got != uid {
			t.Errorf("import %q: uid %s, want %s", id, got, uid)
		}
		if changes := drift(c, state); len(changes) > 0 {
			t.Errorf("import %q, then plan: %q", id, changes)
		}
	}
	w.plugin().update(uid, c) // the first plan after an import is an update: the password is not in the state
}

// The data sources, which send the configured project with calls of the tenant.
func TestDataSources(t *testing.T) {
	w := start(t)
	p := w.plugin().scoped()
	c := harbor(t)
	c.Synchronization = true
	uid := p.create(c)
	open := anonymous(t)
	p.create(open)

	t.Run("registry_oci", func(t *testing.T) {
		p := w.in(t).plugin().scoped()
		item := findSummary(t, p.summary(), c.Name)
		if item.uid != uid || item.registryType != "basic" || item.endpoint != c.Endpoint || item.providerType != c.ProviderType {
			t.Errorf("%+v", item)
		}
		if item.sync == nil || !item.sync.IsSyncSupported {
			t.Errorf("status.sync: %+v", item.sync)
		}
		if sync := findSummary(t, p.summary(), open.Name).sync; sync != nil && sync.IsSyncSupported {
			t.Errorf("status.sync of a registry without: %+v", sync)
		}
	})
	t.Run("registry and registry_pack", func(t *testing.T) {
		p := w.in(t).plugin().scoped()
		var list readNames
		p.must(get("/v1/registries/metadata"), &list)
		names := map[string]int{}
		for _, item := range list.Items {
			names[item.Name]++
			if item.Name == c.Name && (item.UID != uid || item.Kind == "") {
				t.Errorf("%+v", item)
			}
		}
		if names[c.Name] != 1 || names[open.Name] != 1 {
			t.Errorf("names: %v", names)
		}
		p.must(get("/v1/registries/metadata?scope=tenant"), &list)
	})
	t.Run("registry helm", func(t *testing.T) {
		p := w.in(t).plugin().scoped()
		var list readList
		p.must(get("/v1/registries/helm"), &list)
		if list.Items == nil {
			t.Error("items is required, empty as it is")
		}
		p.refused(get("/v1/registries/helm/"+uid+"/sync/status"), 404, "ResourceNotFound")
	})
}

type summaryItem struct {
	uid, registryType, endpoint, providerType string
	sync                                      *readSync
}

func findSummary(t *testing.T, list readSummary, name string) (found summaryItem) {
	t.Helper()
	for _, item := range list.Items {
		if item.Metadata.Name != name {
			continue
		}
		found = summaryItem{uid: item.Metadata.UID, registryType: item.Spec.RegistryType, endpoint: item.Spec.Endpoint,
			providerType: item.Spec.ProviderType}
		if item.Status != nil {
			found.sync = item.Status.Sync
		}
		return found
	}
	t.Fatalf("no %q in the summary", name)
	return found
}

// A create that is sent again, because its response was lost, meets what it made: a clear conflict, and no second one.
func TestCreateSentAgain(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := anonymous(t)
	uid := p.create(c)
	err := p.refused(post(registriesPath+"/basic?skipPackSync=false", c.body(t), 201), 409, "RegistryAlreadyExists")
	if err.Message == "" {
		t.Error("the conflict has no message")
	}
	p.noDrift(uid, c)
	if n := len(p.summary().Items); n != 1 {
		t.Errorf("%d registries", n)
	}
}

// Several resources of one file are made at once, on connections of their own.
func TestParallelApply(t *testing.T) {
	w := start(t)
	c := anonymous(t)
	const many = 5 // what Terraform's graph gives us at least; its default is 10
	t.Run("all", func(t *testing.T) {
		for i := range many {
			name := c.Name + string(rune('a'+i))
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := w.in(t)
				one := c
				one.Name = name
				p := w.plugin()
				uid := p.create(one)
				p.noDrift(uid, one)
			})
		}
	})
	if n := len(w.plugin().summary().Items); n != many {
		t.Errorf("%d registries, want %d", n, many)
	}
}

// Two hundred synchronized registries of one file, ten at a time as is Terraform's default, take more checks than the user may
// have in a minute. No call fails or is sent again, and each synchronization ends.
func TestManySynchronizedRegistries(t *testing.T) {
	const registries, parallelism = 200, 10
	w := start(t, "--check-per-minute", "360")
	c := anonymous(t)
	c.Synchronization, c.BaseContentPath = true, "charts"
	var workers sync.WaitGroup
	for n := range parallelism {
		p := w.plugin()
		workers.Go(func() {
			for i := range registries / parallelism {
				one := c
				one.Name = fmt.Sprint("registry ", n, " ", i)
				if problem := p.applyAndWait(one); problem != "" {
					t.Errorf("%s: %s", one.Name, problem)
					return
				}
			}
		})
	}
	workers.Wait()
	if n := len(w.plugin().summary().Items); n != registries {
		t.Errorf("%d registries, want %d", n, registries)
	}
}

// applyAndWait is create with wait_for_sync, for use outside the test's own goroutine. It returns what went wrong.
func (p *provider) applyAndWait(c config) (problem string) {
	var made struct{ UID string }
	type step struct {
		o    func() operation
		into any
	}
	calls := []step{
		{func() operation { return post(registriesPath+"/basic/validate", encoded(p.wire.t, c.spec()), 204) }, nil},
		{func() operation { return post(registriesPath+"/basic?skipPackSync=false", c.body(p.wire.t), 201) }, &made},
	}
	if strings.HasSuffix(c.Name, "0") { // what a script adds
		calls = append(calls, step{func() operation { return post(of(made.UID, "/basic/sync"), "", 202) }, nil})
	}
	for _, call := range calls {
		before := p.attemptLog.attempts
		if err := p.call(call.o(), call.into); err != nil || p.attemptLog.attempts != before+1 {
			return fmt.Sprint("after ", p.attemptLog.attempts-before, " attempts: ", err, "; ", p.attemptLog.log[before:])
		}
	}
	var seen readSync
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err := p.call(get(of(made.UID, "/basic/sync/status")), &seen); err != nil {
			return err.Error()
		}
		if done, failed := p.interpret(seen); failed {
			return seen.Message
		} else if done {
			return ""
		}
	}
	return fmt.Sprintf("the synchronization does not end: %+v", seen)
}

// Both framings of a body: the length, and chunks.
func TestChunkedCreate(t *testing.T) {
	w := start(t)
	p := w.plugin()
	r := p.request("POST", registriesPath+"/basic?skipPackSync=false", anonymous(t).body(t))
	r.chunked = true
	resp, err := p.wire.send(r)
	if err != nil || resp.status != 201 {
		t.Fatalf("status %d, error %v: %s", resp.status, err, resp.body)
	}
}

// What the plugin sends in an apply, from its start on.
func TestCallsOfAnApply(t *testing.T) {
	w := start(t)
	p := w.plugin()
	c := harbor(t)
	c.Synchronization = true
	uid := p.create(c)
	p.update(uid, c)
	if err := p.destroy(uid); err != nil {
		t.Fatal(err)
	}
	const projects, record = "GET /v1/dashboard/projects/metadata 200", " /v1/registries/oci/{uid}/basic "
	want := []string{
		projects, "POST /v1/registries/oci/basic/validate 204", "POST /v1/registries/oci/basic?skipPackSync=false 201",
		"GET" + record + "200", projects, "POST /v1/registries/oci/basic/validate 204", "PUT" + record + "204",
		"GET" + record + "200", projects, "DELETE" + record + "204",
	}
	got := strings.Split(strings.ReplaceAll(strings.Join(p.attemptLog.log, "\n"), url.PathEscape(uid), "{uid}"), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
