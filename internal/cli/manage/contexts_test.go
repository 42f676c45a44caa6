package manage

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A login replaces that of the same user only. The names of others are distinct.
func TestNamesOfContexts(t *testing.T) {
	var saved contexts
	for i, tt := range []struct{ name, server, org, email, want, replaced string }{
		{"", "https://a.example", "Acme", "admin", "a.example", ""},
		{"", "https://a.example", "ACME", "Admin", "a.example", "0"}, // the same login again
		{"", "https://a.example", "Acme", "dev", "a.example/Acme/dev", ""},
		{"", "https://a.example", "Acme", "dev", "a.example/Acme/dev", "2"},
		{"", "https://a.example", "Globex", "admin", "a.example/Globex", ""},
		{"", "https://a.example", "Globex", "admin", "a.example/Globex", "4"},
		{"", "http://a.example", "Umbrella", "admin", "a.example/Umbrella", ""},
		{"", "http://a.example", "Acme", "admin", "a.example/Acme", ""},
		{"", "http://a.example", "Acme", "dev", "a.example-2", ""},
		{"", "https://a.example:8443/prefix", "Acme", "admin", "a.example:8443/prefix", ""},
		{"mine", "https://a.example", "Acme", "admin", "mine", ""},
		{"mine", "https://a.example", "Acme", "admin", "mine", "10"},
		{"", "https://a.example", "Acme", "admin", "a.example", "1"},
	} {
		login := Context{Name: tt.name, Server: tt.server, Org: tt.org, Email: tt.email, Token: strconv.Itoa(i)}
		got, former, err := saved.add(login)
		if err != nil || got.Name != tt.want || saved.Current != tt.want || former.Token != tt.replaced {
			t.Errorf("%s of %s in %s is %q in place of %q, want %q, %q: %v", tt.email, tt.org, tt.server, got.Name, former.Token, tt.want, tt.replaced, err)
		}
	}
	for _, other := range []Context{{Server: "https://a.example", Org: "Acme", Email: "dev"}, {Server: "https://b.example", Org: "Acme", Email: "admin"}} {
		other.Name = "mine"
		if _, _, err := saved.add(other); err == nil || saved.named("mine").Email != "admin" || saved.named("mine").Server != "https://a.example" {
			t.Errorf("the login of another user was replaced: %v", err)
		}
	}
	if found := saved.find("https://a.example", "globex"); len(found) != 1 || found[0].Name != "a.example/Globex" {
		t.Errorf("found %v", found)
	}
	saved.remove("a.example")
	if _, err := saved.get(""); err == nil || saved.current() != nil {
		t.Error("a removed context is current")
	}
}

