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
		pattern, ok := kubeletPattern(key)
		if !ok {
			pattern = key
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
	k.Reference = strings.TrimSuffix(referenceHost(rules, k.Host)+"/"+k.Path, "/")
	return k
}

// referenceHost returns the host as references have it: all but oras-go write docker.io for index.docker.io.
func referenceHost(rules Rules, host string) string {
	if rules != ORAS && host == "index.docker.io" {
		return "docker.io"
	}
	return host
}

// Reference returns the reference that Lookup expects for a host and a path. On Docker Hub, images of one word are in "library", except
// for oras-go.
func Reference(rules Rules, host, path string) string {
	host = referenceHost(rules, host)
	if host == "docker.io" && rules != ORAS && path != "" && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	return host + "/" + path
}
