package regchecktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// visit is one request to a registry, read as the distribution API.
type visit struct {
	w    http.ResponseWriter
	r    *http.Request
	what string // "ping", "catalog", "tags", "manifest", "blob"; "other" for the rest below /v2/
	repo string
	ref  string
	who  caller
}

// caller is the client of a request.
type caller struct {
	name string // "" is anonymous
	may  func(repo string) bool
}

// registry is a distribution API with the rules of a product.
type registry struct {
	g          *Registry
	base       string // put before /v2/
	noVersion  bool   // does not send Docker-Distribution-Api-Version
	admit      func(*visit) bool
	missing    func(*visit)      // the repository does not exist; nil: 404 NAME_UNKNOWN
	forbidden  func(*visit)      // it exists (or not), and the caller may not read it
	catalog    func(*visit)      // nil: what the caller may read
	outside    http.Handler      // everything that is not below <base>/v2/; nil: 404 text
	name       func(string) bool // may this be a repository's name; nil: OCI grammar
	pong       string            // body of a good /v2/; "" is {}
	tagsDenied func(*visit) bool // responds itself if tags require another permission
	manifests  func(*visit)      // responds instead of each manifest

	emptyProject string // of Harbor: exists without repositories
}

func (s *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, s.base+"/v2")
	if !ok || rest != "" && rest[0] != '/' {
		if s.outside != nil {
			s.outside.ServeHTTP(w, r)
			return
		}
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if rest == "" {
		http.Redirect(w, r, s.base+"/v2/", http.StatusMovedPermanently)
		return
	}
	if !s.noVersion {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	}
	v := readVisit(w, r, strings.Trim(rest, "/"))
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		v.fail(http.StatusMethodNotAllowed, "UNSUPPORTED", "The operation is unsupported.")
		return
	}
	if s.admit(v) {
		s.respond(v)
	}
}

func readVisit(w http.ResponseWriter, r *http.Request, path string) *visit {
	v := &visit{w: w, r: r, what: "other", who: anonymous}
	switch {
	case path == "":
		v.what = "ping"
	case path == "_catalog":
		v.what = "catalog"
	default:
		for part, what := range map[string]string{"/tags/list": "tags", "/manifests/": "manifest", "/blobs/": "blob"} {
			if repo, ref, found := strings.Cut(path, part); found {
				v.what, v.repo, v.ref = what, repo, ref
			}
		}
	}
	return v
}

func (s *registry) respond(v *visit) {
	switch v.what {
	case "ping":
		body := s.pong
		if body == "" {
			body = "{}"
		}
		v.send(http.StatusOK, "application/json", body)
	case "catalog":
		if s.catalog != nil {
			s.catalog(v)
			return
		}
		s.list(v)
	case "other":
		v.fail(http.StatusNotFound, "NAME_UNKNOWN", "repository name not known to registry")
	default:
		s.content(v)
	}
}

func (s *registry) content(v *visit) {
	valid := s.name
	if valid == nil {
		valid = ociName
	}
	if !valid(v.repo) {
		v.fail(http.StatusBadRequest, "NAME_INVALID", "invalid repository name")
		return
	}
	if !v.who.may(v.repo) && s.forbidden != nil {
		s.forbidden(v)
		return
	}
	repo := s.g.tree.repositories[v.repo]
	if repo == nil || !v.who.may(v.repo) {
		if s.missing != nil {
			s.missing(v)
			return
		}
		v.fail(http.StatusNotFound, "NAME_UNKNOWN", "repository name not known to registry")
		return
	}
	if v.what == "tags" {
		if s.tagsDenied == nil || !s.tagsDenied(v) {
			s.tags(v, repo)
		}
		return
	}
	if v.what == "manifest" && s.manifests != nil {
		s.manifests(v)
		return
	}
	s.object(v, repo)
}

func (s *registry) object(v *visit, repo *repository) {
	name := v.ref
	if tagged, known := repo.tags[name]; known && v.what == "manifest" {
		name = tagged
	}
	objects, kind, unknown := repo.blobs, "application/octet-stream", "BLOB_UNKNOWN"
	if v.what == "manifest" {
		objects, kind, unknown = repo.manifests, manifestType, "MANIFEST_UNKNOWN"
	}
	content, known := objects[name]
	if !known {
		v.fail(http.StatusNotFound, unknown, "not known to registry")
		return
	}
	v.w.Header().Set("Docker-Content-Digest", name)
	v.w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	v.send(http.StatusOK, kind, string(content))
}

// tags responds as the distribution specification requires, n and last included.
func (s *registry) tags(v *visit, repo *repository) {
	list, more := page(v.r, repo.tagList())
	if more != "" {
		v.w.Header().Set("Link", fmt.Sprintf(`</v2/%s/tags/list?%s>; rel="next"`, v.repo, more))
	}
	var tags any = list
	if len(list) == 0 {
		tags = nil // distribution writes null
	}
	v.json(http.StatusOK, map[string]any{"name": v.repo, "tags": tags})
}

func (s *registry) list(v *visit) {
	list, more := page(v.r, s.g.tree.names(v.who.may))
	if more != "" {
		v.w.Header().Set("Link", fmt.Sprintf(`</v2/_catalog?%s>; rel="next"`, more))
	}
	v.json(http.StatusOK, map[string]any{"repositories": list})
}

func page(r *http.Request, all []string) (list []string, more string) {
	last := r.URL.Query().Get("last")
	for len(all) > 0 && last != "" && all[0] <= last {
		all = all[1:]
	}
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n <= 0 || n >= len(all) {
		return all, ""
	}
	return all[:n], fmt.Sprintf("last=%s&n=%d", all[n-1], n)
}

func (v *visit) send(status int, kind, body string) {
	if kind != "" {
		v.w.Header().Set("Content-Type", kind)
	}
	v.w.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		_, _ = v.w.Write([]byte(body))
	}
}

func (v *visit) json(status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // maps of strings always encode
	}
	v.send(status, "application/json", string(text)+"\n")
}

// fail returns the error body of the distribution specification.
func (v *visit) fail(status int, code, message string) {
	v.json(status, ociError(code, message))
}

func ociError(code, message string) map[string]any {
	return map[string]any{"errors": []map[string]any{{"code": code, "message": message, "detail": nil}}}
}

// challenge rejects with these WWW-Authenticate lines.
func (v *visit) challenge(lines ...string) {
	for _, line := range lines {
		v.w.Header().Add("WWW-Authenticate", line)
	}
	v.fail(http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
}

// ociName is the grammar of names in the distribution specification, by hand.
func ociName(name string) bool {
	if name == "" || len(name) > 255 {
		return false
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || !letter(part[0]) || !letter(part[len(part)-1]) {
			return false
		}
		for i := range len(part) {
			if !letter(part[i]) && !strings.ContainsRune("._-", rune(part[i])) {
				return false
			}
		}
	}
	return true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