// Changes by several commands at once are all made, and no reader sees half a file.
func TestConcurrentChangesOfContexts(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CONFIG_HOME")) // where the variable above has no meaning
	const changes = 20
	var all sync.WaitGroup
	for i := range changes {
		all.Go(func() {
			err := changeContexts(t.Context(), func(saved *contexts) error {
				_, _, err := saved.add(Context{Server: "https://" + strconv.Itoa(i) + ".example"})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, err := readContexts(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if saved, err := readContexts(); err != nil || len(saved.Contexts) != changes {
		t.Errorf("%d contexts, %v", len(saved.Contexts), err)
	}
	path, err := contextsPath()
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".contexts-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
	err = changeContexts(t.Context(), func(saved *contexts) error {
		_, _, err := saved.add(Context{Server: "https://large.example", CA: strings.Repeat("x", maxContexts)})
		return err
	})
	if saved, readErr := readContexts(); err == nil || readErr != nil || len(saved.Contexts) != changes {
		t.Errorf("a file that is too large: %v, then %v", err, readErr)
	}
}

func TestURLsOfServers(t *testing.T) {
	for text, want := range map[string]string{
		"regwarden.example.com": "https://regwarden.example.com", "https://A.example:8443/": "https://a.example:8443", " http://a.example/x/ ": "http://a.example/x",
		"ftp://a.example": "", "https://": "", "https://u:marked@a.example": "", "https://a.example?marked": "", "https://a.example/%zzmarked": "", "": "",
	} {
		got, err := serverURL(text)
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "marked") {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for server, ok := range map[string]bool{
		"https://a.example": true, "http://localhost:8080": true, "http://127.0.0.2": true, "http://[::1]:80": true, "http://[::ffff:127.0.0.1]": true,
		"http://a.example": false, "http://10.0.0.1": false, "http://localhost.example": false, "http://127.0.0.1.example": false,
	} {
		if err := checkEncrypted(server, "--flag"); (err == nil) != ok {
			t.Errorf("%s: %v", server, err)
		}
	}
}

func TestServerWithoutTLS(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	url := strings.Replace(server.URL, "http:", "https:", 1)
	_, err := (&login{call: call{ctx: t.Context()}}).logIn(&Context{Server: url})
	if text := explainConnection(err, url, "").Error(); !strings.Contains(text, "does not serve TLS") {
		t.Error(text)
	}
}

// A server that needs no credentials is not this one, and gets none.
func TestLoginWhereNoneIsNeeded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(server.Close)
	cmd := Program{}.Login()
	cmd.SetArgs([]string{server.URL, "--email", "a@acme.example", "--password-stdin"})
	cmd.SetIn(failing{t})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "without credentials") {
		t.Errorf("error %v", err)
	}
}

// A login that the server refuses for a while says so, and Ctrl-C ends the wait.
func TestLoginSaysThatItWaits(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CONFIG_HOME"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		status := http.StatusUnauthorized
		if r.Method == http.MethodPost {
			status = http.StatusTooManyRequests
			w.Header().Set("Retry-After", "25")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"code":"TooManyRequests","message":"Too many failed logins."}`))
	}))
	t.Cleanup(server.Close)
	ctx, interrupt := context.WithCancel(t.Context())
	cmd, said, began := Program{}.Login(), "", time.Now()
	cmd.SetArgs([]string{server.URL, "--email", "a@acme.example", "--password-stdin"})
	cmd.SetIn(strings.NewReader("wrong"))
	cmd.SetErr(writer(func(text []byte) { said += string(text); interrupt() }))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(said, "in 25s; Ctrl-C ends this.\n") || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %q, %v", time.Since(began), said, err)
	}
}

type writer func([]byte)

func (w writer) Write(text []byte) (int, error) {
	w(text)
	return len(text), nil
}

// failing is an input that must not be read.
type failing struct{ t *testing.T }

func (f failing) Read([]byte) (int, error) {
	f.t.Error("a secret was read")
	return 0, os.ErrClosed
}

// A key in the environment is for the server that is named with it, not for that of the login.
func TestKeyIsSentToTheNamedServer(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CONFIG_HOME"))
	t.Setenv(EnvAPIKey, "key-marked")
	if err := changeContexts(t.Context(), func(saved *contexts) error {
		saved.add(Context{Server: "https://login.example", Org: "Acme", Token: "token"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if chosen, err := (&target{local: noLocal{}}).choose(); err == nil || strings.Contains(err.Error(), "marked") {
		t.Errorf("the key is sent to %v, error %v", chosen, err)
	}
	for _, server := range []string{"https://login.example", "https://other.example"} {
		t.Setenv(EnvServer, server)
		chosen, err := (&target{local: noLocal{}}).choose()
		if err != nil || chosen.Server != server || chosen.APIKey != "key-marked" || chosen.Token != "" {
			t.Errorf("%s: %v, %v", server, chosen, err)
		}
	}
}

// A logout removes the credentials also from the target of a link, and shows what the server returned as text in one line.
func TestLogoutAtAHostileServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": "OperationForbidden", "message": hostile})
	}))
	t.Cleanup(server.Close)
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target.json")
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir) // where the variable above has no meaning
	path, err := contextsPath()
	if err != nil {
		t.Fatal(err)
	}
	saved := contexts{Current: hostile, Contexts: []Context{{Name: hostile, Server: server.URL, Token: "the token"}, {Name: "plain"}}}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(target, must(json.Marshal(saved)), 0o600), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	if names, _ := completeContexts(nil, nil, ""); !slices.Equal(names, []string{"plain"}) {
		t.Errorf("completed %q", names)
	}
	cmd := Program{}.Logout()
	cmd.SetArgs(nil)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("the server ended the session")
	}
	mustBeHarmless(t, "error", err.Error()+"\n", 1)
	left, err := os.ReadFile(target)
	if err != nil || strings.Contains(string(left), "the token") || !strings.Contains(string(left), "plain") {
		t.Errorf("after the logout: %s, %v", left, err)
	}
}
