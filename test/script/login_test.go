package script_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/instance"
)

// A login prompts for what is missing. Ctrl-C at a prompt ends it, and the terminal shows again what is typed.
func TestLoginPrompts(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	type step struct{ await, typed string }
	email, password, org := step{"Email: ", instance.Email + "\n"}, step{"Password: ", instance.Password + "\n"},
		step{"Organization: ", instance.Org + "\n"}
	for _, tt := range []struct {
		name  string
		flags []string
		steps []step
		code  int
		shows string
	}{
		{"everything", nil, []step{email, password, org}, 0,
			"Logged in to " + server.URL + " as " + instance.Email + " (admin) in the organization Acme;"},
		{"password", []string{"--email", instance.Email, "--org", instance.Org}, []step{password}, 0, "Logged in to "},
		{"Ctrl-C at the email", nil, []step{{"Email: ", "lanterns\x03"}}, 130, "interrupted"},
		{"Ctrl-C at the password", nil, []step{email, {"Password: ", "lanterns\x03"}}, 130, "interrupted"},
		{"Ctrl-C at the organization", nil, []step{email, password, {"Organization: ", "\x03"}}, 130, "interrupted"},
		{"Ctrl-C at the API key", []string{"--api-key-stdin"}, []step{{"API key: ", "lanterns\x03"}}, 130, "interrupted"},
		{"no email", nil, []step{{"Email: ", "\n"}}, 2, "nothing was entered"},
		{"Ctrl-D at the email", nil, []step{{"Email: ", "\x04"}}, 2, "nothing was entered\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			terminal := instance.OpenTerminal(t)
			cmd := instance.StartInTerminal(t, terminal, append([]string{"login", server.URL}, tt.flags...)...)
			for _, s := range tt.steps {
				terminal.AwaitText(t, s.await)
				if s.await != "Email: " && s.await != "Organization: " {
					terminal.AwaitPrompt(t)
				}
				terminal.Type(t, s.typed)
			}
			_ = cmd.Wait() // the exit code is compared below
			if !terminal.Echoes(t) {
				t.Error("the terminal does not show what is typed")
			}
			_ = terminal.Slave.Close() // the last writer gone, the lines end
			for range terminal.Lines {
			}
			shown := terminal.Shown()
			secretShown := strings.Contains(strings.ReplaceAll(shown, "Email: lanterns", ""), "lanterns")
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(shown, tt.shows) || secretShown {
				t.Errorf("exit code %d, want %d, shows %q", code, tt.code, shown)
			}
		})
	}
}

// account is a user of the command line with a directory of configurations.
type account struct {
	t      *testing.T
	config string
}

func newAccount(t *testing.T) account { return account{t, t.TempDir()} }

func (u account) run(stdin string, args ...string) instance.Result {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), time.Minute)
	defer cancel()
	cmd := instance.Command(ctx, u.t, args...)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+u.config)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code says more
	return instance.Result{Out: out.String(), Err: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

func (u account) logIn(server *instance.Server) {
	u.t.Helper()
	result := u.run(instance.Password, "login", server.URL, "--org", instance.Org, "--email", instance.Email, "--password-stdin")
	if result.Code != 0 {
		u.t.Fatalf("exit code %d\n%s", result.Code, result.Err)
	}
}

func (u account) file() string { return filepath.Join(u.config, "regwarden", "contexts.json") }

// credentials returns the secrets in the file of contexts.
func (u account) credentials() []string {
	u.t.Helper()
	content, err := os.ReadFile(u.file())
	if err != nil {
		u.t.Fatal(err)
	}
	var found []string
	for _, match := range regexp.MustCompile(`"(?:token|refreshToken|apiKey)": "([^"]+)"`).FindAllStringSubmatch(string(content), -1) {
		found = append(found, match[1])
	}
	return found
}

// expireToken replaces the token in the file by one that has expired.
func (u account) expireToken() {
	u.t.Helper()
	content, err := os.ReadFile(u.file())
	if err != nil {
		u.t.Fatal(err)
	}
	expired := "h." + base64.RawURLEncoding.EncodeToString([]byte(`{"iat":1000000000,"exp":1000000900}`)) + ".s"
	content = regexp.MustCompile(`"token": "[^"]+"`).ReplaceAll(content, []byte(`"token": "`+expired+`"`))
	if err := os.WriteFile(u.file(), content, 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// Commands that run at once with an expired token refresh it once, and the session goes on.
func TestConcurrentCommandsRefreshOnce(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	u := newAccount(t)
	u.logIn(server)
	u.expireToken()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if result := u.run("", "project", "list"); result.Code != 0 || !strings.Contains(result.Out, "Default") {
				t.Errorf("exit code %d: %s%s", result.Code, result.Out, result.Err)
			}
		})
	}
	all.Wait()
	var refreshes []struct{ Outcome string }
	records := server.Admin(t, "", "audit", "list", "--action", "auth.refresh", "--output", "json")
	if err := json.Unmarshal([]byte(records), &refreshes); err != nil {
		t.Fatal(err)
	}
	if len(refreshes) != 1 || refreshes[0].Outcome != "succeeded" {
		t.Errorf("refreshes: %s", records)
	}
	if result := u.run("", "whoami"); result.Code != 0 {
		t.Errorf("exit code %d: %s", result.Code, result.Err)
	}
}

