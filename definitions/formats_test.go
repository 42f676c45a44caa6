package definitions

import (
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// TestFormatsByTheirContent: a file of any name has a format if all that the format requires is there, and nothing that excludes it.
func TestFormatsByTheirContent(t *testing.T) {
	const (
		harbor     = `"name": "a", "type": "harbor", "url": "https://one.test"`
		dependabot = "registries: {a: {type: docker-registry, url: one.test, username: a, password: b}}\n"
		job        = "job: {script: [docker login -u a -p hunter2 one.test]}\n"
		charts     = "repositories: [{name: a, url: 'https://one.test'}]\n"
		steps      = "steps: [{uses: docker/login-action@v3, with: {registry: one.test, username: a, password: b}}]"
		helmfileOf = "repositories: [{name: a, url: one.test, oci: true}]\n"
		container  = "container: {image: one.test/a, credentials: {username: a, password: b}}"
	)
	for _, tt := range []struct {
		text   string
		format model.Format
		is     bool
	}{
		{"[{" + harbor + "}]", model.HarborRegistries, true},
		{"- {name: a, type: harbor, url: 'https://one.test'}", model.HarborRegistries, false},
		{"[{" + harbor + `}, {"type": "harbor", "url": "https://two.test"}]`, model.HarborRegistries, false},
		{"[{" + harbor + `}, {"name": "b", "type": "harbor"}]`, model.HarborRegistries, false},
		{"[{" + harbor + `}, {"name": "b", "type": "x", "url": "https://two.test"}]`, model.HarborRegistries, false},
		{"version: 2\nupdates: []\n" + dependabot, model.Dependabot, true},
		{"updates: []\n" + dependabot, model.Dependabot, false},
		{"version: 2\n" + dependabot, model.Dependabot, false},
		{job, model.GitLabCI, true},
		{"apiVersion: v1\n" + job, model.GitLabCI, false},
		{"jobs: {}\n" + job, model.GitLabCI, false},
		{"generated: x\n" + charts, model.HelmRepositories, true},
		{"apiVersion: ''\n" + charts, model.HelmRepositories, true},
		{charts, model.HelmRepositories, false},
		{"generated: x\nkind: A\n" + charts, model.HelmRepositories, false},
		{"dependencies: [{name: a, repository: 'https://one.test'}]", model.HelmChart, true},
		{"kind: A\ndependencies: [{name: a, repository: 'https://one.test'}]", model.HelmChart, false},
		{"dependencies: [{repository: 'https://one.test'}]", model.HelmChart, false},
		{"apiVersion: v2\nname: a\nversion: 1\ndependencies: [{repository: 'https://one.test'}]", model.HelmChart, true},
		{"apiVersion: v2\nname: a\ndependencies: [{repository: 'https://one.test'}]", model.HelmChart, false},
		{"apiVersion: v2\nversion: 1\ndependencies: [{repository: 'https://one.test'}]", model.HelmChart, false},
		{helmfileOf, model.Helmfile, true},
		{"kind: A\n" + helmfileOf, model.Helmfile, false},
		{"jobs: {}\n" + helmfileOf, model.Helmfile, false},
		{"repositories: [{url: one.test, oci: true}]", model.Helmfile, false},
		{"releases: [{name: a, chart: 'oci://one.test/a'}]", model.Helmfile, true},
		{"releases: [{chart: 'oci://one.test/a'}]", model.Helmfile, false},
		{"on: push\njobs: {a: {" + steps + "}}\n", model.GitHubWorkflow, true},
		{"on: push\njobs: {a: {runs-on: x, " + container + "}}\n", model.GitHubWorkflow, true},
		{"on: push\njobs: {a: {" + container + "}}\n", model.GitHubWorkflow, false},
		{"jobs: {a: {" + steps + "}}\n", model.GitHubWorkflow, false},
	} {
		s := NewScanner(model.Options{})
		if err := s.AddFile("", fstest.MapFS{"any": {Data: []byte(tt.text)}}, "any"); err != nil {
			t.Fatal(err)
		}
		is := false
		for _, r := range s.Result().Registries {
			is = is || r.Format == tt.format
		}
		if is != tt.is {
			t.Errorf("%s: %s is %t", tt.text, tt.format, is)
		}
	}
}

// TestAPipelineOfAnotherName is read if its format is given, with the keys of all pipelines.
func TestAPipelineOfAnotherName(t *testing.T) {
	for format, want := range map[model.Format]string{model.Pipeline: "https://one.test a p,notice secretInRepository", "": ""} {
		s := NewScanner(model.Options{Format: format})
		text := "steps: [{bash: docker login -u a -p p one.test}]\n"
		if err := s.AddFile("", fstest.MapFS{"other": {Data: []byte(text)}}, "other"); err != nil {
			t.Fatal(err)
		}
		if got := entries(s.Result()); got != want {
			t.Errorf("format %q: %s, want %s", format, got, want)
		}
	}
}
