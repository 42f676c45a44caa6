package registry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/cli/manage"
)

// server is a local store with a response for each path, and 404 for others. It records the requests that change something.
type server struct {
	store
	responses map[string]string
	changes   []string // methods, paths and bodies
}

func (s *server) Open(context.Context, string, bool) (http.RoundTripper, func(), error) {
	return s, func() {}, nil
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, text := http.StatusOK, s.responses[r.URL.Path]
	switch {
	case r.Method != http.MethodGet:
		s.changes = append(s.changes, r.Method+" "+r.URL.Path+" "+string(body))
		status, text = http.StatusNoContent, ""
	case text == "":
		status, text = http.StatusNotFound, `{"code":"ResourceNotFound","message":"Registry not found."}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// run runs a command of registries with this standard input, and returns what it prints.
func (s *server) run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := Commands{manage.Program{NewLocal: func() manage.Local { return s }}}.Registry()
	var out bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

const (
	pathList  = "/v1/registries/oci/summary"
	pathOfOne = "/v1/registries/oci/1/basic"
)

// newServer returns a store with a registry of the set "s", as the API shows it.
func newServer(name, auth string) *server {
	metadata := fmt.Sprintf(`"metadata":{"uid":"1","name":%q,"labels":{"regwarden-apply":"s"}}`, name)
	return &server{responses: map[string]string{
		pathList:  fmt.Sprintf(`{"items":[{%s}]}`, metadata),
		pathOfOne: fmt.Sprintf(`{%s,"spec":{"endpoint":"r.example","providerType":"helm","scope":"tenant","auth":%s}}`, metadata, auth),
	}}
}

// The registry of a file is the stored one whose name the server takes for the same, and no prune deletes it.
func TestApplyWhatIsStored(t *testing.T) {
	const noAuth, key = `{"type":"noAuth"}`, `{"type":"gcp","gcp":{"serviceAccount":"********"}}`
	for _, tt := range []struct {
		what, stored, auth, file, result string
	}{
		{"a blank after both names", "r ", noAuth, "metadata: {name: \"r \"}\nspec: {endpoint: r.example}", resultUnchanged},
		{"a blank after the stored name", "r ", noAuth, "metadata: {name: r}\nspec: {endpoint: r.example}", resultUnchanged},
		{"letters in two forms", "Cafe\u0301", noAuth, "metadata: {name: \"café\"}\nspec: {endpoint: r.example}", resultUpdated},
		{"two spellings", "Maße", noAuth, "metadata: {name: masse}\nspec: {endpoint: r.example}", resultUpdated},
		{"the default kind", "r", noAuth, "metadata: {name: r}\nspec: {kind: oci, endpoint: r.example}", resultUnchanged},
		{"another kind", "r", noAuth, "metadata: {name: r}\nspec: {kind: chartRepository, endpoint: r.example}", resultUpdated},
		{"a key that is left out", "r", key, "metadata: {name: r}\nspec: {endpoint: r.example, auth: {type: gcp}}", resultUnchanged},
	} {
		s := newServer(tt.stored, tt.auth)
		out, err := s.run(t, tt.file, "apply", "-f", "-", "--prune", "s", "--yes")
		others := slices.ContainsFunc(s.changes, func(c string) bool { return !strings.HasPrefix(c, "PUT "+pathOfOne+" ") })
		if err != nil || !strings.Contains(out, tt.result) || others || (len(s.changes) == 0) != (tt.result == resultUnchanged) {
			t.Errorf("%s: %v, %q, %s", tt.what, err, s.changes, out)
		}
	}
	twice := "metadata: {name: maße}\nspec: {endpoint: r.example}\n---\nmetadata: {name: MASSE}\nspec: {endpoint: r.example}\n"
	if _, err := newServer("r", noAuth).run(t, twice, "apply", "-f", "-"); err == nil || !strings.Contains(err.Error(), "is also in") {
		t.Errorf("two definitions with one name: %v", err)
	}
}

// A registry that is deleted while a command reads all of them does not end it.
func TestRegistriesDeletedConcurrently(t *testing.T) {
	s := newServer("r", `{"type":"noAuth"}`)
	s.responses[pathList] = `{"items":[{"metadata":{"uid":"0","name":"gone"}},{"metadata":{"uid":"1","name":"r"}}]}`
	if out, err := s.run(t, "", "export"); err != nil || !strings.Contains(out, "name: r\n") {
		t.Errorf("export: %v, %s", err, out)
	}
	if _, err := s.run(t, "", "export", "gone"); err == nil {
		t.Error("the export of one that is missing succeeds")
	}
	const file = "metadata: {name: r}\nspec: {endpoint: r.example}"
	if out, err := s.run(t, file, "apply", "-f", "-", "--prune", "s", "--yes"); err != nil || !strings.Contains(out, resultUnchanged) {
		t.Errorf("apply: %v, %s", err, out)
	}
	const ofGone = "metadata: {name: gone}\nspec: {endpoint: r.example, auth: {type: noAuth}}"
	if out, err := s.run(t, ofGone, "apply", "-f", "-", "--dry-run"); err != nil || !strings.Contains(out, resultCreated) {
		t.Errorf("apply of one that is missing: %v, %s", err, out)
	}
}

// A username without credentials, as a file with "type: noAuth" leaves it, does not make a password required.
func TestUpdateWithoutCredentials(t *testing.T) {
	write := func(name, auth string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte("endpoint: r.example\nauth: "+auth+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	basic := write("basic.yaml", "{type: basic, username: ada}")
	ecr := write("ecr.yaml", "{type: ecr, aws: {accessKey: AKIA, secretKey: s}}")
	for _, tt := range []struct{ password, flag, sent string }{
		{"", "--content=x", `"type":"noAuth","username":"ada"`},
		{"p", "--password-stdin", `"type":"basic","username":"ada","password":"p"`},
		{"", "--validate=false", ""},                               // nothing to change
		{"", "--file=" + basic, `"type":"basic","username":"ada"`}, // the server refuses it without a password
		{"", "--file=" + ecr, `"auth":{"type":"ecr","aws":`},
	} {
		s := newServer("r", `{"type":"noAuth","username":"ada"}`)
		_, err := s.run(t, tt.password, "update", "r", tt.flag)
		sent := strings.Join(s.changes, " ")
		if changes := tt.sent != ""; (err == nil) != changes || (sent != "") != changes || !strings.Contains(sent, tt.sent) {
			t.Errorf("%s: %v, %s", tt.flag, err, sent)
		}
	}
}