// No output of a command shows a credential, whatever happens. The credentials are removed also when the server is away.
func TestCredentialsAreNeverShown(t *testing.T) {
	// No other program gets the address when this server has ended.
	server := instance.Start(t, instance.Options{Flags: []string{"--listen", testport.Unused(t)}})
	u := newAccount(t)
	key := server.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", instance.Email, "--name", "marked")
	var shown strings.Builder
	run := func(stdin string, code int, args ...string) {
		t.Helper()
		result := u.run(stdin, args...)
		shown.WriteString(result.Out + result.Err)
		if result.Code != code {
			t.Errorf("%v: exit code %d, want %d: %s", args, result.Code, code, result.Err)
		}
	}
	login := []string{"login", server.URL, "--org", instance.Org, "--email", instance.Email, "--password-stdin"}
	run(instance.Password, 0, login...)
	run(key, 0, "login", server.URL, "--api-key-stdin", "--context", "key")
	run(instance.Password+"x", 1, login...)
	run(key+"x", 1, "login", server.URL, "--api-key-stdin")
	for _, format := range []string{"text", "wide", "json", "yaml", "name"} {
		run("", 0, "context", "list", "--output", format)
		run("", 0, "whoami", "--output", format)
	}
	secrets := append(u.credentials(), instance.Password, key)
	run("", 1, "context", "use", "missing")
	run("", 0, "context", "use", "key")
	run("", 0, "logout")
	run("", 0, "context", "use", strings.TrimPrefix(server.URL, "http://"))
	u.expireToken()
	if code := server.Stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	run("", 1, "whoami")
	run("", 1, "logout")
	if left := u.credentials(); len(left) > 0 ||
		!strings.Contains(shown.String(),
			"the credentials for "+server.URL+" were removed, but the session could not be ended at the server: ") {
		t.Errorf("%d credentials are left\n%s", len(left), shown.String())
	}
	if err := os.WriteFile(u.file(), []byte(`{"contexts": [{"token": "`+secrets[0]+`"`), 0o600); err != nil {
		t.Fatal(err)
	}
	run("", 1, "whoami")
	run("", 1, "context", "list")
	if len(secrets) != 5 {
		t.Errorf("%d secrets", len(secrets))
	}
	for _, s := range secrets {
		if strings.Contains(shown.String(), s) {
			t.Errorf("%q is shown:\n%s", s, shown.String())
		}
	}
}

// A URL that is not of a regwarden server is reported before a prompt.
func TestLoginAtAnotherServer(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	defer other.Close()
	unused := "http://" + testport.Unused(t)
	for url, want := range map[string]string{
		other.URL: other.URL + " accepts requests without credentials; check the URL",
		unused:    "cannot connect to " + unused + ": connect: connection refused; check the URL, and that the server is running",
	} {
		if got := newAccount(t).run("", "login", url); got.Code != 1 || got.Err != "regwarden: "+want+"\n" {
			t.Errorf("exit code %d\n%s", got.Code, got.Err)
		}
	}
}
