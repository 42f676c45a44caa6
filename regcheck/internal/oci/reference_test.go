package oci

import (
	"strings"
	"testing"
)

func TestReference(t *testing.T) {
	hex := strings.Repeat("a1", 32)
	for path, want := range map[string]Reference{
		"charts/nginx:1.2.3":                          {"charts/nginx", "1.2.3", ""},
		"nginx:1.2.3_build.7":                         {"nginx", "1.2.3_build.7", ""},
		"charts/nginx@sha256:" + hex:                  {"charts/nginx", "", "sha256:" + hex},
		"charts/nginx:1.2.3@sha256:" + hex:            {"charts/nginx", "1.2.3", "sha256:" + hex},
		"charts/nginx@sha512:" + hex + hex:            {"charts/nginx", "", "sha512:" + hex + hex},
		"charts/nginx@multihash+base58:QmRZxt2b1F":    {"charts/nginx", "", "multihash+base58:QmRZxt2b1F"},
		"charts/nginx":                                {},
		"charts/nginx:":                               {},
		"charts/nginx@":                               {},
		"charts/nginx@sha256:" + hex[1:]:              {},
		"charts/nginx@SHA256:" + hex:                  {},
		"charts/nginx@sha256:" + strings.ToUpper(hex): {},
		"charts/nginx:" + strings.Repeat("t", 129):    {},
		"charts/Nginx:1":                              {},
		"registry.test:443/charts/nginx":              {},
		"registry.test:443/charts/nginx:1":            {},
		"registry.test/charts/nginx:1":                {},
		"registry.test:5000":                          {},
		"a:1/b":                                       {},
		":1":                                          {},
	} {
		got, ok := ReadReference(path, func(host string) bool { return host == "registry.test" })
		if ok != (want != Reference{}) || ok && (got != want || got.String() != path) {
			t.Errorf("%s: %+v %v, want %+v", path, got, ok, want)
		}
	}
}

// A digest of a known algorithm is checked; content with a digest of an unknown one cannot be.
func TestDigestMatches(t *testing.T) {
	for digest, want := range map[string]bool{
		Digest([]byte("x")): true, Digest([]byte("y")): false, "md6:00": true,
		"sha512:" + strings.Repeat("0", 128): false,
	} {
		if got := Matches(digest, []byte("x")); got != want {
			t.Errorf("%s: %v", digest, got)
		}
	}
}

// The manifest of a hostile registry takes little memory, and its digests and names are checked before use.
func FuzzManifest(f *testing.F) {
	for _, seed := range []string{
		`{"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":"sha256:00","size":2},` +
			`"layers":[{"digest":"sha256:00","size":-1}]}`,
		`{"manifests":[{"digest":"sha256:00","platform":{"os":"linux","architecture":"arm64","variant":"v8"}},{}]}`,
		`{"layers":null,"manifests":{}}`, `{"layers":[1]}`, `{"config":[],"layers":[{"urls":["https://x.test/"]}]}`, `{"layers":[{},{},{`,
		`{"layers":[{"size":1e99}]}`,
		`{"layers":[` + strings.Repeat("{},", 5000) + `{}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := ReadManifest(body)
		if err != nil {
			return
		}
		if len(m.Layers) > MaxDescriptors || len(m.Manifests) > MaxDescriptors || len(m.Blobs()) > len(m.Layers)+1 {
			t.Errorf("%d layers, %d manifests", len(m.Layers), len(m.Manifests))
		}
		m.Kind()
		for _, d := range m.Blobs() {
			if IsDigest(d.Digest) && (!IsReference(d.Digest) || strings.ContainsAny(d.Digest, "/?#% ")) {
				t.Errorf("%q would change the URL", d.Digest)
			}
			HashFor(d.Digest)
		}
	})
}
