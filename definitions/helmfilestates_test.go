package definitions

import (
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// TestStatesOfHelmfile: in a directory, a state with any name is known by what only helmfile has together.
func TestStatesOfHelmfile(t *testing.T) {
	const (
		releases = "releases: [{name: x, chart: oci://one.test/charts/x, version: 3.0.0}]\n"
		chart    = "https://one.test charts/x:3.0.0,notice noMatchingCredentials"
	)
	for _, tt := range []struct{ name, file, text, want string }{
		{"repositories", "releases/datadog.yaml", "repositories: [{name: acme, url: one.test/charts, oci: true, username: u, " +
			"password: p}]\nreleases: [{name: x, chart: acme/x, version: 3.0.0}]\n",
			"https://one.test charts u p,https://one.test charts/x:3.0.0 u p,notice secretInRepository"},
		{"bases", "a.yaml", "bases: [a.yaml]\n---\n" + releases, chart},
		{"defaults", "a.yml", "helmDefaults: {wait: true}\n" + releases, chart},
		{"environments", "a.yaml", "environments: {a: {}}\n---\n" + releases, chart},
		{"nothing else", "a.yaml", releases, ""},
		{"an object", "a.yaml", "apiVersion: a/v1\nkind: A\nenvironments: {a: {}}\n" + releases, ""},
		{"helmwave", "helmwave.yml", "repositories: [{name: a, url: 'https://two.test'}]\n" + releases, ""},
		{"releases without charts", "a.yaml", "environments: {a: {}}\nreleases: [{name: x}]\n", ""},
	} {
		r, err := Read(t.Context(), fstest.MapFS{tt.file: {Data: []byte(tt.text)}}, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := entries(r); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
