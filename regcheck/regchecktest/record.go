package regchecktest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// MarkHeader is a header (Checker.Header) by which tests distinguish checks.
const MarkHeader = "X-Mark"

// Sighting is a credential that reached a server.
type Sighting struct {
	At     string // the origin that it came to: "https://auth.test"
	Kind   string // "basic", "bearer", "authorization" (any other scheme), "form", "url", "header", "clientCertificate"
	User   string // of Basic and forms
	Secret string // password, token or the certificate's subject
	Path   string
	Target string // path and query
	Mark   string // in MarkHeader
	Meant  bool   // the world's author meant credentials of this kind to come here
}

func (s Sighting) String() string {
	return fmt.Sprintf("%s credential %q of %q at %s%s", s.Kind, s.Secret, s.User, s.At, s.Path)
}

// Request is one request that reached a server, in the order of arrival.
type Request struct {
	At     string
	Method string
	Target string // path and query
	Header http.Header
}

// Sightings returns all credentials that the servers have received.
func (g *Registry) Sightings() []Sighting {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.sightings)
}

// Leaks returns the credentials that were sent to other hosts than the intended ones.
func (g *Registry) Leaks() []Sighting {
	return slices.DeleteFunc(g.Sightings(), func(s Sighting) bool { return s.Meant })
}

// Requests returns every request so far.
func (g *Registry) Requests() []Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.requests)
}

// Dials returns every address that was dialed so far, as "address:port".
func (g *Registry) Dials() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.dials)
}

// watch records a request before the site handles it.
func (g *Registry) watch(s *site) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10))
		r.Body = io.NopCloser(bytes.NewReader(body))
		g.note(s, r, body)
		s.handler.ServeHTTP(w, r)
	})
}

func (g *Registry) note(s *site, r *http.Request, body []byte) {
	found := credentials(r, string(body))
	for i := range found {
		found[i].At, found[i].Path, found[i].Target, found[i].Mark = s.origin(), r.URL.Path, r.URL.RequestURI(), r.Header.Get(MarkHeader)
		found[i].Meant = s.trusted && (found[i].Kind != "clientCertificate" || s.endpoint) && found[i].Kind != "url"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sightings = append(g.sightings, found...)
	g.requests = append(g.requests, Request{s.origin(), r.Method, r.URL.RequestURI(), r.Header.Clone()})
}

// credentials finds everything secret in a request, in any place.
func credentials(r *http.Request, body string) (found []Sighting) {
	for _, value := range r.Header.Values("Authorization") {
		found = append(found, authorization(r, value))
	}
	if form := parseForm(body); form.Get("password") != "" || form.Get("refresh_token") != "" {
		found = append(found, Sighting{Kind: "form", User: form.Get("username"), Secret: form.Get("password") + form.Get("refresh_token")})
	}
	for _, secret := range []string{Password, Token, RobotPassword, AdminPassword, ExpiredPassword, WrongPassword, WrongToken} {
		if strings.Contains(r.URL.RequestURI(), secret) {
			found = append(found, Sighting{Kind: "url", Secret: secret})
		}
		for name, values := range r.Header {
			if name != "Authorization" && strings.Contains(strings.Join(values, ","), secret) {
				found = append(found, Sighting{Kind: "header", User: name, Secret: secret})
			}
		}
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		found = append(found, Sighting{Kind: "clientCertificate", Secret: r.TLS.PeerCertificates[0].Subject.CommonName})
	}
	return found
}

func authorization(r *http.Request, value string) Sighting {
	if user, password, ok := r.BasicAuth(); ok {
		return Sighting{Kind: "basic", User: user, Secret: password}
	}
	scheme, rest, _ := strings.Cut(value, " ")
	if strings.EqualFold(scheme, "bearer") {
		return Sighting{Kind: "bearer", Secret: rest}
	}
	return Sighting{Kind: "authorization", Secret: value}
}
