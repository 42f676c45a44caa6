package abuse_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	// commandMemory is what a command may hold, whatever a server sends.
	commandMemory = 400 << 10 // KiB
	// addressSpace ends a command that would take the memory of this machine.
	addressSpace = 6 << 20 // KiB

	terminalControls = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m\r\n::error::x"
)

// hostileServers are responses that use the memory, the time or the terminal of a client.
var hostileServers = map[string]func(w http.ResponseWriter, r *http.Request){
	"200 MiB": func(w http.ResponseWriter, _ *http.Request) {
		copies(w, `{"items":["`, strings.Repeat("a", 1<<20), 200)
	},
	"objects": func(w http.ResponseWriter, _ *http.Request) {
		copies(w, `{"items":[`, strings.Repeat("{},", 1<<18), 80)
	},
	"nothings": func(w http.ResponseWriter, _ *http.Request) {
		copies(w, `{"items":[`, strings.Repeat("null,", 1<<18), 40)
	},
	"compressed": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		copies(packed, `{"items":[`, strings.Repeat("{},", 1<<18), 300)
		_ = packed.Close()
	},
	"pages": func(w http.ResponseWriter, _ *http.Request) {
		item := `{"metadata":{"name":"` + strings.Repeat("a", 4<<10) + `","uid":"u"}}`
		_, _ = io.WriteString(w, `{"items":[`+strings.Repeat(item+",", 499)+item+`],"listmeta":{"continue":"x"}}`)
	},
	"names": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":`+instance.JSON("a"+terminalControls)+`,"uid":"u"}},`+
			`{"metadata":{"name":"plain","uid":"v"}}]}`)
	},
	"drops": func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			copies(w, " ", "", 0)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	},
}

func copies(w io.Writer, first, piece string, n int) {
	_, err := io.WriteString(w, first)
	for ; n > 0 && err == nil; n-- {
		_, err = io.WriteString(w, piece)
	}
}

// Lists and the completion of names from a hostile server end with little memory, follow no redirect, and print nothing that
// controls the terminal.
func TestHostileServerOfCommands(t *testing.T) {
	for name, handle := range hostileServers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			handle(w, r)
		}))
		t.Cleanup(server.Close)
		commands := map[string][]string{"list": {"registry", "list"}, "complete": {"__complete", "registry", "show", ""}}
		if name == "drops" { // a list waits five minutes for the rest
			delete(commands, "list")
		}
		for command, args := range commands {
			t.Run(name+"/"+command, func(t *testing.T) {
				log := filepath.Join(t.TempDir(), "completion.log")
				t.Setenv("BASH_COMP_DEBUG_FILE", log) // where the library of commands writes why names are missing
				got := runLimited(t, args, server.URL)
				for name == "names" && cameTooLate(log) { // a busy machine is slow
					got = runLimited(t, args, server.URL)
				}
				t.Logf("%d MiB, %v CPU, exit code %d: %s", got.memory>>10, got.cpu, got.code, shortened(got.text))
				if got.memory > commandMemory {
					t.Errorf("%d MiB of memory", got.memory>>10)
				}
				if strings.ContainsAny(got.text, "\x1b\x07\u202e\u009b\r") || strings.Contains(got.text, "\n::error") {
					t.Errorf("the output controls the terminal: %q", got.text)
				}
				if name == "names" && !strings.Contains(got.text, "plain") {
					t.Errorf("a regular name is missing: %q", got.text)
				}
				if command == "list" && (got.code == 0) != (name == "names") {
					t.Errorf("exit code %d: %q", got.code, shortened(got.text))
				}
			})
		}
	}
}

// cameTooLate reports whether a completion gave up waiting, by its log, which it removes.
func cameTooLate(log string) bool {
	why, _ := os.ReadFile(log) // is there only after a message
	_ = os.Remove(log)
	return strings.Contains(string(why), context.DeadlineExceeded.Error())
}

// The credentials of a login are not sent where a response leads to.
func TestServerThatRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
		}))
		t.Cleanup(server.Close)
		for _, args := range [][]string{{"registry", "list"}, {"__complete", "registry", "show", ""}, {"whoami"}} {
			if got := runLimited(t, args, server.URL); args[0] != "__complete" &&
				(got.code == 0 || !strings.Contains(got.text, "a redirect to "+other.URL)) {
				t.Errorf("%d %v: exit code %d, %s", status, args, got.code, got.text)
			}
		}
	}
}

