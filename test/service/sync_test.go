package service_test

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

// clientWords are the statuses that clients know; they fail on any other.
var clientWords = []string{"Pending", "InProgress", "Success", "Failed"}

// synced polls as a client does.
func (p person) synced(uid string) (s api.SyncStatus) {
	p.t.Helper()
	instance.Await(p.t, "the synchronization ends", func() bool {
		p.get(at(uid)+"/sync/status", &s)
		if !strings.Contains(strings.Join(clientWords, " "), s.Status) || s.Status == "" {
			p.t.Fatalf("status %q is none that clients know", s.Status)
		}
		return s.Status == "Success" || s.Status == "Failed"
	})
	return s
}

// Stored registries are synchronized in the background, listed in pages, and synchronized again on request.
func TestSynchronization(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := secured(t)
	push := registry.As(ada, adaPassword)
	web := realregistry.Push(t, push, realregistry.Helm, "charts/web", "1.0.0").Digest.String()
	auth := object{"type": "basic", "username": ada, "password": adaPassword, "tls": object{"enabled": true, "ca": registry.CA}}
	sent := spec(registry.Endpoint, auth, object{"isSyncSupported": true, "baseContentPath": "charts"})
	uid := admin.make(registriesPath+"?skipPackSync=false", newRegistry("charts", sent))
	began := time.Now()
	s := admin.synced(uid)
	if s.Status != "Success" || s.Message != "2 repositories with 2 tags." || s.LastSyncedTime.IsZero() ||
		s.LastRunTime.IsZero() || !s.IsSyncSupported {
		t.Errorf("after %v: %+v", time.Since(began), s)
	}
	var list api.OCIRegistryContent
	admin.get(at(uid)+"/content", &list)
	if len(list.Items) != 2 || list.Items[1].Repository != "charts/web" || list.Items[1].Digest != web || list.Items[1].Kind != "helm" ||
		list.ListMeta.Count != 2 {
		t.Errorf("%+v", list)
	}
	if diff := cmp.Diff(s, list.Status); diff != "" {
		t.Error(diff)
	}
	admin.get(at(uid)+"/content?limit=1", &list)
	if len(list.Items) != 1 || list.ListMeta.Continue == "" {
		t.Errorf("a page of one: %+v", list)
	}
	next := api.OCIRegistryContent{}
	admin.get(at(uid)+"/content?limit=1&repository=charts&continue="+url.QueryEscape(list.ListMeta.Continue), &next)
	if len(next.Items) != 1 || next.Items[0].Repository != "charts/web" || next.ListMeta.Continue != "" || next.ListMeta.Offset != 2 {
		t.Errorf("the page after it: %+v", next)
	}
	admin.get(at(uid)+"/content?repository=charts/web", &list)
	if len(list.Items) != 1 {
		t.Errorf("one repository: %+v", list)
	}

	// The record and the list agree, which has no numbers.
	var record api.OCIRegistry
	admin.get(at(uid), &record)
	var all api.OCIRegistrySummaries
	admin.get("/v1/registries/oci/summary", &all)
	listed := s
	listed.Repositories, listed.Tags = 0, 0
	if len(all.Items) != 1 || all.Items[0].Status.Sync != listed || record.Status.SyncStatus != s {
		t.Errorf("the record has %+v, the list %+v, the status %+v", record.Status.SyncStatus, all.Items, s)
	}

	realregistry.Push(t, push, realregistry.Helm, "charts/web", "1.1.0")
	if response := admin.do("POST", at(uid)+"/sync?forceSync=true", "").Want(http.StatusAccepted); response.Body != "" {
		t.Errorf("202 with a body: %s", response.Body)
	}
	instance.Await(t, "the second synchronization finds the new tag", func() bool {
		s = admin.synced(uid)
		return s.Message == "2 repositories with 3 tags."
	})
}

