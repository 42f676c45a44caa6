package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/test/healthhistory"
	"github.com/regwarden/regwarden/test/instance"
)

// many is a service with many registries, and an object of each other kind.
type many struct {
	URL   string   `json:"url"`
	Pages []string `json:"pages"` // the address of each page of pages.txt
}

const (
	manyRegistries = 303
	manyFailing    = 33
)

// causes are those of the failing registries.
var causes = []store.HealthResult{
	{Code: string(regcheck.CodeUnreachable), Stage: "connect", Reason: "refused", Field: "endpoint", Message: "The connection was refused.",
		Hint: "Set endpoint to the address at which the registry listens."},
	{Code: string(regcheck.CodeAuthFailed), Stage: "authenticate", Reason: "refused", Field: "auth.password",
		Message: "The registry rejected the credentials.", Hint: "Correct auth.username and auth.password."},
	{Code: string(regcheck.CodeContentNotFound), Stage: "content", Reason: "notFound", Field: "baseContentPath",
		Message: "The registry has no such repository.", Hint: "Correct baseContentPath."},
}

// startMany starts a service with registries that were checked several times, of which some fail and some expire soon.
func startMany(t *testing.T, s service) many {
	t.Helper()
	server := start(t, "", "--watch-interval", "0", "--check-per-minute", "1000")
	admin := newAdmin(t, server)
	uids, numbers := storeObjects(t, admin, s), map[string]int{}
	for i := range manyRegistries {
		host := i % 100
		if i < manyFailing { // outages of several registries each
			host = i % 6
		}
		r := registry{Endpoint: fmt.Sprintf("https://registry-%d.example.com", host), Username: "robot", Password: "a password"}
		numbers[admin.storeRegistry(fmt.Sprintf("registry-%d", i), r)] = i
	}
	server.Stop(syscall.SIGTERM)
	healthhistory.Add(t, server.DataDir, healthhistory.Days(30, 5), func(uid string, check int) (store.HealthResult, bool) {
		i, result := numbers[uid], store.HealthResult{Valid: true}
		if i < manyFailing && check > i%4 {
			result = causes[i%len(causes)]
		}
		result.CertificateNotAfter = time.Now().AddDate(0, 0, 5+i).Truncate(time.Hour)
		result.CertificateExpiresSoon = i < 25
		return result, true
	})
	server = start(t, server.DataDir, "--watch-interval", "0")
	for uid, i := range numbers {
		if i == 0 { // it fails
			uids["/console/registries/{uid}"] = uid
		}
	}
	return many{server.URL, addresses(t, uids)}
}

// storeObjects stores an object of each kind other than registries, and returns what stands for parameters in addresses.
func storeObjects(t *testing.T, admin administrator, s service) map[string]string {
	t.Helper()
	get := func(path string, into any) {
		t.Helper()
		admin.client.Do(http.MethodGet, path, "", "Authorization", admin.token).Want(http.StatusOK).Into(into)
	}
	create := func(path string, body map[string]any) string {
		t.Helper()
		var created struct{ UID string }
		admin.post(path, body).Want(http.StatusCreated).Into(&created)
		return created.UID
	}
	named := func(name string) map[string]any { return map[string]any{"name": name} }
	uids := map[string]string{"{group}": "registries", "{type}": "slack", "{component}": "RegistryHealth"}
	project := create("/v1/projects", map[string]any{"metadata": named("Staging")})
	user := create("/v1/users", map[string]any{"spec": map[string]any{"emailId": member, "password": memberPassword}})
	admin.client.Do(http.MethodPut, "/v1/users/"+user+"/projects", instance.JSON(map[string]any{"projects": []any{
		map[string]any{"projectUid": project, "roles": []string{"member"}}}}), "Authorization", admin.token).Want(http.StatusNoContent)
	uids["{project}"], uids["/console/projects/{uid}"], uids["/console/users/{uid}"] = project, project, user
	uids["/console/api-keys/{uid}"] = create("/v1/apiKeys", map[string]any{"metadata": named("pipeline"),
		"spec": map[string]any{"expiry": time.Now().Add(5 * 24 * time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")}})
	uids["{channel}"] = create("/v1/projects/"+project+"/alerts/RegistryHealth", map[string]any{"type": "http", "isActive": true,
		"http": map[string]any{"url": "https://hooks.example.com/x", "method": "POST"}})
	uids["/console/roles/{uid}"] = create("/v1/roles", map[string]any{"metadata": named("Night shift"),
		"spec": map[string]any{"scope": "tenant", "permissions": []string{"registry.get"}}})
	uids["/console/teams/{uid}"] = create("/v1/teams", map[string]any{"metadata": named("Operators"), "spec": map[string]any{}})
	uids["/console/trust-rules/{uid}"] = create("/v1/trustRules", map[string]any{"metadata": named("github"),
		"spec": map[string]any{"issuer": "https://token.actions.githubusercontent.com", "audience": "regwarden",
			"claims": map[string]any{"repository": "acme/app"}}})
	admin.client.Do(http.MethodPut, "/v1/sso", instance.JSON(map[string]any{"spec": map[string]any{"issuer": "https://127.0.0.1:1",
		"name": "Example", "clientId": "regwarden", "clientSecret": "a secret", "disabled": true}}),
		"Authorization", admin.token).Want(http.StatusNoContent)
	var invited struct{ Token string }
	admin.post("/v1/users/"+user+"/invitation", map[string]any{}).Want(http.StatusCreated).Into(&invited)
	uids["/console/invitation/{key}"] = invited.Token
	admin.post("/v1/registries/oci/basic/validate", map[string]any{"endpoint": s.Hostile, "providerType": "helm",
		"auth": map[string]any{"type": "noAuth"}})
	var audits struct {
		Items []struct {
			Metadata struct{ UID string }
			Spec     struct{ Action string }
		}
	}
	get("/v1/audits?limit=5", &audits)
	uids["/console/audit/{uid}"], uids["/console/check/{uid}"] = audits.Items[0].Metadata.UID, audits.Items[0].Metadata.UID
	var orgs struct {
		Items []struct{ Metadata struct{ UID string } }
	}
	get("/v1/orgs", &orgs)
	uids["{org}"] = orgs.Items[0].Metadata.UID
	return uids
}

// addresses returns the address of each page of pages.txt.
func addresses(t *testing.T, uids map[string]string) (all []string) {
	t.Helper()
	text, err := os.ReadFile("pages.txt")
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(text)) {
		path = strings.TrimSpace(path)
		for part := range strings.SplitSeq(path, "/") {
			if !strings.HasPrefix(part, "{") {
				continue
			}
			before, _, _ := strings.Cut(path, part)
			value, ok := uids[before+part]
			if !ok {
				value, ok = uids[part]
			}
			if !ok {
				t.Fatalf("%s: storeObjects stores nothing for %s", path, part)
			}
			path = strings.Replace(path, part, url.PathEscape(value), 1)
		}
		all = append(all, path)
	}
	return all
}
