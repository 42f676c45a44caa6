// Package argorepo has Argo CD's rules for repositories: which Secret and which credential template are used for a URL, and what a
// repository inherits from a template.
package argorepo

import (
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/secret"
)

// Repository is a Secret of the type repository or repo-creds (a credential template), as far as OCI registries need it.
type Repository struct {
	URL, Type, Project   string
	Username             string
	Password             secret.String
	Certificate          string // of the client
	Key                  secret.String
	Proxy, NoProxy       string
	EnableOCI, ForceHTTP bool
	Insecure             bool
	AzureIdentity        bool
	GitCredentials       bool // credentials that only Git uses
	Unknown              bool // credentials that are not known
}

// HasCredentials reports whether the repository has a credential field, even one that OCI registries ignore. If it has, no template
// applies.
func (r *Repository) HasCredentials() bool {
	return r.Username != "" || r.Password != "" || r.Certificate != "" || r.AzureIdentity || r.GitCredentials || r.Unknown
}

// Inherit completes a repository without credentials by a template. The booleans are overwritten even if the repository has them;
// Insecure is not inherited.
func (r *Repository) Inherit(template *Repository) {
	r.Username, r.Password, r.Certificate = template.Username, template.Password, template.Certificate
	if r.Key == "" {
		r.Key = template.Key
	}
	if r.Proxy == "" {
		r.Proxy = template.Proxy
	}
	if r.NoProxy == "" {
		r.NoProxy = template.NoProxy
	}
	if r.Type == "" {
		r.Type = template.Type
	}
	r.GitCredentials, r.Unknown = template.GitCredentials, template.Unknown
	r.EnableOCI, r.ForceHTTP, r.AzureIdentity = template.EnableOCI, template.ForceHTTP, template.AzureIdentity
}

// Set has the repositories and templates of all Secrets. The zero value is empty.
type Set struct {
	repositories, templates Index[*Repository]
	lengths                 map[int]bool // of the URLs of templates
}

// AddRepository adds a Secret of the type repository.
func (s *Set) AddRepository(r *Repository, at Place) {
	s.repositories.Add(at, repositoryName(r.URL, r.Project), r)
}

// AddTemplate adds a Secret of the type repo-creds.
func (s *Set) AddTemplate(r *Repository, at Place) {
	if s.lengths == nil {
		s.lengths = map[int]bool{}
	}
	prefix := normalize(r.URL)
	s.lengths[len(prefix)] = true
	s.templates.Add(at, prefix, r)
}

// Same reports whether the values are the same.
func (r *Repository) Same(other *Repository) bool { return *r == *other }

func repositoryName(address, project string) string { return project + " " + key(address) }

// Repository returns the Secret that Argo CD uses for the URL in an Application of this project: that of the project, else that without a
// project. count is 0 if there is none, and 2 if there are several with different values, of which Argo CD uses any one.
func (s *Set) Repository(address, project string, from Place) (found *Repository, count int) {
	if address == "" {
		return nil, 0
	}
	if found, count = s.repositories.Find(from, repositoryName(address, project)); count > 0 {
		return found, count
	}
	return s.repositories.Find(from, repositoryName(address, ""))
}

// maxURL is the length of a URL for which templates are looked up.
const maxURL = 1024

// Template returns the template that Argo CD uses for the URL: that with the longest URL that is a prefix of it, even if the prefix ends
// within a host name. count is that of Repository.
func (s *Set) Template(address string, from Place) (found *Repository, count int) {
	normal := normalize(address)
	for length := min(len(normal), maxURL); length > 0; length-- {
		if !s.lengths[length] {
			continue
		}
		if found, count = s.templates.Find(from, normal[:length]); count > 0 {
			return found, count
		}
	}
	return nil, 0
}

// normalize returns the form in which Argo CD compares URLs, "" for one that cannot be parsed. Among the latter are an IP address with a
// port and without a scheme, because the part before the colon is not a scheme.
func normalize(address string) string {
	u, err := url.Parse(strings.TrimSuffix(strings.ToLower(strings.TrimSpace(address)), ".git"))
	if err != nil {
		return ""
	}
	return u.String()
}

// key is normalize for the lookup of repositories, which also finds those whose URL cannot be parsed.
func key(address string) string {
	if normal := normalize(address); normal != "" {
		return normal
	}
	return address
}

// SameHost reports whether a template gives its credentials to the host of the URL: the template's host has no port or the same. Argo CD
// also sends them to hosts whose names only begin like the template's.
func SameHost(template, address string) bool {
	given, wanted := strings.ToLower(Host(template)), strings.ToLower(Host(address))
	name, _, _ := strings.Cut(wanted, ":")
	return given != "" && (given == wanted || given == name)
}

// Host returns the host of a URL with or without scheme, with its port, "" if it has none.
func Host(address string) string {
	_, rest, found := strings.Cut(strings.TrimSpace(address), "://")
	if !found {
		rest = strings.TrimSpace(address)
	}
	u, err := url.Parse("oci://" + rest)
	if err != nil {
		return ""
	}
	return u.Host
}

// Longer returns an example of a URL of another registry, or of another path, that begins like this one.
func Longer(address string) string {
	switch host := Host(address); {
	case !strings.HasSuffix(address, host): // it has a path
		return address + "-other"
	case strings.Contains(host, ":"):
		return address + "0"
	}
	return address + ".example.net"
}

// BypassesProxy reports whether Argo CD connects to the host without the proxy of the repository.
func (r *Repository) BypassesProxy() bool {
	host := Host(r.URL)
	name, _, _ := strings.Cut(host, ":")
	return r.Proxy == "" || slices.ContainsFunc(strings.Split(r.NoProxy, ","), func(rule string) bool {
		rule = strings.TrimPrefix(strings.TrimSpace(rule), ".")
		return rule != "" && (rule == "*" || rule == host || rule == name || strings.HasSuffix(name, "."+rule))
	})
}
