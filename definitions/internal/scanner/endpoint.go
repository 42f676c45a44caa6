package scanner

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
)

// DockerHub is the endpoint of Docker Hub, whose other names are aliases of its website and its old index.
const DockerHub = "https://registry-1.docker.io"

// EndpointOf returns the endpoint of a registry host, which may have a port.
func EndpointOf(host string) string {
	switch host {
	case "docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com":
		return DockerHub
	}
	return "https://" + host
}

// SplitReference splits a reference of an image as docker writes it (host[:port]/path[:tag][@digest]) into host and path. Without a host
// it is on Docker Hub, where a path without a namespace is in "library".
func SplitReference(reference string) (host, path string) {
	host, path = SplitPrefix(reference)
	if (host == "docker.io" || host == "index.docker.io") && path != "" && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	return host, path
}

// SplitPrefix is SplitReference for what may be the first part of several references, such as a namespace: after the host of Docker Hub
// it is as it is written.
func SplitPrefix(prefix string) (host, path string) {
	prefix = CutTag(prefix)
	first, rest, found := strings.Cut(prefix, "/")
	switch {
	case found && (strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first):
		host, path = first, rest
	case found:
		host, path = "docker.io", prefix
	default:
		host, path = "docker.io", "library/"+prefix
	}
	return host, path
}

// CutTag returns a reference without tag and digest. The host of a reference without a path must not have a port.
func CutTag(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndexByte(reference, ':'); colon > strings.LastIndexByte(reference, '/') {
		return reference[:colon]
	}
	return reference
}

func joinPath(a, b string) string { return strings.Trim(a+"/"+strings.Trim(b, "/"), "/") }

// ReadAddress reads [scheme://]host[:port][/path], without a user, a query and a fragment. The reason is why it is not the address of
// a registry, "" if it is.
func ReadAddress(text string) (endpoint, path string, reason model.SkipReason) {
	scheme, rest, found := strings.Cut(strings.TrimSpace(text), "://")
	if !found {
		scheme, rest = "https", strings.TrimSpace(text)
	}
	if cut := strings.IndexAny(rest, "?#"); cut >= 0 {
		rest = rest[:cut]
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	host, path = strings.ToLower(host), strings.Trim(path, "/")
	switch {
	case strings.Contains(host, "*"):
		return "", "", model.SkipWildcard
	case host == "" || strings.ContainsAny(host, " \t\r\n\"'\\<>{}()$") || strings.Trim(host, ".:") == "":
		return "", "", model.SkipNoHost
	}
	switch strings.ToLower(scheme) {
	case "https", "oci":
		return EndpointOf(host), path, ""
	case "http":
		return "http://" + host, path, ""
	default:
		return "", "", model.SkipUnsupportedScheme
	}
}

// HostOf returns host[:port] of an address.
func HostOf(address string) string {
	if _, rest, found := strings.Cut(address, "://"); found {
		address = rest
	}
	host, _, _ := strings.Cut(address, "/")
	return host
}

// IsECR reports whether an address is a registry of AWS, whose passwords are made with AWS credentials.
func IsECR(address string) bool {
	host := HostOf(address)
	return strings.Contains(host, ".dkr.ecr") && strings.Contains(host, ".amazonaws.com") || host == "public.ecr.aws"
}
