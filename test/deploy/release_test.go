package deploy_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"sigs.k8s.io/yaml"

	"github.com/regwarden/regwarden/test/instance"
)

// TestReleaseImage reads the image of a release with another implementation of the OCI image layout, compares it with the
// Dockerfile's, and runs it.
func TestReleaseImage(t *testing.T) {
	file := releaseImage(t)
	if again := releaseImage(t); !bytes.Equal(mustRead(t, file), mustRead(t, again)) {
		t.Error("the same binaries give another image")
	}
	images, err := oci.NewFromTar(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	top, err := images.Resolve(t.Context(), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index := fetch[ocispec.Index](t, images, top)
	if len(index.Manifests) != 2 || index.Manifests[0].Platform.Architecture != "amd64" ||
		index.Manifests[1].Platform.Architecture != "arm64" {
		t.Fatalf("the index has %+v", index.Manifests)
	}
	want := configuration(t, stages(t)[1])
	for _, d := range index.Manifests {
		manifest := fetch[ocispec.Manifest](t, images, d)
		image := fetch[ocispec.Image](t, images, manifest.Config)
		if diff := cmp.Diff(want, image.Config, cmpopts.IgnoreFields(ocispec.ImageConfig{}, "Labels")); diff != "" ||
			image.Architecture != d.Platform.Architecture {
			t.Errorf("%s differs from the Dockerfile's image (-Dockerfile +release):\n%s", image.Architecture, diff)
		}
		if image.Architecture == runtime.GOARCH {
			runImage(t, unpack(t, images, manifest.Layers[0]), image.Config.Env)
		}
	}
}

// releaseImage writes the image with the binary of this machine for both platforms.
func releaseImage(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	cmd := exec.Command("go", "run", "./deploy/ociimage", "--version", "1.2.3", "--created", "1795320000", "--out", file,
		"amd64="+instance.Binary(t), "arm64="+instance.Binary(t))
	cmd.Dir, cmd.Env = filepath.Join(deployDir, ".."), append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "  image.tar\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// fetch reads a blob and verifies its digest and size.
func fetch[T any](t *testing.T, images *oci.ReadOnlyStore, d ocispec.Descriptor) (value T) {
	t.Helper()
	data, err := content.FetchAll(t.Context(), images, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// unpack lays out the image's root.
func unpack(t *testing.T, images *oci.ReadOnlyStore, layer ocispec.Descriptor) string {
	t.Helper()
	data, err := content.FetchAll(t.Context(), images, layer)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = unpackFile(filepath.Join(root, filepath.Clean("/"+header.Name)), header, files)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if bundle := mustRead(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")); bytes.Count(bundle,
		[]byte("BEGIN CERTIFICATE")) < 100 {
		t.Errorf("the image trusts %d certificate authorities", bytes.Count(bundle, []byte("BEGIN CERTIFICATE")))
	}
	if err := os.Chmod(root, 0o555); err != nil { // #nosec G302 -- as the image's root is
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(root, 0o700) }) // #nosec G302 -- so that it can be deleted
	return root
}

func unpackFile(path string, header *tar.Header, from io.Reader) error {
	if header.Typeflag == tar.TypeDir {
		err := os.Mkdir(path, header.FileInfo().Mode().Perm())
		if os.Geteuid() == 0 { // others run the image in a user namespace, where they are its user
			err = errors.Join(err, os.Chown(path, header.Uid, header.Gid))
		}
		return err
	}
	data, err := io.ReadAll(from)
	return errors.Join(err, os.WriteFile(path, data, header.FileInfo().Mode().Perm()))
}

// Everything that names the version of the next release names the same one.
func TestVersionOfTheRelease(t *testing.T) {
	var chart struct{ Version, AppVersion string }
	if err := yaml.Unmarshal(mustFile(t, "chart/Chart.yaml"), &chart); err != nil || chart.Version != chart.AppVersion {
		t.Fatalf("%+v: %v", chart, err)
	}
	page := regexp.MustCompile(`@[0-9a-f]{40} # .*`).ReplaceAllString(pipelinesPage(t), "") // actions of others
	named := regexp.MustCompile(`\bv?[0-9]+\.[0-9]+\.[0-9]+\b`).FindAllString(page, -1)
	for _, version := range named {
		if strings.TrimPrefix(version, "v") != chart.Version {
			t.Errorf("docs/pipelines.md names %s, the chart %s", version, chart.Version)
		}
	}
	if len(named) < 12 {
		t.Errorf("docs/pipelines.md names %v", named)
	}
}

// A release is not built for a tag that the chart does not have.
func TestReleaseOfAnotherTag(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"release", "chart/Chart.yaml"} {
		file := filepath.Join(dir, "deploy", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, mustFile(t, name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "-ec", `git init --quiet && git -c user.name=a -c user.email=a@b.test commit --quiet --allow-empty -m a
		git tag v99.0.0; printf '#!/bin/sh\nexit 3' >go; chmod +x go; PATH=$PWD:$PATH bash deploy/release`) // go would read a network
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); exitCode(err) != 1 || !strings.Contains(string(out), "has no tag v") {
		t.Errorf("%v\n%s", err, out)
	}
}
