package abuse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// A named pipe in place of a file is refused at once: the start would wait for its writer.
func TestPipesInPlaceOfFiles(t *testing.T) {
	t.Parallel()
	for flag, more := range map[string][]string{
		"master-key-file": nil, "config": nil, "database-url-file": nil,
		"tls-cert": {"--tls-key", "/dev/null"},
		"tls-key":  {"--tls-cert", certificate(t)},
		"smtp-password-file": {"--smtp-host", "127.0.0.1", "--smtp-from", "a@b.example", "--smtp-username", "a",
			"--public-url", "https://a.example"},
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pipe := filepath.Join(dir, "pipe")
			mustMakePipe(t, pipe)
			args := []string{"serve", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--" + flag, pipe}
			wantRefused(t, pipe, append(args, more...)...)
		})
	}
	t.Run("in the data directory", func(t *testing.T) {
		dir := t.TempDir()
		pipe := filepath.Join(dir, "master.key")
		mustMakePipe(t, pipe)
		wantRefused(t, pipe, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0")
	})
}

func mustMakePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantRefused(t *testing.T, pipe string, args ...string) {
	t.Helper()
	got := instance.Run(t, "", args...)
	if got.Code <= 0 || !strings.Contains(got.Err, pipe+" is not a regular file") {
		t.Errorf("exit code %d: %s", got.Code, got.Err)
	}
}

// certificate returns a file with something that is read before the key.
func certificate(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(path, []byte("not read"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Neither the server nor its child process can write its memory to disk, whatever limit they were started with.
func TestNoCoreDumps(t *testing.T) {
	t.Parallel()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	server := start(t, "--login-isolation", "process")
	server.Client(t).Login()
	pids := server.PIDs()
	if len(pids) < 2 {
		t.Errorf("%d processes, want the server and the one that hashes passwords", len(pids))
	}
	for _, pid := range pids {
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(limits), "Max core file size")
		line, _, _ := strings.Cut(rest, "\n")
		if got := strings.Fields(line); len(got) < 2 || got[0] != "0" || got[1] != "0" {
			t.Errorf("process %d: core limit %q", pid, got)
		}
	}
}