// Requests that are not allowed or cannot succeed are rejected.
func TestSynchronizationIsRefused(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Flags: []string{"--sync-interval", "0s"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.make("/v1/users", newUser("mate@acme.example"))
	mate, _ := loggedIn(t, server, "mate@acme.example", instance.Org, matePassword)
	gone := unusedEndpoint(t)
	uid := admin.make(registriesPath, newRegistry("gone", spec(gone, object{"type": "noAuth"}, object{"isSyncSupported": true})))
	off := admin.make(registriesPath, newRegistry("off", spec(gone, object{"type": "noAuth"}, nil)))

	mate.refused("POST", at(uid)+"/sync", "", 403, "OperationForbidden")
	wantFields(t, admin.refused("POST", at(off)+"/sync", "", 400, "InvalidRequest").Fault(), "isSyncSupported")
	admin.refused("POST", at("gone")+"/sync", "", 404, "ResourceNotFound")
	wantFields(t, mate.refused("GET", at(uid)+"/content?limit=501&continue=x", "", 400, "InvalidRequest").Fault(), "continue", "limit")

	if s := mate.synced(uid); s.Status != "Failed" || !strings.HasPrefix(s.Message, "RegistryUnreachable: ") || !s.LastSyncedTime.IsZero() {
		t.Errorf("a registry that is not there: %+v", s)
	}
	var s api.SyncStatus
	if mate.get(at(off)+"/sync/status", &s); s.IsSyncSupported || s.Status != "" {
		t.Errorf("switched off: %+v", s)
	}
	var list api.OCIRegistryContent
	if mate.get(at(uid)+"/content", &list); len(list.Items) != 0 || list.ListMeta.Count != 0 {
		t.Errorf("%+v", list)
	}
}

// A secret that cannot be decrypted fails the synchronization of its registry only, with a message on what to do.
func TestSynchronizationWithoutItsSecret(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	registry := realregistry.Distribution(t, realregistry.Options{Users: map[string]string{ada: adaPassword}})
	realregistry.Push(t, registry.As(ada, adaPassword), realregistry.Helm, "charts/web", "1.0.0")
	body := func(name string) string {
		return newRegistry(name, spec(registry.Endpoint, basicAuth(adaPassword),
			object{"isSyncSupported": true, "baseContentPath": "charts"}))
	}
	damaged := admin.make(registriesPath+"?skipPackSync=true", body("damaged"))
	if _, err := openStore(t, server).ExecContext(t.Context(),
		"UPDATE registry_details SET sealed = x'00' WHERE registry_uid = ?", damaged); err != nil {
		t.Fatal(err)
	}
	admin.do("POST", at(damaged)+"/sync", "").Want(http.StatusAccepted)
	whole := admin.make(registriesPath, body("whole"))
	if s := admin.synced(damaged); s.Status != "Failed" || !strings.HasPrefix(s.Message, "RegistrySecretUnreadable: ") {
		t.Errorf("%+v", s)
	}
	if s := admin.synced(whole); s.Status != "Success" {
		t.Errorf("%+v", s)
	}
}

// holding is a registry behind a line that counts manifests, and does not respond for those of one repository until release is called.
func holding(t *testing.T, endpoint, held string) (url string, asked func() map[string]int, release func()) {
	t.Helper()
	to := mustURL(t, endpoint)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	var mu sync.Mutex
	counts, gate := map[string]int{}, make(chan struct{})
	url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if repository, _, isManifest := strings.Cut(r.URL.Path, "/manifests/"); isManifest {
			name := strings.TrimPrefix(repository, "/v2/")
			mu.Lock()
			counts[name]++
			mu.Unlock()
			if name == held {
				select {
				case <-gate:
				case <-r.Context().Done():
				}
			}
		}
		proxy.ServeHTTP(w, r)
	})
	release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release) // before the end of the server, which waits for its requests
	asked = func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		out := map[string]int{}
		for name, n := range counts {
			out[name] = n
		}
		return out
	}
	return url, asked, release
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// kill -9 amid a synchronization: the next process goes on behind the repository that was finished last.
func TestKilledSynchronizationIsResumed(t *testing.T) {
	t.Parallel()
	registry := realregistry.Distribution(t, realregistry.Options{})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		for _, tag := range []string{"1", "2", "3"} {
			realregistry.Push(t, registry, realregistry.Helm, "charts/"+name, tag)
		}
	}
	endpoint, asked, release := holding(t, registry.Endpoint, "charts/d")
	server := instance.Start(t, instance.Options{Flags: []string{"--watch-interval", "0s"}})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uid := admin.make(registriesPath,
		newRegistry("charts", spec(endpoint, object{"type": "noAuth"}, object{"isSyncSupported": true, "baseContentPath": "charts"})))
	var s api.SyncStatus
	instance.Await(t, "three repositories are read", func() bool {
		admin.get(at(uid)+"/sync/status", &s)
		return strings.HasPrefix(s.Message, "3 repositories so far")
	})
	server.Kill()
	before := asked()
	release()
	after := instance.Start(t, instance.Options{DataDir: server.DataDir, Flags: []string{"--watch-interval", "0s"}})
	again, _ := loggedIn(t, after, instance.Email, instance.Org, instance.Password)
	if s = again.synced(uid); s.Message != "5 repositories with 15 tags." {
		t.Errorf("%+v", s)
	}
	now := asked()
	if before["charts/e"] > 0 || now["charts/b"] != before["charts/b"] || now["charts/c"] != before["charts/c"] || now["charts/e"] < 3 {
		t.Errorf("before the kill %v, after it %v", before, now)
	}
	var list api.OCIRegistryContent
	again.get(at(uid)+"/content?limit=500", &list)
	first := list.Items[0]
	if len(list.Items) != 15 || first.Repository != "charts/a" || first.Tag != "1" || first.Kind != "helm" || first.Digest == "" ||
		list.ListMeta.Count != 15 {
		t.Errorf("%+v", list)
	}
}
