package definitions

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/regwarden/regwarden/definitions/model"
)

// fuzzRuntime reads generated files of one format under a name, next to certificates. The seeds are the samples of the format.
func fuzzRuntime(f *testing.F, name string, formats ...model.Format) {
	f.Helper()
	for _, format := range formats {
		err := filepath.WalkDir(filepath.Join("testdata", "samples", string(format)), func(p string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Base(p) == "want.json" {
				return err
			}
			data, err := os.ReadFile(p)
			f.Add(data)
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree := fstest.MapFS{name: {Data: data}}
		for _, certificate := range []string{"ca.crt", "client.cert", "client.key"} {
			tree[filepath.Join(filepath.Dir(name),
				certificate)] = &fstest.MapFile{Data: []byte("-----BEGIN PRIVATE KEY-----\n" + keyText + "\n-----END PRIVATE KEY-----\n")}
		}
		for _, format := range append(formats, "") {
			result, err := Read(context.Background(), tree, model.Options{Format: format})
			if err != nil {
				t.Fatal(err)
			}
			checkFuzzed(t, data, result)
		}
	})
}

// FuzzContainerdHosts reads hosts.toml.
func FuzzContainerdHosts(f *testing.F) {
	fuzzRuntime(f, "certs.d/registry.example.com/hosts.toml", model.ContainerdHosts)
}

// FuzzCertsDirectory reads the certificates of docker and podman.
func FuzzCertsDirectory(f *testing.F) {
	fuzzRuntime(f, "etc/docker/certs.d/registry.example.com/fuzzed.crt", model.ContainerdHosts)
}

// FuzzContainerdConfig reads config.toml of containerd and buildkitd.toml.
func FuzzContainerdConfig(f *testing.F) {
	fuzzRuntime(f, "etc/containerd/config.toml", model.ContainerdConfig, model.Buildkitd)
}

// FuzzRegistriesConf reads registries.conf, also as a drop-in.
func FuzzRegistriesConf(f *testing.F) {
	fuzzRuntime(f, "registries.conf.d/fuzzed.conf", model.ContainersRegistries)
}

// FuzzK3sRegistries reads registries.yaml.
func FuzzK3sRegistries(f *testing.F) {
	fuzzRuntime(f, "registries.yaml", model.K3sRegistries)
}

// FuzzTalos reads configurations of Talos: one object, and documents of one registry each.
func FuzzTalos(f *testing.F) { fuzzReader(f, model.Talos, "worker.yaml") }
