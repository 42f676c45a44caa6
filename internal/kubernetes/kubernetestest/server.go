// Package kubernetestest has an API server on loopback that lists and watches objects as that of Kubernetes does, with what a test needs to
// break: expired watches, rights that are taken away, connections that end. test/kubernetes has the real one.
package kubernetestest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Object is an object in JSON.
type Object = map[string]any

// Server is the API server.
type Server struct {
	*httptest.Server

	mu         sync.Mutex
	changed    *sync.Cond
	kinds      []string // group/version/resource of those that are installed
	objects    map[string]Object
	history    []change
	version    int
	oldest     int // version that a watch can begin at
	generation int // watches of an earlier one end
	events     []Object
	forbidden  map[string]bool
	down       bool
	lists      int
}

type change struct {
	version int
	kind    string // ADDED, MODIFIED or DELETED
	path    string
	object  Object
}

// New starts a server, which ends with the test. kinds are installed kinds, such as source.toolkit.fluxcd.io/v1/helmrepositories.
func New(t testing.TB, kinds ...string) *Server {
	s := &Server{kinds: kinds, objects: map[string]Object{}, forbidden: map[string]bool{}}
	s.changed = sync.NewCond(&s.mu)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.Down(true) // or Close would wait for the watches
		s.Close()
	})
	return s
}

