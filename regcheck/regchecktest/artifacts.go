package regchecktest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Registries whose manifests can be read, and whose blobs differ: lost, altered, or on another host. All have the repositories
// and accounts of "htpasswd".

func artifactServers() map[string]builder {
	config, layer, all := true, false, func(bool) bool { return true }
	only := func(which bool) func(bool) bool { return func(isConfig bool) bool { return isConfig == which } }
	servers := map[string]builder{
		"blobs-config-lost": func(g *Registry) {
			g.blobs(only(config), fails(404, "BLOB_UNKNOWN", "blob unknown to registry"))
		},
		"blobs-layer-lost": func(g *Registry) {
			g.blobs(only(layer), fails(404, "BLOB_UNKNOWN", "blob unknown to registry"))
		},
		"blobs-400": func(g *Registry) { g.blobs(all, fails(400, "UNSUPPORTED", "bad request")) },
		"blobs-403": func(g *Registry) { g.blobs(all, fails(403, "DENIED", "no permission to download layers")) },
		"blobs-429": func(g *Registry) { g.blobs(all, fails(429, "TOOMANYREQUESTS", "slow down")) },
		"blobs-503": func(g *Registry) { g.blobs(all, fails(503, "UNAVAILABLE", "storage is starting")) },
		"blobs-config-altered": func(g *Registry) {
			g.blobs(only(config), g.altered(func(b []byte) []byte { return bytes.ToUpper(b) }))
		},
		"blobs-config-cut": func(g *Registry) {
			g.blobs(only(config), g.altered(func(b []byte) []byte { return b[:9] }))
		},
		"blobs-layer-cut": func(g *Registry) {
			g.blobs(only(layer), g.altered(func(b []byte) []byte { return b[:9] }))
		},
		"blobs-layer-altered": func(g *Registry) { g.blobs(only(layer), g.altered(flipped)) },
		"blobs-refuse-head":   func(g *Registry) { g.blobs(all, g.onlyGET(405)) },
		"blobs-head-404":      func(g *Registry) { g.blobs(all, g.onlyGET(404)) },
		"blobs-loop": func(g *Registry) {
			g.blobs(all, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
			})
		},
		"blobs-endless": func(g *Registry) {
			g.blobs(only(layer), func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					g.endless(w, r, "")
				}
			})
		},
		"blobs-stall":      buildBlobsStall,
		"blobs-large":      buildLargeBlob,
		"blobs-redirected": func(g *Registry) { g.blobsAt("https://storage.test", g.altered(bytes.Clone)) },
		"blobs-signed":     func(g *Registry) { g.blobsAt("https://storage.test", g.onlyGET(403)) },
		"blobs-storage-lost": func(g *Registry) {
			g.blobsAt("https://storage.test", fails(404, "NoSuchKey", "The specified key does not exist."))
		},
		"blobs-insecure":   func(g *Registry) { g.blobsAt("http://storage.test", g.altered(bytes.Clone)) },
		"blobs-many":       buildManyBlobs,
		"blobs-odd":        buildOddBlobs,
		"index":            func(g *Registry) { g.index(false) },
		"index-child-lost": func(g *Registry) { g.index(true) },
		"index-cleaned":    buildCleanedIndex,
		"manifest-altered": buildAlteredManifest,
	}
	for _, host := range []string{"closed", "unknown", "metadata", "loopback", "noroute", "dns-servfail"} {
		servers["blobs-at-"+host] = func(g *Registry) { g.blobsAt("https://"+host+".test", nil) }
	}
	return servers
}

// blobs lets respond handle the requests for some blobs: which is called with whether a blob is a config.
func (g *Registry) blobs(which func(config bool) bool, respond http.HandlerFunc) {
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		_, digest, ok := strings.Cut(r.URL.Path, "/blobs/")
		if !ok || !which(g.isConfig(digest)) {
			return false
		}
		respond(w, r)
		return true
	})
}

func (g *Registry) isConfig(digest string) bool {
	for _, repository := range g.tree.repositories {
		for _, manifest := range repository.manifests {
			if strings.Contains(string(manifest), `"config":{"mediaType":"`) &&
				strings.Contains(string(manifest), `"digest":"`+digest+`","size":`) {
				before, _, _ := strings.Cut(string(manifest), `"layers"`)
				return strings.Contains(before, digest)
			}
		}
	}
	return false
}

func fails(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { (&visit{w: w, r: r}).fail(status, code, message) }
}

