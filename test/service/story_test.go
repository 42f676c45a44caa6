package service_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

var uuid4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// One user's day, from the first start to the next.
func TestStory(t *testing.T) {
	t.Parallel()
	registry := secured(t)
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)

	tokens := client.Login()
	if tokens.RefreshToken == "" {
		t.Error("logging in gives no refresh token")
	}
	tokens = storyRefresh(t, client, tokens)
	storyValidate(t, client, tokens, registry)
	storyOtherCredentials(t, server, client, tokens, registry)

	var components struct{ Components []any }
	client.Do(http.MethodGet, alerts, "", "Authorization", tokens.Authorization, "Content-Type",
		"application/json").Want(http.StatusOK).Into(&components)
	if len(components.Components) != 3 {
		t.Errorf("alert components are %v, want three", components.Components)
	}

	if code := server.Stop(syscall.SIGINT); code != 0 {
		t.Errorf("Ctrl-C: exit code %d, want 0\n%s", code, server.Log())
	}
	storySecondStart(t, server, tokens)
}

func storyRefresh(t *testing.T, client *instance.Client, first instance.Tokens) instance.Tokens {
	t.Helper()
	second := client.Do(http.MethodGet, refresh+first.RefreshToken, "").Want(http.StatusOK).Tokens()
	if second.Authorization == first.Authorization || second.RefreshToken == first.RefreshToken || second.RefreshToken == "" {
		t.Error("a refresh does not give two new tokens")
	}
	retried := client.Do(http.MethodGet, refresh+first.RefreshToken, "").Want(http.StatusOK).Tokens()
	if retried.RefreshToken != second.RefreshToken {
		t.Error("a legitimate retry gets another successor than the first response had")
	}
	third := client.Do(http.MethodGet, refresh+second.RefreshToken, "").Want(http.StatusOK).Tokens()
	for _, token := range []string{first.Authorization, second.Authorization, third.Authorization} {
		client.Do(http.MethodGet, alerts, "", "Authorization", token).Want(http.StatusOK)
	}
	// The public clients know only the authorization token, and renew with it.
	renewed := client.Do(http.MethodGet, refresh+third.Authorization, "").Want(http.StatusOK).Tokens()
	if renewed.Authorization == "" || renewed.RefreshToken != "" {
		t.Errorf("renewing by an authorization token returns %t, %t; want an authorization token alone", renewed.Authorization != "",
			renewed.RefreshToken != "")
	}
	return third
}

func storyValidate(t *testing.T, client *instance.Client, tokens instance.Tokens, registry realregistry.Access) {
	t.Helper()
	good := basic(registry.Endpoint, ada, adaPassword, trusting(registry.CA), content("charts"))
	response := client.Do(http.MethodPost, validate, good, "Authorization", tokens.Authorization).Want(http.StatusNoContent)
	first := response.Header.Get("AuditUid")
	if !uuid4.MatchString(first) {
		t.Errorf("AuditUid is %q, want a random UUID", first)
	}
	response = client.Do(http.MethodPost, validate, good, "Authorization", "Bearer "+tokens.Authorization).Want(http.StatusNoContent)
	if response.Header.Get("AuditUid") == first {
		t.Error("two validations have one AuditUid")
	}

	wrong := basic(registry.Endpoint, ada, "wrong horse", trusting(registry.CA))
	response = client.Do(http.MethodPost, validate, wrong, "Authorization", tokens.Authorization).Want(http.StatusUnprocessableEntity)
	f := response.Fault()
	if f.Code != "RegistryAuthFailed" || f.Details.Field != "auth.password" || f.Details.Stage != "auth" ||
		f.Details.Reason != "refused" || f.Details.Hint == "" {
		t.Errorf("wrong password: %s", response.Body)
	}
	if strings.Contains(response.Body, "wrong horse") {
		t.Errorf("the response repeats the password: %s", response.Body)
	}

	for body, valid := range map[string]bool{good: true, wrong: false} {
		var report struct {
			Valid  bool
			Stages []struct{ Name, Status string }
		}
		client.Do(http.MethodPost, diagnose, body, "Authorization", tokens.Authorization).Want(http.StatusOK).Into(&report)
		if report.Valid != valid || len(report.Stages) != 7 {
			t.Errorf("diagnose: valid %t with %d stages, want %t with 7", report.Valid, len(report.Stages), valid)
		}
	}
}

