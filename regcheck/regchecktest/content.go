package regchecktest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
)

const (
	manifestType   = "application/vnd.oci.image.manifest.v1+json"
	helmConfig     = "application/vnd.cncf.helm.config.v1+json"
	helmLayer      = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	zarfConfig     = "application/vnd.zarf.config.v1+json"
	zarfLayer      = "application/vnd.zarf.layer.v1.blob"
	imageConfig    = "application/vnd.oci.image.config.v1+json"
	imageLayer     = "application/vnd.oci.image.layer.v1.tar+gzip"
	unknownConfig  = "application/vnd.unknown.config.v1+json" // what oras writes by itself, as for packs
	unknownPayload = "application/vnd.oci.image.layer.v1.tar"
)

// sharedTree is created once: no server changes it.
var sharedTree = sync.OnceValue(newTree)

// tree is the content of a registry, the same in every test network.
type tree struct {
	repositories map[string]*repository
}

type repository struct {
	tags      map[string]string // tag to digest
	manifests map[string][]byte // by digest
	blobs     map[string][]byte
}

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

func newTree() *tree {
	t := &tree{map[string]*repository{}}
	for _, chart := range []string{"charts/nginx", "charts/redis", "charts/team/web", "public/hello", "vault/secret",
		"acme-project/charts/nginx"} {
		name := chart[strings.LastIndex(chart, "/")+1:]
		t.push(chart, "1.2.3", helmConfig, []byte(`{"name":"`+name+`","version":"1.2.3","apiVersion":"v2"}`), helmLayer,
			chartArchive(name, "1.2.3"))
		t.push(chart, "1.3.0_build.7", helmConfig, []byte(`{"name":"`+name+`","version":"1.3.0+build.7","apiVersion":"v2"}`), helmLayer,
			chartArchive(name, "1.3.0+build.7"))
	}
	t.push("packages/podinfo", "6.4.0", zarfConfig, []byte(`{"architecture":"amd64","ociVersion":"1.0.1"}`), zarfLayer,
		[]byte("kind: ZarfPackageConfig\nmetadata:\n  name: podinfo\n  version: 6.4.0\n"))
	t.push("packs/spectro-packs/archive/calico", "3.27.0", unknownConfig, []byte("{}"), unknownPayload,
		archive(map[string]string{"pack.json": `{"name":"calico","version":"3.27.0"}`}))
	t.push("images/alpine", "3.20", imageConfig, []byte(`{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}`),
		imageLayer, archive(map[string]string{"etc/alpine-release": "3.20.0\n"}))
	t.repositories["empty/none"] = &repository{tags: map[string]string{}}
	return t
}

func (t *tree) push(name, tag, configType string, config []byte, layerType string, layer []byte) {
	r := t.repositories[name]
	if r == nil {
		r = &repository{map[string]string{}, map[string][]byte{}, map[string][]byte{}}
		t.repositories[name] = r
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": r.blob(configType, config), "layers": []descriptor{r.blob(layerType, layer)},
	})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	r.tags[tag] = digest(manifest)
	r.manifests[digest(manifest)] = manifest
}

func (r *repository) blob(mediaType string, content []byte) descriptor {
	r.blobs[digest(content)] = content
	return descriptor{mediaType, digest(content), len(content)}
}

func (r *repository) tagList() []string {
	list := make([]string, 0, len(r.tags))
	for tag := range r.tags {
		list = append(list, tag)
	}
	sort.Strings(list)
	return list
}

// hasProject reports whether a repository is below a name.
func (t *tree) hasProject(project string) bool {
	for name := range t.repositories {
		if strings.HasPrefix(name, project+"/") {
			return true
		}
	}
	return false
}

func (t *tree) names(may func(string) bool) []string {
	list := []string{}
	for name := range t.repositories {
		if may(name) {
			list = append(list, name)
		}
	}
	sort.Strings(list)
	return list
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func chartArchive(name, version string) []byte {
	return archive(map[string]string{name + "/Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n"})
}

func archive(files map[string]string) []byte {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	members := tar.NewWriter(packed)
	for name, text := range files {
		_ = members.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
		_, _ = members.Write([]byte(text))
	}
	_ = members.Close()
	_ = packed.Close()
	return out.Bytes()
}
