package dockerauth

import "strings"

// podman uses the longest key that is the reference or a parent of it, and then any key with this host.
func (l *lookup) podman(reference, host string) {
	for i := range l.config.Helpers {
		if h := l.config.Helpers[len(l.config.Helpers)-1-i]; h.Host == host {
			l.helper(h.Name, host, "credHelpers has %q for %q; podman compares only the host.", shorten(h.Name), shorten(host))
			return
		}
	}
	if l.config.Store != "" {
		l.step("podman ignores credsStore.")
	}
	for _, key := range podmanKeys(reference, host, l.config.legacy) {
		for _, e := range l.entries {
			if e.Key == key {
				l.choose(e)
				l.step("The key %q is the longest that is %s or a parent of it.", shorten(key), shorten(reference))
				return
			}
		}
	}
	for _, e := range l.entries {
		if podmanHost(e.Key, l.config.legacy) == podmanHub(host) {
			l.choose(e)
			l.step("The key %q is another spelling of the host.", shorten(e.Key))
		}
	}
	l.ambiguous()
}

// podmanKeys returns the keys for a reference, the longest first.
func podmanKeys(reference, host string, legacy bool) []string {
	if legacy {
		return []string{host}
	}
	keys := []string{reference}
	for {
		slash := strings.LastIndexByte(reference, '/')
		if slash < 0 {
			return keys
		}
		reference = reference[:slash]
		keys = append(keys, reference)
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
