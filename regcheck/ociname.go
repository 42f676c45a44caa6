package regcheck

import (
	"net/url"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
)

// nameFault is what keeps a content path from being the name of a repository, in words, and the path without it;
// better is empty when that is not clear.
type nameFault struct{ what, better string }

// nameFault finds none in a path that a registry may accept.
func (s *session) nameFault() nameFault {
	path := s.plan.contentPath
	name, hasHost := s.withoutHost(path)
	lower := strings.ToLower(strings.Join(slices.DeleteFunc(strings.Split(name, "/"), func(part string) bool { return part == "" }), "/"))
	better, tagged := withoutTag(lower)
	f := nameFault{better: better}
	if !oci.IsRepository(better) {
		f.better = ""
	}
	switch {
	case hasHost:
		f.what = "the host belongs into endpoint only"
	case oci.IsRepository(path):
		return nameFault{}
	case tagged:
		f.what = "a tag or digest is not part of a repository's name"
	case strings.Contains(path, "//"):
		f.what = "an empty component (//) is not allowed"
	case lower != name:
		f.what = "upper-case letters are not allowed"
	default:
		f.what = "names have at most 255 characters, and components of lower-case letters and digits, joined by single . _ -"
	}
	return f
}

// withoutHost removes a URL's beginning, and the host of the endpoint or any host with a port. Other names with
// periods are left: mirrors have directories such as docker.io.
func (s *session) withoutHost(path string) (rest string, found bool) {
	if _, after, ok := strings.Cut(path, "://"); ok {
		path, found = after, true
	}
	host, rest, _ := strings.Cut(path, "/")
	u := url.URL{Host: host}
	if found || u.Port() != "" && rest != "" || endpoint.APIHost(strings.ToLower(u.Hostname())) == s.plan.base.Host {
		return rest, true
	}
	return path, false
}

func withoutTag(name string) (rest string, found bool) {
	last := strings.LastIndexByte(name, '/') + 1
	if i := strings.IndexAny(name[last:], ":@"); i >= 0 {
		return name[:last+i], true
	}
	return name, false
}
