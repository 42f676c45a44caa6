package dockerauth

import (
	"fmt"
	"strings"
)

// podman uses a helper of the host, or else an entry by its path.
func (l *lookup) podman(reference, host string) {
	name, found := l.config.helpers[host]
	if found && name == "" {
		l.choice.Rejected = fmt.Sprintf("credHelpers has an empty name for %q, which podman cannot start.", Show(host))
		l.step("%s", l.choice.Rejected)
		return
	}
	if found {
		l.helper(name, host, "credHelpers has %q for %q; podman compares only the host.", Show(name), Show(host))
		return
	}
	if l.config.Store != "" {
		l.step("podman ignores credsStore.")
	}
	l.byPath(reference, host)
}

// byPath chooses the longest key that is the reference or a parent of it, or else any key with the host.
func (l *lookup) byPath(reference, host string) {
	if e := l.longest(reference, host); e != nil {
		l.choose(e)
		l.step("The key %q is the longest that is %s or a parent of it.", Show(e.Key), Show(reference))
		return
	}
	l.chooseHost(podmanHub(host), "The key %[1]q is another spelling of the host.")
}

// maxReference limits a reference whose parents are looked for. Registries allow 255 bytes.
const maxReference = 1024

// longest returns the entry whose key is the reference or its nearest parent. A .dockercfg has hosts only.
func (l *lookup) longest(reference, host string) *Entry {
	if l.config.legacy {
		return l.byKey[host]
	}
	if len(reference) > maxReference {
		return nil
	}
	for key := reference; ; {
		if e := l.byKey[key]; e != nil {
			return e
		}
		slash := strings.LastIndexByte(key, '/')
		if slash < 0 {
			return nil
		}
		key = key[:slash]
	}
}

// podmanHost returns the host of a key that is a URL. A key without a scheme keeps its path, and then is no host.
func podmanHost(key string, legacy bool) string {
	host := strings.TrimPrefix(strings.TrimPrefix(key, "http://"), "https://")
	if legacy || host != key {
		host, _, _ = strings.Cut(host, "/")
	}
	return podmanHub(host)
}

// podmanHub returns one name for the hosts of Docker Hub.
func podmanHub(host string) string {
	if host == "docker.io" || host == "registry-1.docker.io" {
		return "index.docker.io"
	}
	return host
}
