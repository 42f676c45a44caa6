package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const registryUser = "ada"

// registry is a small OCI registry in memory with one user and one artifact per repository. It can only be read.
type registry struct {
	address string

	mu       sync.Mutex
	password string
	objects  map[string]object   // by repository, then "/manifests/" or "/blobs/", then tag or digest
	tags     map[string][]string // by repository
}

type object struct {
	mediaType string
	data      []byte
}

// newRegistry serves a registry on a free port of this machine.
func newRegistry(password string, config *tls.Config) (*registry, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &registry{address: listener.Addr().String(), password: password, objects: map[string]object{}, tags: map[string][]string{}}
	server := &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(tls.NewListener(listener, config)) }()
	return r, nil
}

// push stores a Helm chart.
func (r *registry) push(repository, tag string) {
	config := r.add(repository, "/blobs/", "application/vnd.cncf.helm.config.v1+json",
		fmt.Appendf(nil, `{"name":%q,"version":%q,"apiVersion":"v2"}`, repository, tag))
	layer := r.add(repository, "/blobs/", "application/vnd.cncf.helm.chart.content.v1.tar+gzip", []byte("the chart "+repository))
	manifest, _ := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []any{layer}})
	digest := r.add(repository, "/manifests/", manifestType, manifest)["digest"].(string)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[repository+"/manifests/"+tag] = r.objects[repository+"/manifests/"+digest]
	r.tags[repository] = append(r.tags[repository], tag)
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// add stores an object and returns its descriptor.
func (r *registry) add(repository, kind, mediaType string, data []byte) map[string]any {
	sum := sha256.Sum256(data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[repository+kind+digest] = object{mediaType, data}
	return map[string]any{"mediaType": mediaType, "digest": digest, "size": len(data)}
}

// loseLayer removes the layer of a chart, as storage that was restored from an old backup does.
func (r *registry) loseLayer(repository string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, stored := range r.objects {
		if strings.HasPrefix(name, repository+"/blobs/") && strings.HasSuffix(stored.mediaType, "gzip") {
			delete(r.objects, name)
		}
	}
}

// rotate changes the password, so that definitions with the former one are no longer valid.
func (r *registry) rotate(password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.password = password
}

func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	user, password, _ := request.BasicAuth()
	if user != registryUser || subtle.ConstantTimeCompare([]byte(password), []byte(r.password)) == 0 {
		w.Header().Set("WWW-Authenticate", `Basic realm="demo"`)
		fail(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
		return
	}
	path := strings.TrimPrefix(request.URL.Path, "/v2/")
	repository, isTags := strings.CutSuffix(path, "/tags/list")
	stored, found := r.objects[path]
	switch {
	case path == "":
		send(w, "application/json", []byte("{}"))
	case isTags && r.tags[repository] != nil:
		list, _ := json.Marshal(map[string]any{"name": repository, "tags": r.tags[repository]})
		send(w, "application/json", list)
	case found:
		send(w, stored.mediaType, stored.data)
	case strings.Contains(path, "/blobs/"):
		fail(w, http.StatusNotFound, "BLOB_UNKNOWN", "blob unknown to registry")
	case strings.Contains(path, "/manifests/"):
		fail(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
	default:
		fail(w, http.StatusNotFound, "NAME_UNKNOWN", "repository name not known to registry")
	}
}

func send(w http.ResponseWriter, mediaType string, data []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	_, _ = w.Write(data)
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]string{"code": code, "message": message}}})
}