// Kubeconfig writes a kubeconfig file for the server, whose context has a namespace.
func (s *Server) Kubeconfig(t testing.TB, namespace string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": %q}}], "users": [{"name": "c", "user": {"token": "t"}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": %q}}]}`, s.URL, namespace)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Put creates or replaces an object of a resource, such as secrets or source.toolkit.fluxcd.io/v1/helmrepositories.
func (s *Server) Put(resource, namespace, name string, o Object) {
	s.change(func() {
		path, kind := resource+"/"+namespace+"/"+name, "MODIFIED"
		uid := path
		old, exists := s.objects[path]
		if exists {
			uid = old["metadata"].(map[string]any)["uid"].(string)
		} else {
			kind, uid = "ADDED", fmt.Sprintf("uid-%d", s.version)
		}
		metadata := map[string]any{"name": name, "namespace": namespace, "uid": uid, "resourceVersion": fmt.Sprint(s.version),
			"managedFields": []any{map[string]any{"manager": "kubectl"}}, "annotations": map[string]any{"large": "text"}}
		if labels, ok := o["labels"]; ok {
			metadata["labels"] = labels
		}
		stored := Object{"metadata": metadata}
		for key, value := range o {
			if key != "labels" {
				stored[key] = value
			}
		}
		s.objects[path] = stored
		s.history = append(s.history, change{s.version, kind, path, stored})
	})
}

// Delete deletes an object.
func (s *Server) Delete(resource, namespace, name string) {
	s.change(func() {
		path := resource + "/" + namespace + "/" + name
		s.history = append(s.history, change{s.version, "DELETED", path, s.objects[path]})
		delete(s.objects, path)
	})
}

// Expire ends all watches, and forgets what they could continue with: they get 410.
func (s *Server) Expire() {
	s.change(func() { s.oldest, s.history = s.version, nil; s.generation++ })
}

// Forbid takes away the right to read a resource, or gives it back.
func (s *Server) Forbid(resource string, is bool) {
	s.change(func() { s.forbidden[resource] = is; s.generation++ })
}

// Down ends all watches and refuses all requests, until it is up again.
func (s *Server) Down(is bool) {
	s.change(func() { s.down = is; s.generation++ })
}

// Lists returns how many lists were requested.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// Events returns what was written about an object, the oldest first: "Warning RegistryAuthFailed: message".
func (s *Server) Events(kind, namespace, name string) (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		of, _ := e["involvedObject"].(map[string]any)
		if of["kind"] == kind && of["namespace"] == namespace && of["name"] == name && of["uid"] != "" {
			texts = append(texts, fmt.Sprintf("%s %s: %s", e["type"], e["reason"], e["message"]))
		}
	}
	return texts
}

func (s *Server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	do()
	s.changed.Broadcast()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		status(w, http.StatusServiceUnavailable, "ServiceUnavailable")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	switch {
	case parts[0] == "apis" && len(parts) <= 3:
		s.discover(w, parts[1:])
		return
	case parts[0] == "apis":
		group, parts = parts[1]+"/"+parts[2]+"/", parts[3:]
	default:
		parts = parts[2:]
	}
	namespace := ""
	if parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	resource := group + parts[0]
	s.mu.Lock()
	forbidden := s.forbidden[resource]
	s.mu.Unlock()
	switch {
	case forbidden:
		status(w, http.StatusForbidden, "Forbidden")
	case r.Method == http.MethodPost && resource == "events":
		s.addEvent(w, r)
	case r.Method != http.MethodGet:
		status(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	case r.URL.Query().Get("sendInitialEvents") != "":
		status(w, http.StatusUnprocessableEntity, "Invalid")
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, resource, namespace)
	default:
		s.list(w, r, resource, namespace)
	}
}

func status(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(failure(code, reason))
}

func failure(code int, reason string) Object {
	return Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason}
}

// discover serves which kinds of a group, and of its version, are installed.
func (s *Server) discover(w http.ResponseWriter, parts []string) {
	var versions []string
	var resources []Object
	for _, kind := range s.kinds {
		if rest, ok := strings.CutPrefix(kind, parts[0]+"/"); ok {
			version, name, _ := strings.Cut(rest, "/")
			versions, resources = append(versions, version), append(resources, Object{"name": name})
		}
	}
	switch {
	case len(versions) == 0:
		status(w, http.StatusNotFound, "NotFound")
	case len(parts) == 1:
		_ = json.NewEncoder(w).Encode(Object{"kind": "APIGroup", "preferredVersion": Object{"version": versions[0]}})
	default:
		_ = json.NewEncoder(w).Encode(Object{"kind": "APIResourceList", "resources": resources})
	}
}

// subdomain matches the names that an object may have.
var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func (s *Server) addEvent(w http.ResponseWriter, r *http.Request) {
	var event Object
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
		status(w, http.StatusBadRequest, "BadRequest")
		return
	}
	if metadata, _ := event["metadata"].(Object); !subdomain.MatchString(fmt.Sprint(metadata["name"])) {
		status(w, http.StatusUnprocessableEntity, "Invalid")
		return
	}
	s.mu.Lock()
	s.events = append(s.events, event)
	s.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(event)
}

// matches reports whether an object is one of a request.
func matches(r *http.Request, resource, namespace, path string, o Object) bool {
	rest, ok := strings.CutPrefix(path, resource+"/")
	if !ok || namespace != "" && !strings.HasPrefix(rest, namespace+"/") {
		return false
	}
	metadata := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if label := r.URL.Query().Get("labelSelector"); label != "" && labels[label] == nil {
		return false
	}
	for selector := range strings.SplitSeq(r.URL.Query().Get("fieldSelector"), ",") {
		field, value, _ := strings.Cut(selector, "=")
		not := strings.HasSuffix(field, "!")
		is := fmt.Sprint(o["type"]) == value
		if field == "metadata.name" {
			is = metadata["name"] == value
		}
		if field != "" && is == not {
			return false
		}
	}
	return true
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	items := []Object{}
	for path, o := range s.objects {
		if matches(r, resource, namespace, path, o) {
			items = append(items, o)
		}
	}
	_ = json.NewEncoder(w).Encode(Object{"kind": "List", "apiVersion": "v1",
		"metadata": Object{"resourceVersion": fmt.Sprint(s.version)}, "items": items})
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	var at int
	_, _ = fmt.Sscan(r.URL.Query().Get("resourceVersion"), &at)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if at < s.oldest { // an API server says so in an event, at the start of a watch or later
			_ = json.NewEncoder(w).Encode(Object{"type": "ERROR", "object": failure(http.StatusGone, "Expired")})
		}
	}()
	if at < s.oldest {
		return
	}
	stop := r.Context().Done()
	go func() {
		<-stop
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	}()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for generation := s.generation; generation == s.generation && r.Context().Err() == nil; s.changed.Wait() {
		i, _ := slices.BinarySearchFunc(s.history, at+1, func(c change, version int) int { return c.version - version })
		for _, c := range s.history[i:] {
			if at = c.version; matches(r, resource, namespace, c.path, c.object) {
				_ = json.NewEncoder(w).Encode(Object{"type": c.kind, "object": c.object})
			}
		}
		w.(http.Flusher).Flush()
	}
}