// find returns the blob that a request names.
func (g *Registry) find(r *http.Request) []byte {
	_, digest, _ := strings.Cut(r.URL.Path, "/blobs/")
	for _, name := range slices.Sorted(maps.Keys(g.tree.repositories)) {
		if content, known := g.tree.repositories[name].blobs[digest]; known {
			return content
		}
	}
	return nil
}

// altered returns blobs with other content.
func (g *Registry) altered(change func([]byte) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content := change(bytes.Clone(g.find(r)))
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		(&visit{w: w, r: r}).send(http.StatusOK, "application/octet-stream", string(content))
	}
}

func flipped(content []byte) []byte {
	content[len(content)/2] ^= 1
	return content
}

// onlyGET refuses HEAD with a status, and supports ranges of one byte.
func (g *Registry) onlyGET(refusal int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content := g.find(r)
		switch {
		case r.Method == http.MethodHead:
			w.WriteHeader(refusal)
		case r.Header.Get("Range") == "bytes=0-0":
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-0/%d", len(content)))
			(&visit{w: w, r: r}).send(http.StatusPartialContent, "application/octet-stream", string(content[:1]))
		default:
			(&visit{w: w, r: r}).send(http.StatusOK, "application/octet-stream", string(content))
		}
	}
}

// blobsAt redirects all blobs to another origin, as a registry with object storage. Without a handler, there is no server.
func (g *Registry) blobsAt(origin string, handler http.HandlerFunc) {
	if handler != nil {
		s := &site{host: "storage.test:80", handler: handler}
		if strings.HasPrefix(origin, "https:") {
			config := g.tls(leaf{names: []string{"storage.test"}})
			s.host, s.tls = "storage.test:443", config
		}
		g.start(s)
	}
	g.blobs(func(bool) bool { return true }, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, origin+r.URL.Path+"?X-Amz-Signature=0a1b2c", http.StatusTemporaryRedirect)
	})
}

// buildBlobsStall sends a byte of a layer, and then nothing.
func buildBlobsStall(g *Registry) {
	g.blobs(func(config bool) bool { return !config }, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(g.find(r))))
		(&visit{w: w, r: r}).send(http.StatusOK, "application/octet-stream", "x")
		if r.Method == http.MethodGet {
			_ = http.NewResponseController(w).Flush()
			select {
			case <-g.done:
			case <-r.Context().Done():
			}
		}
	})
}

// LargeBlob is the size of the layer of "blobs-large".
const LargeBlob = 64 << 20

// buildLargeBlob has an artifact with a layer of 64 MiB of zeros.
func buildLargeBlob(g *Registry) {
	zeros, sum := make([]byte, 64<<10), sha256.New()
	for range LargeBlob / len(zeros) {
		_, _ = sum.Write(zeros)
	}
	r := g.own("charts/large")
	layer := descriptor{"x", fmt.Sprintf("sha256:%x", sum.Sum(nil)), LargeBlob}
	r.add("1", map[string]any{"config": r.blob(helmConfig, []byte(`{"name":"large"}`)), "layers": []descriptor{layer}})
	g.blobs(func(config bool) bool { return !config }, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(LargeBlob))
		for range LargeBlob / len(zeros) {
			if _, err := w.Write(zeros); err != nil || r.Method == http.MethodHead {
				return
			}
		}
	})
}

// own gives the test network a tree of its own, with one repository.
func (g *Registry) own(name string) *repository {
	owned := &repository{map[string]string{}, map[string][]byte{}, map[string][]byte{}}
	g.tree = &tree{map[string]*repository{name: owned}}
	return owned
}

// add adds a manifest or an index to a repository, and a tag unless it is empty.
func (r *repository) add(tag string, manifest any) descriptor {
	text, err := json.Marshal(manifest)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	r.manifests[digest(text)] = text
	if tag != "" {
		r.tags[tag] = digest(text)
	}
	return descriptor{manifestType, digest(text), len(text)}
}

