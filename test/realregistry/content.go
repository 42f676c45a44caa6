package realregistry

import (
	"context"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
)

// Kind is what a repository holds, by the media types that real tools push.
type Kind struct {
	Config string
	Layer  string
}

// Kinds. A pack is what oras pushes by itself: no media type of its own is known.
var (
	Helm  = Kind{Config: "application/vnd.cncf.helm.config.v1+json", Layer: "application/vnd.cncf.helm.chart.content.v1.tar+gzip"}
	Zarf  = Kind{Config: "application/vnd.zarf.config.v1+json", Layer: "application/vnd.zarf.layer.v1.blob"}
	Pack  = Kind{Config: "application/vnd.unknown.config.v1+json", Layer: ocispec.MediaTypeImageLayerGzip}
	Image = Kind{Config: ocispec.MediaTypeImageConfig, Layer: ocispec.MediaTypeImageLayerGzip}
)

const pushWait = 30 * time.Second

// Push puts one artifact into the registry with oras-go and returns its descriptor.
func Push(t testing.TB, a Access, kind Kind, repository, tag string) ocispec.Descriptor {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pushWait)
	defer cancel()
	store := memory.New()
	layer := pushBlob(ctx, t, store, kind.Layer, "content of "+repository+" "+tag)
	config := pushBlob(ctx, t, store, kind.Config, `{"name":"`+repository+`","version":"`+tag+`"}`)
	options := oras.PackManifestOptions{ConfigDescriptor: &config, Layers: []ocispec.Descriptor{layer}}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, "", options)
	if err != nil {
		t.Fatalf("pack %s: %v", repository, err)
	}
	if err := store.Tag(ctx, manifest, tag); err != nil {
		t.Fatalf("tag %s: %v", repository, err)
	}
	if _, err := oras.Copy(ctx, store, tag, a.repository(t, repository), tag, oras.DefaultCopyOptions); err != nil {
		t.Fatalf("push %s:%s to %s: %v", repository, tag, a.Endpoint, err)
	}
	return manifest
}

func pushBlob(ctx context.Context, t testing.TB, store *memory.Store, mediaType, text string) ocispec.Descriptor {
	t.Helper()
	blob, err := oras.PushBytes(ctx, store, mediaType, []byte(text))
	if err != nil {
		t.Fatalf("make a blob: %v", err)
	}
	return blob
}

// Empty pushes and deletes, which leaves a repository without tags.
func Empty(t testing.TB, a Access, repository string) {
	t.Helper()
	manifest := Push(t, a, Helm, repository, "0.1.0")
	ctx, cancel := context.WithTimeout(t.Context(), pushWait)
	defer cancel()
	if err := a.repository(t, repository).Delete(ctx, manifest); err != nil {
		t.Fatalf("empty %s: %v", repository, err)
	}
}

// Tags lists a repository with oras-go.
func Tags(t testing.TB, a Access, repository string) ([]string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pushWait)
	defer cancel()
	var all []string
	err := a.repository(t, repository).Tags(ctx, "", func(tags []string) error {
		all = append(all, tags...)
		return nil
	})
	return all, err
}

// Ping asks with oras-go whether the registry takes these credentials.
func Ping(t testing.TB, a Access) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pushWait)
	defer cancel()
	return a.registry(t).Ping(ctx)
}

// Paths of the content that Fill makes.
const (
	ChartPath  = "charts/podinfo"
	ZarfPath   = "zarf/dos-games"
	PackBase   = "packs" // what a definition names
	PackPath   = PackBase + "/spectro-packs/archive/cni-calico"
	ImagePath  = "images/alpine"
	EmptyPath  = "charts/emptied"
	AbsentPath = "charts/never-pushed"
)

// Fill pushes one repository of each kind and an emptied one.
func Fill(t testing.TB, a Access) {
	t.Helper()
	Push(t, a, Helm, ChartPath, "6.7.1")
	Push(t, a, Zarf, ZarfPath, "1.2.0")
	Push(t, a, Pack, PackPath, "3.28.0")
	Push(t, a, Image, ImagePath, "3.20")
	Empty(t, a, EmptyPath)
}

// LoseBlob deletes a blob that the manifest of a tag names, as a lost disk or a wrong garbage collection would: 0 is the config.
func LoseBlob(t testing.TB, a Access, repository, tag string, index int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pushWait)
	defer cancel()
	repo := a.repository(t, repository)
	manifest, err := repo.Resolve(ctx, tag)
	if err != nil {
		t.Fatalf("resolve %s:%s: %v", repository, tag, err)
	}
	blobs, err := content.Successors(ctx, repo, manifest)
	if err != nil {
		t.Fatalf("read the manifest of %s:%s: %v", repository, tag, err)
	}
	if err := repo.Blobs().Delete(ctx, blobs[index]); err != nil {
		t.Fatalf("delete a blob of %s:%s: %v", repository, tag, err)
	}
}

// Pull copies an artifact from the registry with oras-go, as a client would.
func Pull(t testing.TB, a Access, repository, tag string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pushWait)
	defer cancel()
	_, err := oras.Copy(ctx, a.repository(t, repository), tag, memory.New(), tag, oras.DefaultCopyOptions)
	return err
}
