package docs_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
)

// examples returns the code blocks of a page in a language.
func examples(t *testing.T, page, language string) (blocks []string) {
	t.Helper()
	for _, found := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(pageText(t, page), -1) {
		blocks = append(blocks, found[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no example in %s", page, language)
	}
	return blocks
}

// TestGettingStarted runs the commands of the page in one shell, in their order. Only the addresses differ.
func TestGettingStarted(t *testing.T) {
	needs.Program(t, "curl", "curl")
	const chart = "stefanprodan/charts/podinfo"
	registry := realregistry.Distribution(t, realregistry.Options{})
	realregistry.Push(t, registry, realregistry.Helm, chart, "6.7.1")
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	address := testport.Unused(t)
	script := strings.NewReplacer("https://ghcr.io", registry.Endpoint, "check ghcr.io", "check "+registry.Endpoint,
		"127.0.0.1:8080", address, "hooks.slack.com", receiver.Listener.Addr().String()).
		Replace(strings.Join(examples(t, "docs/getting-started.md", "sh"), "\n"))

	programs := filepath.Dir(instance.Binary(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euxc", script)
	cmd.Dir, cmd.WaitDelay = t.TempDir(), time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endAll := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = endAll
	cmd.Env = []string{
		"PATH=" + programs, "HOME=" + cmd.Dir,
		"REGWARDEN_LISTEN=" + address, "REGWARDEN_EGRESS_ALLOW=127.0.0.0/8", "REGWARDEN_EGRESS_DNS=127.0.0.1:9", "REGWARDEN_LOGIN_WAIT=30s",
		"REGWARDEN_ALERT_URL=" + receiver.URL + "/services/T000/B000/XXXX", // in place of the prompt
	}
	out, err := cmd.CombinedOutput()
	_ = endAll() // the service, if the script ended before it stopped it
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log, err := os.ReadFile(filepath.Join(cmd.Dir, "regwarden.log"))
	if err != nil || !strings.Contains(string(log), "msg=stopped") {
		t.Errorf("the service was not stopped: %v\n%s", err, log)
	}
	rest := string(out)
	for _, want := range []string{"valid  ", "Logged in to http://" + address, "Stored the registry podinfo.", "podinfo  ", "valid  ",
		"Delivered to ", "HTTP/1.1 204 No Content", "HTTP/1.1 422 ", `"hint":"`} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is missing, or not in this order:\n%s", want, out)
		}
		rest = after
	}
}

// TestLanguages runs the same program in each language of the page: it prints the same for a valid definition, and for a wrong password.
func TestLanguages(t *testing.T) {
	registry := realregistry.Distribution(t, realregistry.Options{Users: map[string]string{"robot$ci": "correct horse"}})
	realregistry.Push(t, registry.As("robot$ci", "correct horse"), realregistry.Helm, "charts", "6.7.1")
	server := instance.Start(t, instance.Options{})
	key := server.Admin(t, "", "apikey", "create", "--org", instance.Org, "--email", instance.Email)
	for _, language := range []struct {
		name, file string
		example    int // on the page
		run        func(t *testing.T, file string) *exec.Cmd
	}{
		{"sh", "diagnose.sh", 1, interpreter("bash", "bash", "-eu")},
		{"go", "main.go", 0, goProgram},
		{"python", "diagnose.py", 0, interpreter("python3", "python3")},
		{"js", "diagnose.mjs", 0, interpreter("node", "nodejs")},
	} {
		t.Run(language.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), language.file)
			text := strings.ReplaceAll(examples(t, "docs/api-examples.md", language.name)[language.example],
				"https://harbor.example.com", registry.Endpoint)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for password, want := range map[string]string{
				"correct horse": "valid\n",
				"wrong horse": "RegistryAuthFailed: Renew the secret of the robot account in Harbor if the account has expired or was " +
					"disabled.\n",
			} {
				cmd := language.run(t, file)
				cmd.Dir = filepath.Dir(file)
				cmd.Env = append(os.Environ(), "REGWARDEN_SERVER="+server.URL, "REGWARDEN_API_KEY="+key, "REGISTRY_PASSWORD="+password)
				if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
}

// The overview of package client fits two screens.
func TestClientOverview(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "doc", "github.com/regwarden/regwarden/client").CombinedOutput()
	if lines := strings.Count(string(out), "\n"); err != nil || !strings.Contains(string(out), "func New(") || lines > 100 {
		t.Errorf("%d lines, %v\n%s", lines, err, out)
	}
}

// interpreter runs a file by a program of a Debian package.
func interpreter(program, pkg string, args ...string) func(*testing.T, string) *exec.Cmd {
	return func(t *testing.T, file string) *exec.Cmd {
		t.Helper()
		if program == "bash" {
			needs.Program(t, "curl", "curl")
			needs.Program(t, "jq", "jq")
		}
		return exec.CommandContext(t.Context(), needs.Program(t, program, pkg), append(args, file)...)
	}
}

// goProgram builds a file in a module of its own, as its user does.
func goProgram(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const product = "github.com/regwarden/regwarden"
	module := "module example.com/diagnose\n\ngo 1.26.0\n\nrequire " + product + " v0.0.0\n\nreplace " + product + " => " + root + "\n"
	dir := filepath.Dir(file)
	for name, content := range map[string]string{"go.mod": module, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"vet", "."}, {"build", "-o", "diagnose", "."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		// Nothing is downloaded, and what make has compiled with its flags is used.
		cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	return exec.CommandContext(t.Context(), filepath.Join(dir, "diagnose"))
}

// The service accepts each channel of the page, and each body is JSON once it is filled in.
func TestAlertRecipes(t *testing.T) {
	server := instance.Start(t, instance.Options{})
	client := server.Client(t)
	token := client.Login().Authorization
	path := "/v1/projects/" + defaultProject(client, token) + "/alerts/RegistryHealth"
	for _, recipe := range examples(t, "docs/alerts.md", "json") {
		var channel struct {
			Type string
			HTTP struct{ Body string }
		}
		if err := json.Unmarshal([]byte(recipe), &channel); err != nil {
			t.Fatalf("%v\n%s", err, recipe)
		}
		if channel.Type != "http" {
			continue
		}
		client.Do("POST", path, recipe, "Authorization", token).Want(201)
		if channel.HTTP.Body == "{{opsgenie}}" { // no template
			continue
		}
		body := placeholder.ReplaceAllString(channel.HTTP.Body, "x")
		if !json.Valid([]byte(body)) || body == channel.HTTP.Body {
			t.Errorf("not JSON, or without a placeholder: %s", body)
		}
	}
}

var placeholder = regexp.MustCompile(`\{\{\w+\}\}`)

// The page lists the placeholders that the service lists when one is unknown.
func TestPlaceholdersAreDocumented(t *testing.T) {
	client := instance.Start(t, instance.Options{}).Client(t)
	token := client.Login().Authorization
	fault := client.Do("POST", "/v1/projects/"+defaultProject(client, token)+"/alerts/RegistryHealth",
		`{"type":"http","isActive":true,"http":{"url":"https://hooks.example.com","method":"POST","body":"{{mesage}}"}}`,
		"Authorization", token).Want(400).Fault()
	if len(fault.Details.Fields) != 1 || fault.Details.Fields[0].Field != "http.body" {
		t.Fatalf("the fields at fault are %v", fault.Details.Fields)
	}
	_, table, _ := strings.Cut(pageText(t, "docs/alerts.md"), "## Placeholders")
	table, _, _ = strings.Cut(table, "\n## ")
	documented, known := map[string]bool{}, placeholder.FindAllString(fault.Details.Fields[0].Problem, -1)
	for _, name := range placeholder.FindAllString(table, -1) {
		documented[name] = true
		if !slices.Contains(known, name) {
			t.Errorf("%s is documented and unknown", name)
		}
	}
	for _, name := range known {
		if !documented[name] && name != "{{mesage}}" {
			t.Errorf("%s is not documented", name)
		}
	}
}

func defaultProject(client *instance.Client, token string) string {
	var projects struct {
		Items []struct{ Metadata struct{ UID string } }
	}
	client.Do("GET", "/v1/dashboard/projects/metadata", "", "Authorization", token).Want(200).Into(&projects)
	return projects.Items[0].Metadata.UID
}
