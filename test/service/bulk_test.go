package service_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/test/instance"
)

const bulkPath = "/v1/registries/oci/bulk"

// bulk returns the results by name, with the code of a refusal.
func (p person) bulk(body object) map[string]string {
	p.t.Helper()
	var result api.RegistryBulkResult
	p.do(http.MethodPost, bulkPath, instance.JSON(body)).Want(http.StatusOK).Into(&result)
	results := map[string]string{}
	for _, item := range result.Items {
		results[item.Name] = strings.TrimSpace(item.Result + " " + item.Code)
	}
	return results
}

const summaryPath = "/v1/registries/oci/summary"

// listed returns the names of a page of the list of registries.
func (p person) listed(query string) (names []string) {
	p.t.Helper()
	var list api.OCIRegistrySummaries
	p.get(summaryPath+"?"+query, &list)
	for _, r := range list.Items {
		names = append(names, r.Metadata.Name)
	}
	return names
}

func wantResults(t *testing.T, got map[string]string, want string) {
	t.Helper()
	lines := make([]string, 0, len(got))
	for name, result := range got {
		lines = append(lines, name+": "+result)
	}
	slices.Sort(lines)
	if text := strings.Join(lines, ", "); text != want {
		t.Errorf("results %q, want %q", text, want)
	}
}

// Each registry is changed with its own permission, and what is refused for one does not end the others.
func TestBulk(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	uids := map[string]string{}
	for name, password := range map[string]string{"a": "first 7712 secret", "b": "first 7712 secret", "c": "other 3391 secret"} {
		uids[name] = admin.make(registriesPath, newRegistry(name, spec("https://"+name+".example.com",
			object{"type": "basic", "username": "robot", "password": password}, nil)))
	}
	wantResults(t, admin.bulk(object{"action": "labels", "uids": []string{uids["a"], uids["b"], uids["a"], noUID},
		"labels": object{"team": "x", "none": nil}}), ": refused ResourceNotFound, a: done, b: done")
	wantResults(t, admin.bulk(object{"action": "check", "filter": object{"label": "team=x"}}), "a: done, b: done")
	same := object{"action": "credentials", "sameCredentialsAs": uids["b"], "dryRun": true}
	wantResults(t, admin.bulk(same), "a: matched, b: matched")
	wantResults(t, admin.bulk(object{"action": "credentials", "sameCredentialsAs": uids["b"],
		"auth": object{"type": "basic", "username": "robot", "password": "entirely 5516 new"}}), "a: done, b: done")
	wantResults(t, admin.bulk(same), "a: matched, b: matched")
	wantResults(t, admin.bulk(object{"action": "delete", "filter": object{}, "dryRun": true}), "a: matched, b: matched, c: matched")
	wantResults(t, admin.bulk(object{"action": "delete", "filter": object{"label": "team"}}), "a: done, b: done")
	wantResults(t, admin.bulk(object{"action": "delete", "filter": object{}, "dryRun": true}), "c: matched")
}

// A member of one project changes and sees only the registries of this project.
func TestBulkInProject(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	own, other := newScene(t, admin, "own"), newScene(t, admin, "other")
	var created struct{ APIKey string }
	admin.do(http.MethodPost, "/v1/apiKeys", `{"metadata":{"name":"k"},"spec":{"expiry":"`+tomorrow()+
		`","scope":"registries","projectUid":"`+own.project+`"}}`).Want(http.StatusCreated).Into(&created)
	key := withKey(t, server, created.APIKey)
	for _, list := range []struct {
		by      person
		project string
		want    []string
	}{{admin, own.project, []string{"h-own", "r-own"}}, {admin, other.project, []string{"h-other", "r-other"}}, {admin, noUID, nil},
		{key, own.project, []string{"h-own", "r-own"}}, {key, other.project, nil}, {key, noUID, nil}} {
		if got := list.by.listed("project=" + list.project); !slices.Equal(got, list.want) {
			t.Errorf("in the project %s: %q, want %q", list.project, got, list.want)
		}
	}
	admin.do(http.MethodGet, summaryPath+"?project=own", "").Want(http.StatusBadRequest)
	wantResults(t, admin.bulk(object{"action": "delete", "filter": object{"project": own.project}, "dryRun": true}),
		"h-own: matched, r-own: matched")
	wantResults(t, key.bulk(object{"action": "delete", "filter": object{"project": other.project}, "dryRun": true}), "")
	wantResults(t, key.bulk(object{"action": "delete", "filter": object{}, "dryRun": true}), "h-own: matched, r-own: matched")
	wantResults(t, key.bulk(object{"action": "delete", "uids": []string{own.registry, other.registry}}),
		": refused ResourceNotFound, r-own: done")
	admin.get(registriesPath[:len(registriesPath)-len("basic")]+other.registry+"/basic", new(api.OCIRegistry))
}

// Comparing secrets is limited, so that stored guesses of a password are not found out.
func TestBulkDoesNotCompareManySecrets(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	target := ""
	for i := range 60 {
		target = admin.make(registriesPath, newRegistry(fmt.Sprintf("guess-%d", i), spec("https://registry.example.com",
			object{"type": "basic", "username": "robot", "password": fmt.Sprintf("guess of %d", i)}, nil)))
	}
	body := instance.JSON(object{"action": "credentials", "sameCredentialsAs": target, "dryRun": true})
	admin.do(http.MethodPost, bulkPath, body).Want(http.StatusOK)
	wantRetryAfter(t, admin.do(http.MethodPost, bulkPath, body).Want(http.StatusTooManyRequests))
}

func TestBulkRefusals(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	good := []string{"Authorization", client.Login().Authorization}
	body := instance.JSON(object{"action": "check", "filter": object{}})
	client.Do(http.MethodPost, bulkPath, body, append(good, "ProjectUid", noUID)...).Want(http.StatusNotFound)
	client.Do(http.MethodPost, bulkPath, body, append(good, "Content-Type", "text/plain")...).Want(http.StatusUnsupportedMediaType)
	client.Do(http.MethodPost, bulkPath, strings.Repeat(" ", 1<<20+1), good...).Want(http.StatusRequestEntityTooLarge)
	client.Do(http.MethodPost, bulkPath, instance.JSON(object{"action": "credentials", "sameCredentialsAs": noUID, "dryRun": true}),
		good...).Want(http.StatusNotFound)
	for _, wrong := range []struct {
		body   object
		fields []string
	}{
		{object{"action": "burn"}, []string{"action", "uids"}},
		{object{"action": "check", "uids": []string{noUID}, "filter": object{}}, []string{"uids"}},
		{object{"action": "check", "uids": slices.Repeat([]string{noUID}, 1001)}, []string{"uids"}},
		{object{"action": "labels", "filter": object{"health": "bad"}}, []string{"filter.health", "labels"}},
		{object{"action": "credentials", "uids": []string{noUID}, "auth": object{"type": "basic", "username": "a"}},
			[]string{"auth.password"}},
		{object{"action": "credentials", "uids": []string{noUID}, "auth": object{"type": "token", "token": "********"}},
			[]string{"auth.token"}},
		{object{"action": "credentials", "uids": []string{noUID}, "auth": object{}}, []string{"auth"}},
		{object{"action": "credentials", "uids": []string{noUID}, "auth": object{"type": "noAuth"}}, []string{"auth"}},
	} {
		wantFields(t, client.Do(http.MethodPost, bulkPath, instance.JSON(wrong.body), good...).Want(http.StatusBadRequest).Fault(),
			wrong.fields...)
	}
}
