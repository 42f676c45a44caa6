package oracles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
)

// kustomizations draws an overlay over a base: namespaces, a generated Secret or one of a file, and a source that refers to it.
func kustomizations(t *rapid.T) map[string]string {
	namespace := func(label string) string {
		if name := rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, label); name != "" {
			return "namespace: " + name + "\n"
		}
		return ""
	}
	metadata := rapid.SampledFrom([]string{"{name: creds}", "{name: creds, namespace: own}"}).Draw(t, "metadata")
	files := map[string]string{
		"base/source.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts}\n" +
			"spec: {type: oci, url: 'oci://registry.example.com/charts', secretRef: {name: creds}}\n",
		"base/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: " + metadata + "\nstringData: {username: ada, password: " +
			rapid.SampledFrom([]string{"hunter2", "'with = sign'"}).Draw(t, "password") + "}\n",
		"overlay/kustomization.yaml": "resources: [../base]\n" + namespace("overlay"),
	}
	resources := "resources: [source.yaml, secret.yaml]\n"
	if rapid.Bool().Draw(t, "generated") {
		delete(files, "base/secret.yaml")
		resources = "resources: [source.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\nsecretGenerator:\n- name: creds\n" +
			rapid.SampledFrom([]string{"  literals: [username=ada, password=hunter2]\n", "  literals: [username=ada, 'password=a=b']\n",
				"  literals: ['username=\"ada\"', \"password='a b'\"]\n", "  literals: ['username=\"', password=\"a']\n",
				"  envs: [creds.env]\n", "  env: creds.env\n"}).Draw(t, "values")
		files["base/creds.env"] = "\ufeff# login\r\n\n  username=ada\r\npassword=\"a b\" \n"
	}
	files["base/kustomization.yaml"] = resources + namespace("base")
	return files
}

// credentialsOf returns what the source of a result uses.
func credentialsOf(r model.Result) string {
	for _, found := range r.Registries {
		return fmt.Sprintf("%s %s %s", found.Definition.Auth.Username, found.Definition.Auth.Password.Reveal(), found.Reason)
	}
	return "nothing"
}

// What is read from kustomizations is what is read from the output of kustomize itself.
func TestKustomize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := kustomizations(t)
		dir, err := os.MkdirTemp("", "kustomize")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		disk := filesys.MakeFsInMemory()
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := disk.WriteFile("/"+name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/overlay")
		if err != nil {
			t.Fatalf("kustomize refuses what it should read: %v\n%s", err, strings.Join(texts(files), "\n---\n"))
		}
		rendered, err := built.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		s := definitions.NewScanner(model.Options{})
		if err := s.AddReader("rendered.yaml", strings.NewReader(string(rendered))); err != nil {
			t.Fatal(err)
		}
		ours, err := definitions.Read(t.Context(), os.DirFS(dir), model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := credentialsOf(ours), credentialsOf(s.Result()); got != want {
			t.Errorf("%q, with kustomize %q\n%s", got, want, strings.Join(texts(files), "\n---\n"))
		}
	})
}

func texts(files map[string]string) (all []string) {
	for name, text := range files {
		all = append(all, "# "+name+"\n"+text)
	}
	slices.Sort(all)
	return all
}
