package service_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

var (
	toPaste      = regexp.MustCompile(`(?s)# log in\n.*?"auth":\{"type":"noAuth"\}\}'\n`)
	shownSecret  = regexp.MustCompile(`(?m)^\s*password\s+([A-Z2-7]{26})\s*$`)
	shownLogin   = regexp.MustCompile(`regwarden login .*`)
	publicServer = "https://ghcr.io"
)

// Without a terminal the password is written to a file that only its owner can read.
func TestFirstStartWithoutTerminal(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{Bare: true})
	path := filepath.Join(server.DataDir, "first-password")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatalf("the first password is not in a file: %v", err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the password file has mode %v, want 0600", info.Mode())
	}
	if !server.Logs(path) {
		t.Errorf("the log does not name the password file:\n%s", server.Log())
	}
	password, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(server.Out()+server.Log(), strings.TrimSpace(string(password))) {
		t.Error("the password is in the output, which a log collector keeps")
	}
	pasteLines(t, server.Out(), server)
	login := exec.CommandContext(t.Context(), "sh", "-c", shownLogin.FindString(server.Out()))
	login.Env = []string{"PATH=" + filepath.Dir(instance.Binary(t)), "HOME=" + t.TempDir()}
	if out, err := login.CombinedOutput(); err != nil || !strings.Contains(string(out), "Logged in to "+server.URL) {
		t.Errorf("the printed login fails: %v\n%s", err, out)
	}
}

// A person watches: the password is shown, once.
func TestFirstStartOnATerminal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	terminal := instance.OpenTerminal(t)
	server := instance.Start(t, instance.Options{Bare: true, DataDir: dir, Terminal: &terminal})
	match := shownSecret.FindStringSubmatch(server.Out())
	if match == nil {
		t.Fatalf("no password is shown:\n%s", server.Out())
	}
	if _, err := os.Stat(filepath.Join(dir, "first-password")); err == nil {
		t.Error("the password was shown and stored in a file as well")
	}
	pasteLines(t, server.Out(), server)
	if strings.Contains(server.Log(), match[1]) {
		t.Error("the password is in the log")
	}
	if code := server.Stop(syscall.SIGINT); code != 0 {
		t.Errorf("Ctrl-C: exit code %d, want 0", code)
	}

	again := instance.OpenTerminal(t)
	server = instance.Start(t, instance.Options{Bare: true, DataDir: dir, Terminal: &again})
	if strings.Contains(strings.ToLower(server.Out()), "password") {
		t.Errorf("the second start speaks of a password:\n%s", server.Out())
	}
}

// pasteLines runs the printed lines in a shell as they stand; only the public registry in them is
// replaced, since no packet of a test may leave the machine.
func pasteLines(t *testing.T, out string, server *instance.Server) {
	t.Helper()
	script := toPaste.FindString(strings.ReplaceAll(out, "\r\n", "\n"))
	if script == "" {
		t.Fatalf("there is nothing to paste:\n%s", out)
	}
	needs.Program(t, "curl", "curl")
	registry := realregistry.Distribution(t, realregistry.Options{})
	if !strings.Contains(script, publicServer) {
		t.Fatalf("the lines name another registry than %s; a test must not call it:\n%s", publicServer, script)
	}
	script = strings.ReplaceAll(script, publicServer, registry.Endpoint)
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	responses, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the printed lines fail: %v\n%s\n%s", err, script, responses)
	}
	if n := strings.Count(string(responses), `"refreshToken"`); n != 2 {
		t.Errorf("logging in and refreshing returned %d refresh tokens, want 2:\n%s", n, responses)
	}
	if !strings.Contains(string(responses), "HTTP/1.1 204") {
		t.Errorf("the validation did not return 204:\n%s", responses)
	}
	client := server.Client(t)
	client.Do(http.MethodGet, "/healthz", "").Want(http.StatusOK)
}
