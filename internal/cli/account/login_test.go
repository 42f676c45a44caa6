package account

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cli/hostiletest"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/manage"
)

func TestServerWithoutTLS(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	url := strings.Replace(server.URL, "http:", "https:", 1)
	_, err := (&login{Call: manage.Call{Ctx: t.Context()}}).logIn(&logins.Context{Server: url})
	if text := logins.ExplainConnection(err, url, logins.Trust{}).Error(); !strings.Contains(text, "does not serve TLS") {
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
	cmd := Commands{}.Login()
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
			w.Header().Set("Retry-After", "20")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"code":"TooManyRequests","message":"Too many failed logins."}`))
	}))
	t.Cleanup(server.Close)
	ctx, interrupt := context.WithCancel(t.Context())
	cmd, said, began := Commands{}.Login(), "", time.Now()
	cmd.SetArgs([]string{server.URL, "--email", "a@acme.example", "--password-stdin"})
	cmd.SetIn(strings.NewReader("wrong"))
	cmd.SetErr(writer(func(text []byte) { said += string(text); interrupt() }))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(said, "in 20s; Ctrl-C ends this.\n") || time.Since(began) > 10*time.Second {
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

// A logout removes the credentials also from the target of a link, and shows what the server returned as text in one line.
func TestLogoutAtAHostileServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": "OperationForbidden", "message": hostiletest.Text})
	}))
	t.Cleanup(server.Close)
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target.json")
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir) // where the variable above has no meaning
	path, err := logins.Path()
	if err != nil {
		t.Fatal(err)
	}
	saved := logins.Contexts{Current: hostiletest.Text, Contexts: []logins.Context{{Name: hostiletest.Text, Server: server.URL,
		Token: "the token"}, {Name: "plain"}}}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(target, must(json.Marshal(saved)), 0o600),
		os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	if names, _ := manage.CompleteContexts(nil, nil, ""); !slices.Equal(names, []string{"plain"}) {
		t.Errorf("completed %q", names)
	}
	cmd := Commands{}.Logout()
	cmd.SetArgs(nil)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("the server ended the session")
	}
	hostiletest.MustBeHarmless(t, "error", err.Error()+"\n", 1)
	left, err := os.ReadFile(target)
	if err != nil || strings.Contains(string(left), "the token") || !strings.Contains(string(left), "plain") {
		t.Errorf("after the logout: %s, %v", left, err)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
