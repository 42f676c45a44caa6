package definitions

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

const (
	brokenSecret = "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/dockerconfigjson\ndata: [\n"
	dockerConfig = `{"auths": {"one.test": {"username": "ada", "password": "hunter2"}}}`
	manifest     = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nspec: {type: oci, url: oci://one.test/charts}\n"
	rules        = `{"hostRules": [{"matchHost": "one.test", "username": "ada", "password": "hunter2"}]}`
	helmfile     = "releases:\n- name: a\n  chart: oci://one.test/a\n"
	provider     = "provider \"helm\" {\n  registry { url = \"oci://one.test\" }\n}\n"
)

// What a file is follows from its name and content. In a directory, what cannot be parsed is a problem only if it is certain that a known
// program reads it; the user means every file that is given, but not every file of a list.
func TestRecognition(t *testing.T) {
	const nothing, problem, found = "nothing", "problem", "found"
	for _, tt := range []struct{ name, text, walked, given string }{
		{"app.yaml", "a: [", nothing, problem},
		{"tsconfig.json", "{\n  // a comment\n}", nothing, problem},
		{"app.toml", "a = ", nothing, problem},
		{"Chart.yaml", "apiVersion: v2\nname: [", problem, problem},
		{"app/.docker/config.json", `{"auths": {`, problem, problem},
		{".dockerconfigjson", `{"auths": {`, problem, problem},
		{".dockerconfigjson", "{", problem, problem},
		{"app.json", `{"error": "not found"}`, nothing, problem},
		{"k3s/registries.yaml", "mirrors: [", problem, problem},
		{".github/workflows/a.yml", "on: [", problem, problem},
		{"certs.d/one.test/hosts.toml", "server = ", problem, problem},
		{"secret.yaml", brokenSecret, problem, problem},
		{"secret", brokenSecret, problem, problem},
		{"secret.yaml", brokenSecret[strings.Index(brokenSecret, "kind"):], problem, problem},
		{"secret.md", brokenSecret, nothing, nothing},
		{"secret.txt", brokenSecret, nothing, problem},
		{"values.yaml", strings.Replace(brokenSecret, "Secret", "A", 1), nothing, problem},
		{"secret_test.go", "package a\n" + brokenSecret, nothing, nothing},
		{"secrets.yaml", manifest + "---\nkind: Secret\ndata: [\n", found, problem},
		{"secrets.yaml", manifest + "---\n" + brokenSecret, problem, problem},
		{"secrets.yaml", brokenSecret + "---\n" + manifest, problem, problem},
		{"manifest.yaml", manifest, found, found},
		{"manifest", manifest, found, found},
		{"README.md", "---\n" + manifest + "---\n", nothing, found},
		{"manifest.go.golden", manifest, nothing, found},
		{"config.json", dockerConfig, found, found},
		{"config.ts", dockerConfig, nothing, found},
		{"config.bin", "\x00" + dockerConfig, nothing, nothing},
		{"config.json", "\ufeff" + dockerConfig, problem, problem},
		{"config.json", "\ufeff" + `{"credHelpers": {"one.test": "ecr-login"}}`, problem, problem},
		{"config.json", "\ufeff" + `{"credsStore": "desktop"}`, problem, problem},
		{"config.json", "\ufeff" + `{"auths": {}}`, nothing, problem},
		{"config.json", "\ufeff{", nothing, problem},
		{"config.json", `{"apiVersion": "v1", "auths": {"one.test": {"auth": "YTpi"}}}`, nothing, nothing},
		{"config.json", `{"kind": "Config", "auths": {"one.test": {"auth": "YTpi"}}}`, nothing, nothing},
		{"old", `{"one.test": {"auth": "YTpi", "email": "a"}}`, found, found},
		{"old", `{"one.test": {"username": "a", "email": "b"}}`, nothing, nothing},
		{"old", `{"one.test": {"auth": "YTpi", "other": "b"}}`, nothing, nothing},
		{"old", `{"one.test": {"auth": 5}}`, nothing, nothing},
		{"old", `{"one.test": {"auth": "YTpi"}, "two.test": "b"}`, nothing, nothing},
		{"renovate.json", rules, found, found},
		{"presets/base.json", rules, found, found},
		{"presets/base.json", `{"hostRules": [{"a": 1}]}`, nothing, nothing},
		{"base.md", rules, nothing, found},
		{"config.js", "module.exports = " + rules, problem, problem},
		{"docs.js", "module.exports = " + rules, nothing, problem},
		{"helmfile.yaml", helmfile, found, found},
		{"helmfile.d/a.yaml", helmfile, found, found},
		{"releases.yaml", helmfile, nothing, found},
		{"helmfile.yaml.gotmpl", "{{ if .a }}\n" + helmfile + "{{ end }}", nothing, nothing},
		{"main.tf", provider, found, found},
		{"main.tf", provider + "{", problem, problem},
		{"README", provider, nothing, found},
	} {
		tree := fstest.MapFS{tt.name: {Data: []byte(tt.text)}}
		walked, err := Read(context.Background(), tree, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := NewScanner(model.Options{})
		if err := s.AddFile("", tree, tt.name); err != nil {
			t.Fatal(err)
		}
		directory, base := path.Split(tt.name)
		listed := NewScanner(model.Options{SkipUnknown: true})
		if err := listed.AddFile(directory, fstest.MapFS{base: {Data: []byte(tt.text)}}, base); err != nil {
			t.Fatal(err)
		}
		for how, result := range map[string]struct {
			got  model.Result
			want string
		}{"walked": {walked, tt.walked}, "given": {s.Result(), tt.given}, "listed": {listed.Result(), tt.walked}} {
			got := nothing
			switch {
			case len(result.got.Problems) > 0:
				got = problem
			case len(result.got.Registries) > 0:
				got = found
			}
			if got != result.want {
				t.Errorf("%s, %q, %s: %s, want %s: %+v", tt.name, tt.text, how, got, result.want, result.got)
			}
		}
	}
}

// Templates of a directory are one entry. A text with a password is not in it.
func TestTemplatesOfADirectoryAreOneEntry(t *testing.T) {
	tree := fstest.MapFS{"one/a.yaml": {Data: []byte("apiVersion: v1\nkind: {{ .Kind }\n")}}
	for i := range 3 {
		tree[fmt.Sprintf("many/%d.yaml", i)] = tree["one/a.yaml"]
	}
	result, err := Read(context.Background(), tree, model.Options{})
	if err != nil || len(result.Skipped) != 2 {
		t.Fatal(err, result.Skipped)
	}
	many, one := result.Skipped[0], result.Skipped[1]
	if many.Source.File != "many/" || !strings.Contains(many.Message, "3 files are templates, such as 0.yaml") ||
		one.Source.File != "one/a.yaml" {
		t.Errorf("%+v", result.Skipped)
	}
}

// Objects whose address a kustomization sets are one entry of their directory, too.
func TestSourcesOfADirectoryAreOneEntry(t *testing.T) {
	const application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: {path: a}}\n---\n"
	tree := fstest.MapFS{"many/a.yaml": {Data: []byte(application + application)}, "many/b.yaml": {Data: []byte(application)},
		"one/a.yaml": {Data: []byte(application + application)}}
	result, err := Read(context.Background(), tree, model.Options{})
	if err != nil || len(result.Skipped) != 2 || !strings.Contains(result.Skipped[0].Message, "2 files are templates, such as a.yaml") ||
		!strings.HasPrefix(result.Skipped[1].Message, "The source has no repoURL") || result.Skipped[1].Source.Line != 3 {
		t.Error(err, result.Skipped)
	}
}

// Directories of test data, documentation and vendored code are left out, which is said. What is given is read.
func TestDirectoriesThatAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		files, want string
		all         bool
	}{
		{"a.yaml docs/a.yaml vendor/a.yaml pkg/testdata/a.yaml x/examples/a.yaml node_modules/a.yaml",
			"docs node_modules pkg/testdata vendor x/examples", false},
		{"a.yaml docs/a.yaml vendor/a.yaml", "", true},
		{"clusters/test/a.yaml test/a.yaml", "", false},
		{"go.mod clusters/test/a.yaml test/a.yaml e2e/a.yaml", "clusters/test e2e test", false},
	} {
		tree, want := fstest.MapFS{}, strings.Fields(tt.want)
		for i, name := range strings.Fields(tt.files) {
			tree[name] = &fstest.MapFile{Data: []byte(strings.Replace(manifest, "one.test", fmt.Sprintf("r%d.test", i), 1))}
		}
		delete(tree, "go.mod")
		if strings.Contains(tt.files, "go.mod") {
			tree["go.mod"] = &fstest.MapFile{}
		}
		result, err := Read(context.Background(), tree, model.Options{All: tt.all})
		if err != nil || !slices.Equal(result.LeftOut, want) && len(want) > 0 || result.Summary.LeftOut != len(want) {
			t.Errorf("%s: %v, left out: %v (%d)", tt.files, err, result.LeftOut, result.Summary.LeftOut)
		}
		if found := len(strings.Fields(strings.ReplaceAll(tt.files, "go.mod", ""))) - len(want); result.Summary.Found != found {
			t.Errorf("%s: %d found, want %d", tt.files, result.Summary.Found, found)
		}
	}
}