type usage struct {
	text   string
	code   int
	memory int // KiB
	cpu    time.Duration
}

// runLimited runs a command with a key at a server.
func runLimited(t *testing.T, args []string, server string) usage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	args = append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$@"`, addressSpace), "sh", instance.Binary(t)}, args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Env = append(os.Environ(), "REGWARDEN_API_KEY=marked-key", "REGWARDEN_SERVER="+server, "HOME="+t.TempDir(),
		"XDG_CONFIG_HOME="+t.TempDir())
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	memory := watchMemory(ctx, cmd.Process.Pid)
	_ = cmd.Wait() // the caller looks at the exit code
	if ctx.Err() != nil {
		t.Error("the command did not end")
	}
	if strings.Contains(out.String(), "marked-key") {
		t.Errorf("the key is shown: %q", shortened(out.String()))
	}
	return usage{out.String(), cmd.ProcessState.ExitCode(), <-memory, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// watchMemory returns the most memory of a process after its end. The operating system's figure has that of this process too, from before
// the other program was started.
func watchMemory(ctx context.Context, pid int) <-chan int {
	result := make(chan int, 1)
	go func() {
		most := 0
		for now := peakKiB(pid); now > 0 && ctx.Err() == nil; now = peakKiB(pid) {
			most = now
			time.Sleep(5 * time.Millisecond)
		}
		result <- most
	}()
	return result
}

func shortened(text string) string { return text[:min(len(text), 200)] }

// checkMemory is what a check may hold, whatever a registry sends.
const checkMemory = 150 << 10 // KiB

// A check with the credentials of docker's file ends with little memory and prints nothing that controls the terminal, and no other server
// gets the credentials.
func TestHostileRegistryOfCheckFrom(t *testing.T) {
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("another server got credentials with %s", r.URL)
		}
		_, _ = io.WriteString(w, `{"token":"t"}`)
	}))
	t.Cleanup(other.Close)
	challenge := `Basic realm="` + strings.NewReplacer("\r", "", "\n", "").Replace(terminalControls) + `"`
	registries := map[string]func(http.ResponseWriter, *http.Request){
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"token service": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+other.Listener.Addr().String()+`/token",service="s"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"challenge": func(w http.ResponseWriter, _ *http.Request) { // not HTTP: a header has no control characters
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"denied": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":`+instance.JSON(terminalControls)+`}]}`)
		},
		"long header": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("a", 8<<20)) },
		"tags": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"name":"charts","tags":[`+strings.Repeat(instance.JSON("a"+terminalControls)+",", 1000)+`"b"]}`)
		},
	}
	for _, name := range []string{"200 MiB", "objects", "compressed", "drops"} {
		registries[name] = hostileServers[name]
	}
	for name, handle := range registries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			registry := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, password, _ := r.BasicAuth(); password == "marked-key" {
					sent.Add(1)
				}
				handle(w, r)
			}))
			t.Cleanup(registry.Close)
			host := registry.Listener.Addr().String()
			file := filepath.Join(t.TempDir(), "config.json")
			// ada and "marked-key", which runLimited looks for
			if err := os.WriteFile(file, []byte(`{"auths":{"`+host+`":{"auth":"YWRhOm1hcmtlZC1rZXk="}}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			timeout := "20s" // a busy machine is slow
			if name == "drops" {
				timeout = "5s" // which it takes
			}
			got := runLimited(t, []string{"check", "--from", "docker-config", file, host + "/charts",
				"--insecure-skip-verify", "--timeout", timeout}, "")
			t.Logf("%d MiB, %v CPU, exit code %d: %s", got.memory>>10, got.cpu, got.code, got.text[max(0, len(got.text)-500):])
			if name == "denied" && sent.Load() == 0 {
				t.Error("the registry itself did not get the credentials")
			}
			if got.memory > checkMemory || got.code != 1 && got.code != 3 && name != "tags" {
				t.Errorf("%d MiB of memory, exit code %d", got.memory>>10, got.code)
			}
			if strings.ContainsAny(got.text, "\x1b\x07\u202e\u009b\r") || strings.Contains(got.text, "\n::error") {
				t.Errorf("the output controls the terminal: %q", got.text)
			}
		})
	}
}
