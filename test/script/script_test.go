// Package script_test runs the command line as its users do: each file in testdata is a story of commands with their expected
// output. "go test ./script -update" writes that output anew.
//
// Scripts in testdata/script use a data directory. Those in testdata/both run twice, on a data directory and logged in to a
// server as the administrator of Acme, and print the same. Those in testdata/server have a server, to which they log in.
package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

var update = flag.Bool("update", false, "write the expected output anew")

const (
	user     = "ada"
	password = "correct horse"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }

func TestScripts(t *testing.T) {
	world := newWorld(t)
	for _, run := range []struct {
		name, dir string
		update    bool
		setup     func(*testing.T, *testscript.Env)
	}{
		{"local", "testdata/script", *update, nil},
		{"both on a data directory", "testdata/both", *update,
			func(_ *testing.T, env *testscript.Env) { env.Setenv("REGWARDEN_DATA_DIR", "data") }},
		{"both on a server", "testdata/both", false, logIn},
		{"server", "testdata/server", *update, func(t *testing.T, env *testscript.Env) { serve(t, env) }},
	} {
		t.Run(run.name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir: run.dir, UpdateScripts: run.update, RequireExplicitExec: true, RequireUniqueNames: true,
				Setup: func(env *testscript.Env) error {
					for name, value := range world {
						env.Setenv(name, value)
					}
					env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
					if err := copyPrivately(filepath.Join(env.WorkDir, "data"), world["DATA"]); err != nil {
						return err
					}
					if run.setup != nil {
						run.setup(t, env)
					}
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "completes": completes,
					"expand": expand, "steady": steady, "field": field, "readenv": readenv, "code": code},
			})
		})
	}
}

// serve starts a server with TLS on the data directory of a script, and names its URL and CA as SERVER and SERVER_CA.
func serve(t *testing.T, env *testscript.Env, flags ...string) {
	ca := testca.New(t, "Server CA")
	pair := ca.Issue(t, testca.Options{})
	files := map[string]string{"ca.pem": ca.PEM(), "cert.pem": pair.Certificate, "key.pem": pair.Key}
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := instance.Start(t, instance.Options{DataDir: filepath.Join(env.WorkDir, "data"), Insecure: true,
		Flags: append(flags, "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))})
	env.Defer(func() { server.Kill() })
	env.Setenv("SERVER", server.URL)
	env.Setenv("HOST", strings.TrimPrefix(server.URL, "https://"))
	env.Setenv("SERVER_CA", filepath.Join(dir, "ca.pem"))
}

// logIn logs in to a server that does not check stored registries by itself: their status stays that of the data directory.
func logIn(t *testing.T, env *testscript.Env) {
	serve(t, env, "--watch-interval", "0s")
	login := exec.Command(instance.Binary(t), "login", env.Getenv("SERVER"), "--ca", env.Getenv("SERVER_CA"), "--org", instance.Org,
		"--email", instance.Email, "--password-stdin")
	login.Stdin, login.Env = strings.NewReader(instance.Password), env.Vars
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// copyPrivately copies a data directory and keeps it from other users, which the service insists on.
func copyPrivately(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return errors.Join(err, os.Chmod(path, 0o700))
		}
		return os.Chmod(path, 0o600)
	})
}

// newWorld starts what the scripts talk to, and names it as their environment.
func newWorld(t *testing.T) map[string]string {
	t.Helper()
	ca := testca.New(t, "Example Private CA")
	open := realregistry.Distribution(t, realregistry.Options{})
	secure := realregistry.Distribution(t, realregistry.Options{Users: map[string]string{user: password}, CA: ca})
	server := realregistry.NewTokenServer(t,
		realregistry.TokenRules{Users: map[string]string{user: password}, Identities: []string{"an-identity-token"}})
	bearer := realregistry.Distribution(t, realregistry.Options{Token: server})
	realregistry.Push(t, open, realregistry.Helm, realregistry.ChartPath, "6.7.1")
	realregistry.Push(t, secure.As(user, password), realregistry.Helm, realregistry.ChartPath, "6.7.1")
	charts := regchecktest.Start(t, "charts-http")
	unused := "http://" + testport.Unused(t)
	service := instance.Start(t, instance.Options{})
	store(t, service, definition{Name: "harbor", Endpoint: secure.Endpoint, Content: realregistry.ChartPath, Username: user,
		Password: password, CA: ca.PEM()})
	store(t, service, definition{Name: "Open Charts", Endpoint: open.Endpoint})
	store(t, service, definition{Name: "gone", Endpoint: unused, Username: user, Password: password})
	if code := service.Stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("create a data directory: exit code %d\n%s", code, service.Log())
	}
	receiver := httptest.NewServer(http.HandlerFunc(receive))
	t.Cleanup(receiver.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
	}))
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	caFile := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(caFile, []byte(ca.PEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"PATH":      filepath.Dir(instance.Binary(t)) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"OPEN_HOST": strings.TrimPrefix(open.Endpoint, "http://"), "SECURE_HOST": strings.TrimPrefix(secure.Endpoint, "https://"),
		"OPEN": open.Endpoint, "SECURE": secure.Endpoint, "BEARER": bearer.Endpoint, "UNUSED": unused,
		"CHARTS": "http://" + charts.Loopback(), "CHARTS_USER": regchecktest.User, "CHARTS_PASSWORD": regchecktest.Password,
		"UNUSED_HOST":    strings.TrimPrefix(unused, "http://"),
		"OPEN_LOCALHOST": strings.Replace(open.Endpoint, "http://127.0.0.1", "localhost", 1),
		"EXPIRING":       realregistry.ExpiringPassword(3 * 24 * time.Hour),
		"CA_FILE":        caFile, "CA_PEM": ca.PEM(), "DATA": service.DataDir, "PROXY": proxy.URL, "RECEIVER": receiver.URL,
		"RECEIVER_HOST": receiver.Listener.Addr().String(),
		"TOMORROW":      time.Now().AddDate(0, 0, 1).UTC().Format(time.RFC3339),
		"NEXT_WEEK":     time.Now().AddDate(0, 0, 7).UTC().Format(time.RFC3339),
	}
}