func storyOtherCredentials(t *testing.T, server *instance.Server, client *instance.Client, tokens instance.Tokens,
	registry realregistry.Access) {
	t.Helper()
	key := server.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", instance.Email)
	good := basic(registry.Endpoint, ada, adaPassword, trusting(registry.CA))
	client.Do(http.MethodPost, validate, good, "ApiKey", key).Want(http.StatusNoContent)
	client.Do(http.MethodPost, validate, good, "ApiKey", key, "Authorization", tokens.Authorization).Want(http.StatusNoContent)

	project := uidOf(t, server.Admin(t, "", "project", "list", "--org", instance.Org, "--output", "json"), "Default")
	client.Do(http.MethodPost, validate, good, "ApiKey", key, "ProjectUid", project).Want(http.StatusNoContent)
	client.Do(http.MethodGet, alerts, "", "ApiKey", key, "ProjectUid", project).Want(http.StatusOK)

	server.Admin(t, "", "org", "create", "Rival")
	foreign := uidOf(t, server.Admin(t, "", "project", "list", "--org", "Rival", "--output", "json"), "Default")
	for _, uid := range []string{foreign, "00000000-0000-4000-8000-000000000000"} {
		f := client.Do(http.MethodPost, validate, good, "ApiKey", key, "ProjectUid", uid).Want(http.StatusNotFound).Fault()
		if f.Code != "ProjectNotFoundInTenant" {
			t.Errorf("project %s: %s, want ProjectNotFoundInTenant", uid, f.Code)
		}
	}

	server.Admin(t, "twelve owls under the bridge\n", "user", "create", "--org", instance.Org, "--email", "mate@acme.example", "--role",
		"member", "--password-stdin")
	other := server.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", "mate@acme.example")
	f := client.Do(http.MethodGet, alerts, "", "ApiKey", other, "Authorization", tokens.Authorization).Want(http.StatusUnauthorized).Fault()
	if f.Code != "UnAuthorizedAccess" {
		t.Errorf("two users' credentials at once: %s, want UnAuthorizedAccess", f.Code)
	}
	f = client.Do(http.MethodGet, alerts, "", "ApiKey", other, "ProjectUid", project).Want(http.StatusNotFound).Fault()
	if f.Code != "ProjectNotFoundInTenant" {
		t.Errorf("a project that a member may not see: %s, want ProjectNotFoundInTenant", f.Code)
	}
}

func storySecondStart(t *testing.T, before *instance.Server, tokens instance.Tokens) {
	t.Helper()
	server := instance.Start(t, instance.Options{DataDir: before.DataDir})
	if out := server.Out() + server.Log(); strings.Contains(strings.ToLower(out), "password") {
		t.Errorf("the second start speaks of a password:\n%s", out)
	}
	client := server.Client(t)
	client.Do(http.MethodGet, alerts, "", "Authorization", tokens.Authorization).Want(http.StatusOK)
	client.Do(http.MethodGet, refresh+tokens.RefreshToken, "").Want(http.StatusOK)
	if code := server.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit code %d, want 0", code)
	}
	storyNoSecretStored(t, before, server, tokens)
}

// Neither log nor data directory holds what would open a session or a registry.
func storyNoSecretStored(t *testing.T, before, after *instance.Server, tokens instance.Tokens) {
	t.Helper()
	secrets := map[string]string{
		"password": instance.Password, "registry password": adaPassword, "authorization token": tokens.Authorization,
		"refresh token": tokens.RefreshToken,
	}
	places := map[string]string{"the log": before.Log() + before.Out() + after.Log() + after.Out()}
	err := filepath.WalkDir(before.DataDir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want none for others", entry.Name(), info.Mode())
		}
		data, err := os.ReadFile(path)
		places[entry.Name()] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range places {
		for name, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds the %s", place, name)
			}
		}
	}
}

// uidOf finds a row by its name in a list command's JSON.
func uidOf(t *testing.T, list, name string) string {
	t.Helper()
	var rows []struct{ UID, Name string }
	if err := json.Unmarshal([]byte(list), &rows); err != nil {
		t.Fatalf("read the list %s: %v", list, err)
	}
	for _, row := range rows {
		if row.Name == name {
			return row.UID
		}
	}
	t.Fatalf("no %s in %s", name, list)
	return ""
}
