package service_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/jobtokens"
)

// job runs a command as a job of a platform, with a home directory of its own.
func job(t *testing.T, home, stdin string, env []string, args ...string) instance.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := instance.Command(ctx, t, args...)
	cmd.Env = append(append(cmd.Env, "XDG_CONFIG_HOME="+home), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return instance.Result{Out: out.String(), Err: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// TestJobsLogInWithoutKey creates a rule with the command line, and logs in as a job of each platform does.
func TestJobsLogInWithoutKey(t *testing.T) {
	t.Parallel()
	server, p := instance.Start(t, instance.Options{}), jobtokens.Start(t)
	server.Admin(t, "", "trust", "create", "ci", "--issuer", p.URL, "--ca", p.CA, "--claim", "repository=acme/app", "--audience",
		server.URL, "--org", instance.Org, "--role", "admin")
	written := func(id string) string {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(p.Token(t, "acme/app", server.URL, id)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pod, mounted := written("pod"), written("mounted")
	for name, how := range map[string]struct {
		stdin string
		flags []string
		env   []string
	}{
		"standard input": {stdin: p.Token(t, "acme/app", server.URL, "stdin"), flags: []string{"--oidc-token", "-"}},
		"file":           {flags: []string{"--oidc-token", pod}},
		"github":         {flags: []string{"--github"}, env: p.GitHub(t, "acme/app")},
		"gitlab": {flags: []string{"--gitlab"}, env: []string{"REGWARDEN_ID_TOKEN=" + p.Token(t, "acme/app", server.URL,
			"gitlab")}},
		"kubernetes": {flags: []string{"--kubernetes"}, env: []string{"REGWARDEN_ID_TOKEN_FILE=" + mounted}},
	} {
		home := t.TempDir()
		login := append([]string{"login", server.URL, "--org", instance.Org}, how.flags...)
		if result := job(t, home, how.stdin, how.env, login...); result.Code != 0 || !strings.Contains(result.Err, "as ci (admin)") {
			t.Errorf("%s: exit code %d\n%s", name, result.Code, result.Err)
			continue
		}
		if result := job(t, home, "", nil, "registry", "list"); result.Code != 0 {
			t.Errorf("%s: registry list: exit code %d\n%s", name, result.Code, result.Err)
		}
		if result := job(t, home, "", nil, "apikey", "create", "own"); result.Code == 0 {
			t.Errorf("%s: a job got an API key", name)
		}
		stored, err := os.ReadFile(filepath.Join(home, "regwarden", "contexts.json"))
		if err != nil || strings.Contains(string(stored), "refreshToken") {
			t.Errorf("%s: stored %s, %v", name, stored, err)
		}
	}
	used := []string{"REGWARDEN_ID_TOKEN_FILE=" + pod}
	result := job(t, t.TempDir(), "", used, "login", server.URL, "--org", instance.Org, "--kubernetes")
	if result.Code == 0 || !strings.Contains(result.Err, "No trust rule of this organization accepts the token") {
		t.Errorf("a token was accepted twice: exit code %d\n%s", result.Code, result.Err)
	}
	evil := p.Token(t, "evil/app", server.URL, "evil")
	result = job(t, t.TempDir(), evil, nil, "login", server.URL, "--org", instance.Org, "--oidc-token", "-")
	if result.Code == 0 || !strings.Contains(result.Err, "No trust rule of this organization accepts the token") {
		t.Errorf("another repository: exit code %d\n%s", result.Code, result.Err)
	}
	if list := server.Admin(t, "", "audit", "list", "--org", instance.Org, "-o", "json"); !strings.Contains(list, "claim repository") ||
		!strings.Contains(list, "alreadyUsed") {
		t.Errorf("the audit log lacks the reason: %s", list)
	}
	server.Admin(t, "", "trust", "delete", "ci", "--org", instance.Org, "--yes")
}

// Rules, identities and sessions belong to an organization, not to its name: another one that takes the name gets nothing of them, and
// logins by that name are its own.
func TestRenamedOrganizationKeepsItsTrust(t *testing.T) {
	t.Parallel()
	server, p := instance.Start(t, instance.Options{}), jobtokens.Start(t)
	admin, _ := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	server.Admin(t, "", "trust", "create", "ci", "--issuer", p.URL, "--ca", p.CA, "--claim", "repository=acme/app", "--audience",
		server.URL, "--org", instance.Org, "--role", "admin")
	admin.do("PUT", "/v1/sso", instance.JSON(object{"spec": object{"issuer": p.URL, "clientId": "regwarden"}})).Want(http.StatusNoContent)
	const renamed = "Acme EMEA"
	server.Admin(t, "", "org", "rename", instance.Org, renamed)
	server.Admin(t, "", "org", "create", instance.Org)
	exchange := func(org, id string) instance.Result {
		return job(t, t.TempDir(), p.Token(t, "acme/app", server.URL, id), nil, "login", server.URL, "--org", org, "--oidc-token", "-")
	}
	if result := exchange(instance.Org, "taken"); result.Code == 0 || !strings.Contains(result.Err, "No trust rule") {
		t.Errorf("the organization that took the name: exit code %d\n%s", result.Code, result.Err)
	}
	if result := exchange(renamed, "renamed"); result.Code != 0 {
		t.Errorf("the renamed organization: exit code %d\n%s", result.Code, result.Err)
	}
	admin.do("GET", alerts, "").Want(http.StatusOK)
	for org, want := range map[string]struct{ password, provider int }{
		instance.Org: {http.StatusUnauthorized, http.StatusOK},       // offers passwords only
		renamed:      {http.StatusOK, http.StatusServiceUnavailable}, // asks the provider, whose authority is not trusted
	} {
		admin.client.Do("POST", "/v1/auth", instance.Credentials(instance.Email, org, instance.Password)).Want(want.password)
		if status := howToLogIn(t, server, org); status != want.provider {
			t.Errorf("%s: a program that asks how to log in gets %d", org, status)
		}
	}
}
