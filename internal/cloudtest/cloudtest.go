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

// issued are credentials with their expiry.
type issued struct {
	mu    sync.Mutex
	until map[string]time.Time
	count int
}

// add issues a random text for a time.
func (i *issued) add(prefix string, until time.Time) string {
	text := prefix + rand.Text() + rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.until == nil {
		i.until = map[string]time.Time{}
	}
	i.until[text] = until
	i.count++
	return text
}

func (i *issued) valid(text string, now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	until, known := i.until[text]
	return known && now.Before(until)
}

// revoke makes everything that was issued invalid.
func (i *issued) revoke() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.until)
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
	case strings.HasSuffix(host, ".amazonaws.com"):
		c.AWS.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}
