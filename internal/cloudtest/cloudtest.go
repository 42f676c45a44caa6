// Package cloudtest imitates the APIs by which clouds issue credentials for their registries, written from their documentation. Each
// imitation is an http.Handler for the hosts of its provider, verifies what clients sign, and knows which credentials it has issued.
// All are safe for concurrent use.
package cloudtest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// issued are credentials with their owner and expiry.
type issued struct {
	mu    sync.Mutex
	all   map[string]credential
	count int
}

type credential struct {
	owner string
	until time.Time
}

// add issues a random text for a time.
func (i *issued) add(prefix string, until time.Time) string { return i.addFor("", prefix, until) }

// addFor issues a random text to an owner.
func (i *issued) addFor(owner, prefix string, until time.Time) string {
	text := prefix + rand.Text() + rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.all == nil {
		i.all = map[string]credential{}
	}
	i.all[text] = credential{owner, until}
	i.count++
	return text
}

func (i *issued) valid(text string, now time.Time) bool {
	_, ok := i.owner(text, now)
	return ok
}

// owner returns whose a text is. ok is false if it was not issued or has expired.
func (i *issued) owner(text string, now time.Time) (owner string, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c, known := i.all[text]
	return c.owner, known && now.Before(c.until)
}

// revoke makes everything that was issued invalid.
func (i *issued) revoke() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.all)
}

// number returns how many were issued.
func (i *issued) number() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.count
}

// respond sends JSON, with the time of the provider in Date.
func respond(w http.ResponseWriter, now time.Time, status int, body any) {
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// refuse sends an error as registries do.
func refuse(w http.ResponseWriter, now time.Time, status int, code, message string) {
	respond(w, now, status, map[string]any{"errors": []any{map[string]string{"code": code, "message": message}}})
}

// repository returns the repository that a request to a registry is about, "" for others.
func repository(r *http.Request) string {
	name, found := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v2/"), "/tags/list")
	for _, part := range []string{"/manifests/", "/blobs/"} {
		if !found {
			name, _, found = strings.Cut(name, part)
		}
	}
	if !found {
		return ""
	}
	return name
}

// Clouds has all providers. Each request goes to the one of its host.
type Clouds struct {
	AWS    *AWS
	Google *Google
	Azure  *Azure
	GitHub *GitHub

	Machine *Machine // nil: no metadata services
}

func (c *Clouds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	switch {
	case host == Metadata, host == PodAgent, r.URL.Path == AppService:
		c.Machine.ServeHTTP(w, r)
	case strings.HasSuffix(host, ".googleapis.com"):
		c.Google.ServeHTTP(w, r)
	case strings.HasPrefix(host, "login.microsoftonline."), strings.HasSuffix(host, ".azurecr.io"):
		c.Azure.ServeHTTP(w, r)
	case strings.HasPrefix(host, "api.") && (strings.HasSuffix(host, "github.com") || strings.HasSuffix(host, ".ghe.com")):
		c.GitHub.ServeHTTP(w, r)
	case strings.HasPrefix(host, "api.ecr"), strings.HasPrefix(host, "ecr-fips."), strings.HasPrefix(host, "sts."):
		c.AWS.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}
