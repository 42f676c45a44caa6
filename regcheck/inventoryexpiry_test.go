package regcheck_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/inventory"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// expiring is a registry with the repositories a and b, whose passwords are valid for a minute. A request for last ends the minute.
type expiring struct {
	service bool // it has a token service, whose tokens it accepts without a limit
	last    string

	mu       sync.Mutex
	now      time.Time
	password string
	expires  time.Time
}

func (s *expiring) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// file has a new password each time it is read.
func (s *expiring) file(string) (text []byte, changed time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expires = s.now.Add(time.Minute)
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp": %d}`, s.expires.Unix()))
	s.password = regchecktest.TokenHead + claims + ".c2ln"
	return []byte(s.password), s.now, nil
}

func (s *expiring) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	w.Header().Set("Content-Type", "application/json")
	_, password, _ := r.BasicAuth()
	valid, challenge := password == s.password && s.now.Before(s.expires), "Basic realm=registry"
	if s.service && r.URL.Path != "/token" {
		valid, challenge = r.Header.Get("Authorization") == "Bearer issued", `Bearer realm="/token"`
	}
	body := `{"config":{}}`
	switch {
	case !valid:
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
		return
	case r.URL.Path == "/token":
		body = `{"token":"issued"}`
	case r.URL.Path == "/v2/_catalog":
		body = `{"repositories":["a","b"]}`
	case strings.HasSuffix(r.URL.Path, "/tags/list"):
		body = `{"tags":["1","2"]}`
	}
	if r.URL.Path == s.last {
		s.now, s.last = s.expires, ""
	}
	_, _ = w.Write([]byte(body))
}

// An inventory stops when the credentials that were obtained expire, and continues with new ones. What cannot be read in between is not
// listed without tags.
func TestInventoryOutlastsCredentials(t *testing.T) {
	local, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		service bool
		last    string
		before  string // what is listed before the expiry
	}{
		{true, "/v2/_catalog", ""},
		{true, "/v2/a/manifests/2", "a 1 2 "},
		{false, "/v2/_catalog", ""},
		{false, "/v2/a/manifests/1", ""},
		{false, "/v2/a/manifests/2", "a 1 2 "},
	} {
		s := &expiring{service: row.service, last: row.last, now: time.Now().Truncate(time.Second)}
		server := httptest.NewServer(s)
		c := regcheck.Checker{Egress: local, Now: s.clock, Ambient: &regcheck.Ambient{NamedFile: s.file}}
		plan := regcheck.MustParse(t, regcheck.Definition{Endpoint: server.URL,
			Auth: &regcheck.Auth{Type: regcheck.File, File: &regcheck.RenewedFile{Username: "ada", Password: "password"}}})
		var listed strings.Builder
		list := func(from inventory.Cursor) *inventory.Inventory {
			report, found, err := inventory.List(t.Context(), &c, plan, from, inventory.Limits{}, func(r inventory.Repository) error {
				listed.WriteString(r.Name + r.Problem + " ")
				for _, tag := range r.Tags {
					listed.WriteString(tag.Name + tag.Problem + " ")
				}
				return nil
			})
			if found == nil {
				t.Fatalf("%+v: %+v %v", row, report, err)
			}
			return found
		}
		first := list(inventory.Cursor{})
		if first.Complete || !strings.HasPrefix(first.Stopped, "the credentials have expired") || listed.String() != row.before {
			t.Errorf("%+v: listed %q, %+v", row, listed.String(), first)
		}
		if rest := list(first.Cursor); !rest.Complete || listed.String() != "a 1 2 b 1 2 " {
			t.Errorf("%+v: listed %q in the end, %+v", row, listed.String(), rest)
		}
		server.Close()
	}
}

// A password in the definition is not renewed. What it cannot read after its expiry is not listed without tags.
func TestInventoryStopsAtTheExpiryOfThePassword(t *testing.T) {
	local, err := egress.ParsePolicy(egress.Settings{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &expiring{last: "/v2/a/manifests/2", now: time.Now().Truncate(time.Second)}
	server := httptest.NewServer(s)
	defer server.Close()
	password, _, _ := s.file("")
	plan := regcheck.MustParse(t, regcheck.Definition{Endpoint: server.URL,
		Auth: &regcheck.Auth{Type: regcheck.Basic, Username: "ada", Password: secret.String(password)}})
	listed := []string{}
	c := regcheck.Checker{Egress: local, Now: s.clock}
	_, found, err := inventory.List(t.Context(), &c, plan, inventory.Cursor{}, inventory.Limits{}, func(r inventory.Repository) error {
		listed = append(listed, r.Name)
		return nil
	})
	if err != nil || found == nil || found.Complete || found.Stopped != "the credentials have expired." || len(listed) != 1 {
		t.Errorf("listed %q, %+v, %v", listed, found, err)
	}
}