// receive is a receiver of webhooks, which accepts JSON at /services/….
func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !json.Valid(body) || !strings.HasPrefix(r.URL.Path, "/services/") {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, "ok")
}

// definition is stored and checked once by the service before the scripts begin.
type definition struct{ Name, Endpoint, Content, Username, Password, CA string }

func store(t *testing.T, service *instance.Server, k definition) {
	t.Helper()
	credentials := map[string]any{"username": k.Username, "password": k.Password}
	if k.CA != "" {
		credentials["tls"] = map[string]any{"enabled": true, "ca": k.CA}
	}
	body := instance.JSON(map[string]any{
		"metadata": map[string]string{"name": k.Name},
		"spec":     map[string]any{"endpoint": k.Endpoint, "baseContentPath": k.Content, "providerType": "helm", "auth": credentials},
	})
	client := service.Client(t)
	token := client.Login().Authorization
	var made struct{ UID string }
	client.Do(http.MethodPost, "/v1/registries/oci/basic", body, "Authorization", token).Want(http.StatusCreated).Into(&made)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var history struct{ Items []struct{} }
		client.Do(http.MethodGet, "/v1/registries/oci/"+made.UID+"/basic/history", "", "Authorization",
			token).Want(http.StatusOK).Into(&history)
		if len(history.Items) > 0 {
			return
		}
	}
	t.Fatalf("%s is not checked", k.Name)
}

// In a terminal the tree has color; NO_COLOR and --no-color take it away.
func TestColor(t *testing.T) {
	registry := realregistry.Distribution(t, realregistry.Options{})
	check := []string{"check", "--endpoint", registry.Endpoint}
	for _, tt := range []struct {
		name  string
		env   []string
		args  []string
		color bool
	}{
		{"terminal", []string{"TERM=xterm"}, check, true},
		{"flag", []string{"TERM=xterm"}, append(slices.Clone(check), "--no-color"), false},
		{"environment", []string{"TERM=xterm", "NO_COLOR=1"}, check, false},
		{"dumb", []string{"TERM=dumb"}, check, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result := instance.RunInTerminal(t, tt.env, tt.args...)
			if result.Code != 0 || !strings.Contains(result.Out, "valid") {
				t.Errorf("exit code %d\n%s", result.Code, result.Out)
			}
			if colored := strings.Contains(result.Out, "\x1b["); colored != tt.color {
				t.Errorf("color: %t, want %t\n%q", colored, tt.color, result.Out)
			}
		})
	}
}

// exits runs a command that must end with this exit code: exits 2 regwarden check
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// completes prints what a shell is given to complete a word: completes registry list --org NAME
//
// The program looks for names for as long as a person waits, which on a busy machine may be too short: then it is asked again.
func completes(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) == 0 {
		ts.Fatalf("usage: completes args...")
	}
	log := ts.MkAbs("completion.log")
	ts.Setenv("BASH_COMP_DEBUG_FILE", log) // where the library of commands writes why names are missing
	for range 20 {
		_ = os.Remove(log) // is there only after a message
		ts.Check(ts.Exec("regwarden", append([]string{"__complete"}, args...)...))
		if why, _ := os.ReadFile(log); !strings.Contains(string(why), context.DeadlineExceeded.Error()) {
			return
		}
	}
	ts.Fatalf("the names are never found in time")
}

