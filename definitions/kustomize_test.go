package definitions

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// TestNamespacesOfKustomize: the outermost kustomization decides, then the first one, then the object itself.
func TestNamespacesOfKustomize(t *testing.T) {
	const object = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: r, namespace: own}\nspec: " +
		"{type: oci, url: oci://one.test/charts}\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"none", map[string]string{}, "HelmRepository own/r"},
		{"without a namespace", map[string]string{"kustomization.yaml": "resources: [r.yaml]"}, "HelmRepository own/r"},
		{"with one", map[string]string{"kustomization.yaml": "namespace: a\nresources: [r.yaml]"}, "HelmRepository a/r"},
		{"a component", map[string]string{"kustomization.yaml": "kind: Component\nnamespace: a\nresources: [r.yaml]"},
			"HelmRepository a/r"},
		{"of Flux", map[string]string{"kustomization.yaml": "kind: Kustomization\nspec: {}\nnamespace: a\nresources: [r.yaml]"},
			"HelmRepository own/r"},
		{"another kind", map[string]string{"kustomization.yaml": "kind: Other\nnamespace: a\nresources: [r.yaml]"}, "HelmRepository own/r"},
		{"the first of two", map[string]string{"a/kustomization.yaml": "namespace: a\nresources: [../r.yaml]",
			"b/kustomization.yaml": "namespace: b\nresources: [../r.yaml]"}, "HelmRepository a/r"},
		{"the outermost", map[string]string{"a/kustomization.yaml": "namespace: a\nresources: [../r.yaml]",
			"b/kustomization.yaml": "namespace: b\nresources: [../a, ., '', 'https://two.test//a']"}, "HelmRepository b/r"},
		{"each other", map[string]string{"a/kustomization.yaml": "namespace: a\nresources: [../b, ../r.yaml]",
			"b/kustomization.yaml": "namespace: b\nresources: [../a]"}, "HelmRepository a/r"},
	} {
		tree := fstest.MapFS{"r.yaml": {Data: []byte(object)}}
		for name, text := range tt.files {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		result, err := Read(context.Background(), tree, model.Options{})
		if err != nil || len(result.Registries) != 1 || result.Registries[0].Sources[0].Object != tt.want {
			t.Errorf("%s: %+v, %v, want %s", tt.name, result, err, tt.want)
		}
	}
}

// TestGeneratedSecretsThatPodsMount: variables of a file that is missing may be anything, and are no docker config until they are known.
func TestGeneratedSecretsThatPodsMount(t *testing.T) {
	tree := fstest.MapFS{
		"kustomization.yaml": {Data: []byte("resources: [pod.yaml]\nsecretGenerator: [{name: app, envs: [app.env]}]\n")},
		"pod.yaml":           {Data: []byte("apiVersion: v1\nkind: Pod\nspec: {volumes: [{secret: {secretName: app}}]}\n")},
	}
	result, err := Read(context.Background(), tree, model.Options{})
	if got := entries(result); err != nil || got != "" {
		t.Errorf("%s, %v", got, err)
	}
}

// TestLongChangesOfImages: a change of images that is longer than any image can be is not applied.
func TestLongChangesOfImages(t *testing.T) {
	for length, want := range map[int]string{1012: strings.Repeat("1", 1012), 1013: "old"} {
		tree := fstest.MapFS{
			"kustomization.yaml": {Data: []byte("resources: [pod.yaml]\n" +
				"images: [{name: one.test/app, newTag: '" + strings.Repeat("1", length) + "'}]\n")},
			"pod.yaml": {Data: []byte("apiVersion: v1\nkind: Pod\nspec: {containers: [{image: 'one.test/app:old'}]}\n")},
		}
		result, err := Read(context.Background(), tree, model.Options{})
		if err != nil || len(result.References) != 1 || result.References[0].Definition.BaseContentPath != "app:"+want {
			t.Errorf("a tag of %d bytes: %+v, %v", length, result.References, err)
		}
	}
}
