package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/jobtokens"
	"github.com/regwarden/regwarden/test/testca"
)

// loginWorld is a server that trusts an issuer of tokens for jobs of acme/app, and a release whose program notes its arguments.
type loginWorld struct {
	server *instance.Server
	issuer *jobtokens.Issuer
	r      published
	dir    string // a repository
	notes  string // file
	inputs map[string]string
}

func newLoginWorld(t *testing.T) loginWorld {
	t.Helper()
	ca, dir := testca.New(t, "company"), repository(t)
	pair := ca.Issue(t, testca.Options{})
	for name, text := range map[string]string{"company.pem": ca.PEM(), "server.pem": pair.Certificate, "server.key": pair.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := loginWorld{issuer: jobtokens.Start(t), dir: dir, notes: filepath.Join(t.TempDir(), "arguments")}
	w.server = instance.Start(t, instance.Options{Insecure: true,
		Flags: []string{"--tls-cert", filepath.Join(dir, "server.pem"), "--tls-key", filepath.Join(dir, "server.key")}})
	w.server.Admin(t, "", "trust", "create", "ci", "--issuer", w.issuer.URL, "--ca", w.issuer.CA, "--claim", "repository=acme/app",
		"--audience", w.server.URL, "--org", instance.Org, "--role", "admin")
	w.r = newRelease(t, fmt.Appendf(nil, "#!/bin/sh\necho \"$@\" >>%s\nexec %s \"$@\"\n", w.notes, instance.Binary(t)))
	w.inputs = map[string]string{"version": releasedVersion, "checksums": w.r.checksums, "paths": "config.json",
		"server": w.server.URL, "org": instance.Org, "server-ca": "company.pem"}
	return w
}

// noSecrets fails if output or arguments have a token.
func (w loginWorld) noSecrets(t *testing.T, out string) {
	t.Helper()
	if text := out + string(mustRead(t, w.notes)); strings.Contains(text, "eyJ") || strings.Contains(text, "key of the job") {
		t.Errorf("a secret is shown:\n%s", text)
	}
}

// A job of GitHub Actions logs in by its own token, and later steps have the program and the login.
func TestGitHubActionLogsIn(t *testing.T) {
	w, action := newLoginWorld(t), readAction(t)
	files, path, variables := runnerFiles(t)
	out, err := action.run(t, w.r, w.dir, append(files, w.issuer.GitHub(t, "acme/app")...), w.inputs)
	if exitCode(err) != 1 || !strings.Contains(out, "as ci (admin)") || !strings.Contains(out, "::error file=config.json,") {
		t.Fatalf("%v\n%s", err, out)
	}
	w.noSecrets(t, out)
	later := w.r
	later.path = strings.TrimSpace(string(mustRead(t, path))) + string(os.PathListSeparator) + w.r.path
	env := strings.Split(strings.TrimSpace(string(mustRead(t, variables))), "\n")
	if out, err := later.run(t, w.dir, env, "bash", "-ec", "regwarden whoami; regwarden registry list"); err != nil ||
		!strings.Contains(out, w.server.URL) {
		t.Errorf("%v\n%s", err, out)
	}
	_, contexts, _ := strings.Cut(env[0], "=")
	if m := mode(t, contexts); m.Perm() != 0o600 {
		t.Errorf("the file of logins has mode %o", m)
	}
	if out, err := w.r.run(t, w.dir, nil, instance.Binary(t), "whoami"); err == nil {
		t.Errorf("the home directory has a login:\n%s", out)
	}
}

// A job that may not log in fails before it scans.
func TestGitHubActionRefusesLogins(t *testing.T) {
	w, action := newLoginWorld(t), readAction(t)
	for name, row := range map[string]struct {
		env  []string
		code int
		want string
	}{
		"without the permission": {nil, 2, "give the job the permission id-token: write"},
		"another repository":     {w.issuer.GitHub(t, "acme/other"), 1, "No trust rule of this organization accepts the token"},
	} {
		files, _, _ := runnerFiles(t)
		out, err := action.run(t, w.r, w.dir, append(files, row.env...), w.inputs)
		if exitCode(err) != row.code || !strings.Contains(out, row.want) || strings.Contains(out, "::error") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		w.noSecrets(t, out)
	}
	w.inputs["server"], w.inputs["paths"] = "", ""
	files, _, variables := runnerFiles(t)
	if out, err := action.run(t, w.r, w.dir, files, w.inputs); err != nil || out != "" {
		t.Errorf("neither a server nor paths: %v\n%s", err, out)
	}
	if _, err := os.Stat(variables); err == nil {
		t.Error("without a server, later steps have a variable")
	}
}

// A job of GitLab logs in by the token that id_tokens give it, and so does a job of the user that extends the template's.
func TestGitLabTemplateLogsIn(t *testing.T) {
	w := newLoginWorld(t)
	jobs := readTemplate(t, w.inputs)
	token := func(repository, id string) []string {
		return []string{"REGWARDEN_ID_TOKEN=" + w.issuer.Token(t, repository, w.server.URL, id)}
	}
	out, err := w.r.runJob(t, w.dir, token("acme/app", "scan"), jobs, jobs["regwarden-scan"])
	if exitCode(err) != 1 || !strings.Contains(out, "as ci (admin)") {
		t.Errorf("%v\n%s", err, out)
	}
	exist(t, w.dir, "regwarden-junit.xml")
	own := gitlabJob{Extends: ".regwarden", Script: []string{"regwarden whoami", "regwarden registry list"}}
	out, err = w.r.runJob(t, w.dir, token("acme/app", "own"), jobs, own)
	if err != nil || !strings.Contains(out, w.server.URL) {
		t.Errorf("%v\n%s", err, out)
	}
	w.noSecrets(t, out)
	for name, row := range map[string]struct {
		env  []string
		code int
		want string
	}{
		"without id_tokens": {nil, 2, "add to the job: id_tokens: {REGWARDEN_ID_TOKEN: {aud: " + w.server.URL + "}}"},
		"another project":   {token("acme/other", "other"), 1, "No trust rule of this organization accepts the token"},
		"a used token":      {token("acme/app", "own"), 1, "No trust rule of this organization accepts the token"},
	} {
		out, err := w.r.runJob(t, w.dir, row.env, jobs, own)
		if exitCode(err) != row.code || !strings.Contains(out, row.want) || strings.Contains(out, "REGISTRY") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		w.noSecrets(t, out)
	}
}

// The hook of pre-commit reads files of the person's machine. It neither needs nor uses the login of the person.
func TestPreCommitHookUsesNoLogin(t *testing.T) {
	w, home := newLoginWorld(t), t.TempDir()
	env := []string{"REGWARDEN_CONTEXTS=" + filepath.Join(home, "contexts.json"),
		"REGWARDEN_ID_TOKEN=" + w.issuer.Token(t, "acme/app", w.server.URL, "1")}
	if out, err := w.r.run(t, w.dir, env, instance.Binary(t), "login", w.server.URL, "--org", instance.Org, "--gitlab", "--ca",
		"company.pem"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	contexts := string(mustRead(t, filepath.Join(home, "contexts.json")))
	hook := hookOf(t)
	with, _ := w.r.run(t, w.dir, env, hook, "--checksums="+w.r.checksums, "config.json")
	w.server.Stop(syscall.SIGTERM)
	without, err := w.r.run(t, w.dir, nil, hook, "--checksums="+w.r.checksums, "config.json")
	if exitCode(err) != 1 || with != without || contexts != string(mustRead(t, filepath.Join(home, "contexts.json"))) {
		t.Errorf("with a login:\n%s\nwithout one, and without a server: %v\n%s", with, err, without)
	}
}