// expand fills ${NAME} in a JSON file from the environment: expand template.json out.json
func expand(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: expand from to")
	}
	text := os.Expand(ts.ReadFile(args[0]), func(name string) string {
		value, err := json.Marshal(ts.Getenv(name))
		ts.Check(err)
		return strings.Trim(string(value), `"`)
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// field sets FIELD to a member of the first object of a list in JSON: field stdout uid
func field(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: field file name")
	}
	var list []map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &list))
	if len(list) == 0 || list[0][args[1]] == nil {
		ts.Fatalf("no %s in the first object of %s", args[1], args[0])
	}
	ts.Setenv("FIELD", fmt.Sprint(list[0][args[1]]))
}

// code writes a password and a code for standard input: code to from N [password]. The code is that of the otpauth: URI in the file from,
// N time steps from now, or else line N of that file.
func code(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 3 {
		ts.Fatalf("usage: code to from N [password]")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	text := strings.TrimSpace(ts.ReadFile(args[1]))
	if uri, err := url.Parse(text); err == nil && uri.Scheme == "otpauth" {
		text, err = instance.CodeOf(uri.Query().Get("secret"), int64(n))
		ts.Check(err)
	} else {
		text = strings.Split(text, "\n")[n]
	}
	for _, password := range args[3:] {
		text = ts.ReadFile(password) + text
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text+"\n"), 0o600))
}

// readenv sets a variable to the only line of a file: readenv NAME file
func readenv(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: readenv NAME file")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// Text that differs between runs, and its placeholder.
var unsteady = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`\bport \d+`), "port PORT"},
	{regexp.MustCompile(`(?m)\b(now|\d+[ydhms] ago|in \d+[ydhms])( {2,}|$)`), "AGE  "},
	{regexp.MustCompile(` +<?\d+(\.\d+)? ?(ms|µs|s)\b`), " TIME"},                         // right-aligned
	{regexp.MustCompile(`"actor": "(operator|admin@acme\.example)"`), `"actor": "ADMIN"`}, // on a data directory, and on a server
	{regexp.MustCompile(`"address": "(cli|127\.0\.0\.1)"`), `"address": "ORIGIN"`},
	{regexp.MustCompile(`"durationMs": ?\d+(\.\d+)?`), `"durationMs": 0`},
	{regexp.MustCompile(`"roundTrips": ?[1-9]\d*`), `"roundTrips": N`}, // without HTTP/2, by which connection is free for the second blob
	{regexp.MustCompile(`\b[1-9]\d* round trips`), "N round trips"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "DATE"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DAY"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\brwk_[a-z2-7]{6}\b`), "rwk_PREFIX"},
	{regexp.MustCompile(`\bref-[0-9a-f]+`), "REF"},
	{regexp.MustCompile(`[0-9A-F]{2}(:[0-9A-F]{2}){2,}`), "FINGERPRINT"}, // broken over lines, after a byte
	{regexp.MustCompile(`go1\.[0-9.]+`), "GO"},
	{regexp.MustCompile(`(linux|darwin)/(amd64|arm64)`), "PLATFORM"},
	{regexp.MustCompile(`\b\d\.\d MiB`), "N MiB"},                                       // of a store
	{regexp.MustCompile(`\b(AT|SINCE|LAST) +(ACTION|CHECKS|HEALTH|PROBLEM)`), "$1  $2"}, // above ages
	{regexp.MustCompile(`\b(unknown) +- {2,}`), "$1  -  "},                              // has no age
	{regexp.MustCompile(`(?m) +$`), ""},                                                 // columns end where their widest value ends
}

// steady copies stdout or stderr to a file of that name with .steady, times and addresses replaced.
func steady(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 1 {
		ts.Fatalf("usage: steady stdout|stderr")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	text = strings.ReplaceAll(text, ts.Getenv("CA_FILE"), "CA_FILE")
	if file := ts.Getenv("SERVER_CA"); file != "" {
		text = strings.ReplaceAll(text, file, "SERVER_CA")
	}
	for _, u := range unsteady {
		text = u.what.ReplaceAllString(text, u.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".steady"), []byte(text), 0o600))
}
