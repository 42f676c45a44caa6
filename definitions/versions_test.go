package definitions

import (
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// The version of a chart in an OCI registry is the tag that is checked, as Helm, Flux and Argo CD take it. A range stays one.
func TestVersionsOfCharts(t *testing.T) {
	release := func(version string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: r}\n" +
			"spec: {type: oci, url: oci://one.test/a}\n---\n" +
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: h}\n" +
			"spec: {chart: {spec: {chart: b, version: '" + version + "', sourceRef: {kind: HelmRepository, name: r}}}}\n"
	}
	repository := func(ref string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: r}\n" +
			"spec: {url: oci://one.test/a/b, ref: " + ref + "}\n"
	}
	digest := "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, tt := range []struct{ name, file, text, want string }{
		{"HelmRelease", "a.yaml", release("1.2.3"), "a/b:1.2.3"},
		{"build", "a.yaml", release("v1.2.3-rc.1+up4"), "a/b:v1.2.3-rc.1_up4"},
		{"range", "a.yaml", release("^1.2"), "a/b:^1.2"},
		{"two limits", "a.yaml", release(">=0.1.0-0 <2"), "a/b:>=0.1.0-0 <2"},
		{"any", "a.yaml", release("*"), "a/b:*"},
		{"numbers that may be a range", "a.yaml", release("1.2"), "a/b:=1.2"},
		{"placeholders that may be a tag", "a.yaml", release("1.x"), "a/b:=1.x"},
		{"not a version", "a.yaml", release("latest"), "a/b"},
		{"expression", "a.yaml", release("${VERSION}"), "a/b"},
		{"tag", "a.yaml", repository("{tag: latest}"), "a/b:latest"},
		{"digest", "a.yaml", repository("{tag: latest, digest: '" + digest + "'}"), "a/b@" + digest},
		{"semver", "a.yaml", repository("{tag: latest, semver: '>=1'}"), "a/b:>=1"},
		{"filter", "a.yaml", repository("{semver: '>=1', semverFilter: '.*-rc.*'}"), "a/b"},
		{"tag that is an expression", "a.yaml", repository("{tag: '${TAG}'}"), "a/b"},
		{"no reference", "a.yaml", repository("{}"), "a/b"},
		{"dependency", "Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies:\n" +
			"- {name: b, repository: oci://one.test/a, version: 1.2.3}\n", "a/b:1.2.3"},
		{"Argo CD", "a.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n" +
			"spec: {source: {repoURL: one.test/a, chart: b, targetRevision: 1.2.3}}\n", "a/b:1.2.3"},
		{"Argo CD's oci://", "a.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n" +
			"spec: {source: {repoURL: 'oci://one.test/a/b', path: ., targetRevision: 1.2.3}}\n", "a/b:1.2.3"},
		{"helmfile", "helmfile.yaml", "releases:\n- {name: a, chart: oci://one.test/a/b, version: 1.2.3}\n", "a/b:1.2.3"},
		{"helmfile's repository", "helmfile.yaml", "repositories:\n- {name: r, url: one.test/a, oci: true}\nreleases:\n" +
			"- {name: a, chart: r/b, version: 1.2.3}\n", "a/b:1.2.3"},
		{"kustomize", "kustomization.yaml", "helmCharts:\n- {name: b, repo: oci://one.test/a, version: 1.2.3}\n", "a/b:1.2.3"},
		{"Terraform", "a.tf", "resource \"helm_release\" \"a\" {\n  repository = \"oci://one.test/a\"\n  chart = \"b\"\n" +
			"  version = \"1.2.3\"\n}\n", "a/b:1.2.3"},
	} {
		r, err := Read(t.Context(), fstest.MapFS{tt.file: {Data: []byte(tt.text)}}, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, found := range r.Registries {
			paths = append(paths, found.Definition.BaseContentPath)
		}
		if len(paths) == 0 || paths[len(paths)-1] != tt.want {
			t.Errorf("%s: %q, want %q; %v", tt.name, paths, tt.want, r.Skipped)
		}
	}
}
