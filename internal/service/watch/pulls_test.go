package watch

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
)

// pullCounter is a registry with a Zarf package: an index with one manifest per architecture. It counts requests as
// Docker Hub does: a GET of a manifest is a pull, a HEAD is not.
type pullCounter struct {
	mu              sync.Mutex
	release         int // version of the package
	requests, pulls int
	blobs           int // requests for blobs, which are not in requests
	children        int // HEAD of the manifest of the platform, as for blobs
}

func (p *pullCounter) push() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release++
}

// counts returns the requests and pulls since it was last called.
func (p *pullCounter) counts() (requests, pulls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests, pulls = p.requests, p.pulls
	p.requests, p.pulls = 0, 0
	return requests, pulls
}

func (p *pullCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case strings.Contains(r.URL.Path, "/blobs/"):
		p.blobs++
	case r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/manifests/sha256:"):
		p.children++
	default:
		p.requests++
	}
	if _, password, _ := r.BasicAuth(); password != registriestest.Password.Reveal() {
		w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	const config = "{}"
	manifest := fmt.Sprintf(`{"config":{"mediaType":"application/vnd.zarf.config.v1+json","digest":"%s","size":2},`+
		`"annotations":{"release":"%d"}}`, digestOf(config), p.release)
	index := fmt.Sprintf(`{"manifests":[{"digest":"%s"}]}`, digestOf(manifest))
	switch r.URL.Path {
	case "/v2/":
		_, _ = io.WriteString(w, "{}")
	case "/v2/packages/podinfo/tags/list":
		_, _ = io.WriteString(w, `{"name":"packages/podinfo","tags":["6.4.0"]}`)
	case "/v2/packages/podinfo/manifests/6.4.0":
		p.send(w, r, index)
	case "/v2/packages/podinfo/manifests/" + digestOf(manifest):
		p.send(w, r, manifest)
	case "/v2/packages/podinfo/blobs/" + digestOf(config):
		_, _ = io.WriteString(w, config)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (p *pullCounter) send(w http.ResponseWriter, r *http.Request, manifest string) {
	w.Header().Set("Docker-Content-Digest", digestOf(manifest))
	if r.Method == http.MethodGet {
		p.pulls++
		_, _ = io.WriteString(w, manifest)
	}
}

func digestOf(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// Scheduled checks read the kind of the content once for each digest. docs/registries.md has these figures.
func TestScheduledChecksPullOnlyChangedContent(t *testing.T) {
	w, hub := mustWatch(t), &pullCounter{}
	w.checker.Now = func() time.Time { return w.clock }
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	zarf := input("hub")
	zarf.Definition.Endpoint, zarf.Definition.BaseContentPath, zarf.Definition.ProviderType = server.URL, "packages/podinfo", "zarf"
	uid := w.mustCreate(zarf)
	checks := func(n int) (requests, pulls int) {
		for range n {
			w.checkAll(w.claimDue())
			w.clock = w.clock.Add(20 * time.Minute)
		}
		return hub.counts()
	}
	for _, step := range []struct {
		name            string
		before          func()
		checks          int
		requests, pulls int
	}{
		{"the first check", func() {}, 1, 5, 2},
		{"nothing changed", func() {}, 10, 40, 0},
		{"the content changed", hub.push, 10, 42, 2},
		{"after a day", func() { w.clock = w.clock.Add(24 * time.Hour) }, 10, 40, 0},
	} {
		step.before()
		if requests, pulls := checks(step.checks); requests != step.requests || pulls != step.pulls {
			t.Errorf("%s: %d checks took %d requests and %d pulls, want %d and %d", step.name, step.checks, requests, pulls,
				step.requests, step.pulls)
		}
	}
	hub.counts()
	hub.mu.Lock()
	hub.blobs, hub.children = 0, 0
	hub.mu.Unlock()
	if requests, pulls := checks(3 * 24 * 3); requests != 4*3*24*3 || pulls != 0 {
		t.Errorf("three days took %d requests and %d pulls", requests, pulls)
	}
	if hub.blobs != 3 {
		t.Errorf("the blob was asked for %d times in three days, want once a day", hub.blobs)
	}
	if hub.children != 3 {
		t.Errorf("the manifest of the platform was asked for %d times in three days, want once a day", hub.children)
	}
	if s := w.status(uid); !s.State.Valid {
		t.Errorf("%+v", s)
	}
	if got := strings.Count(fmt.Sprint(w.outcomes), string(Valid)); got != 31+216 {
		t.Errorf("%d valid checks, want %d", got, 31+216)
	}
}
