package definitions

import "strings"

// dockerHub is the endpoint of Docker Hub, whose other names are aliases of its website and its old index.
const dockerHub = "https://registry-1.docker.io"

// endpointOf returns the endpoint of a registry host, which may have a port.
func endpointOf(host string) string {
	switch host {
	case "docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com":
		return dockerHub
	}
	return "https://" + host
}

// splitReference splits a reference as docker writes it (host[:port]/path[:tag][@digest]) into host and path. Without a host it is on
// Docker Hub, where a path without a namespace is in "library".
func splitReference(reference string) (host, path string) {
	reference = cutTag(reference)
	first, rest, found := strings.Cut(reference, "/")
	switch {
	case found && (strings.ContainsAny(first, ".:") || first == "localhost"):
		host, path = first, rest
	case found:
		host, path = "docker.io", reference
	default:
		host, path = "docker.io", "library/"+reference
	}
	return host, path
}

// cutTag returns a reference without tag and digest. The host of a reference without a path must not have a port.
func cutTag(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndexByte(reference, ':'); colon > strings.LastIndexByte(reference, '/') {
		return reference[:colon]
	}
	return reference
}