// buildManyBlobs has manifests of 40 and of 9,000 layers, and returns 429 to more than four requests for blobs at once.
func buildManyBlobs(g *Registry) {
	r := g.own("charts/nginx")
	for tag, count := range map[string]int{"40": 40, "9000": 9000} {
		config, layers := r.blob(helmConfig, []byte(`{"name":"nginx","version":"`+tag+`"}`)), []descriptor{}
		for i := range count {
			layers = append(layers, descriptor{"x", r.blob("x", []byte(strconv.Itoa(i))).Digest, len(strconv.Itoa(i))})
		}
		r.add(tag, map[string]any{"config": config, "layers": layers})
	}
	s := g.htpasswdRegistry("Registry Realm")
	var asked atomic.Int32
	g.at(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/blobs/") {
			defer asked.Add(-1) // net/http sends a response this short after the handler has returned
			if asked.Add(1) > 4 {
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
		s.ServeHTTP(w, r)
	}))
}

// buildOddBlobs has manifests with descriptors that no client can use, each in a repository of its own.
func buildOddBlobs(g *Registry) {
	g.own("odd/none")
	good := func(r *repository) descriptor { return r.blob(helmConfig, []byte(`{"name":"odd"}`)) }
	for name, layer := range map[string]map[string]any{
		"huge":      {"digest": digest([]byte("x")), "size": int64(1) << 62},
		"negative":  {"digest": digest([]byte("x")), "size": -1},
		"traversal": {"digest": "sha256:../../../../v2/_catalog", "size": 1},
		"query":     {"digest": "sha256:" + strings.Repeat("0", 60) + "?a=b", "size": 1},
		"algorithm": {"digest": "blake3:" + strings.Repeat("0", 64), "size": 1},
		"nodigest":  {"size": 1},
		"foreign":   {"digest": digest([]byte("foreign layer")), "size": 1, "urls": []string{"https://metadata.test/layer"}},
	} {
		r := &repository{map[string]string{}, map[string][]byte{}, map[string][]byte{digest([]byte("x")): []byte("x")}}
		r.blobs["blake3:"+strings.Repeat("0", 64)] = []byte("x")
		r.add("1", map[string]any{"config": good(r), "layers": []any{layer}})
		g.tree.repositories["odd/"+name] = r
	}
	g.at(g.htpasswdRegistry("Registry Realm"))
}

// index has an index with two platforms and an attestation, a package of Zarf, and an index without platforms.
func (g *Registry) index(childLost bool) {
	r := g.own("images/multi")
	child := func(os, architecture, variant string) map[string]any {
		manifest := map[string]any{"config": r.blob(imageConfig, []byte(`{"os":"`+os+`","architecture":"`+architecture+`"}`)),
			"layers": []descriptor{r.blob(imageLayer, []byte(os+architecture+variant))}}
		d := r.add("", manifest)
		if childLost {
			delete(r.manifests, d.Digest)
		}
		platform := map[string]string{"os": os, "architecture": architecture}
		if variant != "" {
			platform["variant"] = variant
		}
		return map[string]any{"mediaType": manifestType, "digest": d.Digest, "size": d.Size, "platform": platform}
	}
	unknown := child("unknown", "unknown", "")
	r.add("1", map[string]any{"manifests": []any{unknown, child("linux", "arm64", "v8"), child("linux", "amd64", "")}})
	r.add("arm", map[string]any{"manifests": []any{unknown, child("linux", "arm64", "v8")}})
	r.add("zarf", map[string]any{"manifests": []any{child("multi", "arm64", ""), child("multi", "amd64", "")}})
	g.at(g.htpasswdRegistry("Registry Realm"))
}

// buildCleanedIndex has no manifest without a tag after Release: someone deleted all of them.
func buildCleanedIndex(g *Registry) {
	g.index(false)
	tagged := slices.Collect(maps.Values(g.tree.repositories["images/multi"].tags))
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		_, name, _ := strings.Cut(r.URL.Path, "/manifests/")
		select {
		case <-g.held:
		default:
			return false
		}
		if !strings.HasPrefix(name, "sha256:") || slices.Contains(tagged, name) {
			return false
		}
		fails(404, "MANIFEST_UNKNOWN", "manifest unknown")(w, r)
		return true
	})
}

// buildAlteredManifest returns manifests with one more blank than their digests name.
func buildAlteredManifest(g *Registry) {
	g.content(func(w http.ResponseWriter, r *http.Request) bool {
		repo, reference, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
		if !ok || g.tree.repositories[repo] == nil {
			return false
		}
		name := reference
		if tagged, known := g.tree.repositories[repo].tags[reference]; known {
			name = tagged
		}
		w.Header().Set("Docker-Content-Digest", name)
		(&visit{w: w, r: r}).send(http.StatusOK, manifestType, string(g.tree.repositories[repo].manifests[name])+" ")
		return true
	})
}
