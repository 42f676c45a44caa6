package dockerauth

import (
	"slices"
	"strings"
)

// Key is a key of an entry as a consumer reads it.
type Key struct {
	Scheme      string // "" if none is written
	Host        string // with port
	Path        string // what of the registry's content the entry is for, "" for all
	IgnoredPath string // a path that the consumer ignores, except those of the API
	Reference   string // something for which the consumer would use the entry, if for anything
}

// ReadKey returns a key as the consumer reads it.
func ReadKey(rules Rules, key string, legacy bool) Key {
	var k Key
	rest := key
	if scheme, after, found := strings.Cut(key, "://"); found {
		k.Scheme, rest = scheme, after
	}
	_, written, _ := strings.Cut(rest, "/")
	switch {
	case rules == Kubelet || rules == Keychain:
		pattern, ok := KubeletPattern(key)
		if !ok {
			return k
		}
		k.Host, k.Path, _ = strings.Cut(pattern, "/")
	case (rules == Podman || rules == GitLabRunner) && !legacy && k.Scheme == "":
		k.Host, k.Path, _ = strings.Cut(key, "/")
	default:
		k.Host = rules.hostOf(key, legacy)
		if !slices.Contains([]string{"v1", "v2", ""}, strings.TrimSuffix(written, "/")) {
			k.IgnoredPath = "/" + written
		}
	}
	k.Reference = strings.TrimSuffix(Reference(rules, k.Host, k.Path), "/")
	return k
}

// Reference returns the reference that Lookup expects: all but oras-go write docker.io for index.docker.io, and put its images of one
// word into "library".
func Reference(rules Rules, host, path string) string {
	if rules != ORAS && (host == "index.docker.io" || host == "docker.io") {
		host = "docker.io"
		if path != "" && !strings.Contains(path, "/") {
			path = "library/" + path
		}
	}
	return host + "/" + path
}
