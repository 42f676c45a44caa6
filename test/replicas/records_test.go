package replicas_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/test/instance"
)

const registriesPath = "/v1/registries/oci/basic"

func registryPath(uid string) string { return "/v1/registries/oci/" + uid + "/basic" }

// keeper makes, replaces, reads and deletes registries of names of its own.
type keeper struct {
	retryingClient
	name          string
	credential    []string
	live          map[string]string // uid to the path that its definition has
	gone          []string          // uids
	made, deleted int64
}

const storedAtOnce = 6

func (k *keeper) run(stop <-chan struct{}) {
	for going(stop) {
		uids := slices.Collect(maps.Keys(k.live))
		done := true
		switch n := rand.N(4); {
		case len(uids) == 0 || n == 0 && len(uids) < storedAtOnce:
			done = k.create()
		case n == 1:
			done = k.remove(uids[0])
		case n == 2:
			done = k.compare(uids[0])
		default:
			done = k.replace(uids[0])
		}
		if !done {
			return
		}
	}
}

func definition(name, path string) string {
	return instance.JSON(map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"endpoint": "http://127.0.0.1:1",
		"baseContentPath": path, "auth": map[string]any{"type": "basic", "username": "ada", "password": "hunter2-" + path}}})
}

// create makes a registry. That the name is taken after an asking without a response means that this was done.
func (k *keeper) create() bool {
	k.made++
	name, path := fmt.Sprintf("%s %d", k.name, k.made), fmt.Sprintf("first/%d", rand.N(1000))
	response, again, ok := k.settle(creating, http.MethodPost, registriesPath, definition(name, path), k.credential...)
	if !ok {
		return false
	}
	switch {
	case response.Status == http.StatusCreated:
		var made struct{ UID string }
		response.Into(&made)
		k.live[made.UID] = path
	case response.Status == http.StatusConflict && again:
		uid, ok := k.find(name)
		if !ok {
			return false
		}
		k.live[uid] = path
		k.acknowledged(doneBefore)
	default:
		k.complain("%s: returned %d %s", creating, response.Status, response.Body)
		return false
	}
	k.acknowledged(creating)
	return true
}

// names reads the list of all registries, name to uid.
func (k *keeper) names() (map[string]string, bool) {
	response, ok := k.want(reading, http.StatusOK, http.MethodGet, "/v1/registries/oci/summary", "", k.credential...)
	var list struct {
		Items []struct {
			Metadata struct{ UID, Name string }
		}
	}
	found := map[string]string{}
	if ok {
		response.Into(&list)
	}
	for _, item := range list.Items {
		if found[item.Metadata.Name] != "" {
			k.complain("two registries are called %s", item.Metadata.Name)
		}
		found[item.Metadata.Name] = item.Metadata.UID
	}
	return found, ok
}

func (k *keeper) find(name string) (string, bool) {
	names, ok := k.names()
	if ok && names[name] == "" {
		k.complain("%s: the name is taken, and nothing has it", creating)
	}
	return names[name], ok
}

func (k *keeper) replace(uid string) bool {
	path := fmt.Sprintf("next/%d", rand.N(1_000_000))
	name := fmt.Sprintf("%s %s", k.name, uid)
	if _, ok := k.want(replacing, http.StatusNoContent, http.MethodPut, registryPath(uid), definition(name, path), k.credential...); !ok {
		return false
	}
	k.live[uid] = path
	return true
}

// remove deletes a registry. That it is gone after an asking without a response means that this was done.
func (k *keeper) remove(uid string) bool {
	response, again, ok := k.settle(deleting, http.MethodDelete, registryPath(uid), "", k.credential...)
	if !ok {
		return false
	}
	if response.Status != http.StatusNoContent && !(response.Status == http.StatusNotFound && again) {
		k.complain("%s: returned %d %s", deleting, response.Status, response.Body)
		return false
	}
	if response.Status == http.StatusNotFound {
		k.acknowledged(doneBefore)
	}
	k.acknowledged(deleting)
	delete(k.live, uid)
	k.gone = append(k.gone, uid)
	k.deleted++
	return true
}

// compare reads a definition, which must be the last one that was acknowledged.
func (k *keeper) compare(uid string) bool {
	response, ok := k.want(reading, http.StatusOK, http.MethodGet, registryPath(uid), "", k.credential...)
	if !ok {
		return false
	}
	var stored struct {
		Spec struct{ BaseContentPath string }
	}
	if response.Into(&stored); stored.Spec.BaseContentPath != k.live[uid] {
		k.complain("registry %s has the path %s, and %s was acknowledged", uid, stored.Spec.BaseContentPath, k.live[uid])
	}
	return true
}

// check reads everything that the keeper made.
func (k *keeper) check() {
	for uid := range k.live {
		k.compare(uid)
	}
	for _, uid := range k.gone {
		k.want("a deleted registry", http.StatusNotFound, http.MethodGet, registryPath(uid), "", k.credential...)
	}
}

// checkRecords compares what there is with what the keepers know of: nothing is missing, nothing is there twice, and
// each creation and each deletion was recorded once. imported registries are there in addition.
func checkRecords(t *testing.T, url string, keepers []*keeper, imported int64) {
	t.Helper()
	live, made, deleted := imported, imported, int64(0)
	for _, k := range keepers {
		k.check()
		live, made, deleted = live+int64(len(k.live)), made+k.made, deleted+k.deleted
	}
	names, ok := keepers[0].names()
	if !ok || int64(len(names)) != live {
		t.Errorf("%d registries are stored, want %d", len(names), live)
	}
	const recorded = "SELECT count(*) FROM audits WHERE action = $1 AND outcome = 'succeeded'"
	for action, want := range map[string]int64{"registry.create": made, "registry.delete": deleted} {
		if got, err := postgrestest.Number(t.Context(), url, recorded, action); err != nil || got != want {
			t.Errorf("%s was recorded %d times, %v; done %d times", action, got, err, want)
		}
	}
}
