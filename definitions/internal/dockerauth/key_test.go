package dockerauth

import "testing"

// TestReadKey reads keys as each consumer does: what of the content an entry is for, and which path has no effect.
func TestReadKey(t *testing.T) {
	for _, tt := range []struct {
		rules  Rules
		key    string
		legacy bool
		want   Key
	}{
		{Docker, "r.test", false, Key{Host: "r.test", Reference: "r.test"}},
		{Docker, "https://r.test/v1/", false, Key{Scheme: "https", Host: "r.test", Reference: "r.test"}},
		{Docker, "https://r.test/v2", false, Key{Scheme: "https", Host: "r.test", Reference: "r.test"}},
		{Docker, "http://r.test/team", false, Key{Scheme: "http", Host: "r.test", IgnoredPath: "/team", Reference: "r.test"}},
		{Docker, HubKey, false, Key{Scheme: "https", Host: "index.docker.io", Reference: "docker.io"}},
		{ORAS, HubKey, false, Key{Scheme: "https", Host: "index.docker.io", Reference: "index.docker.io"}},
		{Podman, "r.test/team", false, Key{Host: "r.test", Path: "team", Reference: "r.test/team"}},
		{Podman, "r.test/team", true, Key{Host: "r.test", IgnoredPath: "/team", Reference: "r.test"}},
		{Podman, "https://r.test/team", false, Key{Scheme: "https", Host: "r.test", IgnoredPath: "/team", Reference: "r.test"}},
		{GitLabRunner, "r.test/team", false, Key{Host: "r.test", Path: "team", Reference: "r.test/team"}},
		{Kubelet, "https://r.test/v2/team/", false, Key{Scheme: "https", Host: "r.test", Path: "team/", Reference: "r.test/team"}},
		{Keychain, "*.test", false, Key{Host: "*.test", Reference: "*.test"}},
		{Kubelet, "a b", false, Key{Host: "a b", Reference: "a b"}}, // no URL
	} {
		if got := ReadKey(tt.rules, tt.key, tt.legacy); got != tt.want {
			t.Errorf("%v, %q: %+v, want %+v", tt.rules, tt.key, got, tt.want)
		}
	}
}

// TestReference writes the references of Docker Hub as consumers do.
func TestReference(t *testing.T) {
	for _, tt := range []struct {
		rules            Rules
		host, path, want string
	}{
		{Docker, "docker.io", "nginx", "docker.io/library/nginx"},
		{Kubelet, "index.docker.io", "nginx", "docker.io/library/nginx"},
		{Docker, "docker.io", "acme/app", "docker.io/acme/app"},
		{Docker, "docker.io", "", "docker.io/"},
		{ORAS, "docker.io", "nginx", "docker.io/nginx"},
		{ORAS, "index.docker.io", "nginx", "index.docker.io/nginx"},
		{Docker, "r.test", "nginx", "r.test/nginx"},
	} {
		if got := Reference(tt.rules, tt.host, tt.path); got != tt.want {
			t.Errorf("%v, %s and %s: %s, want %s", tt.rules, tt.host, tt.path, got, tt.want)
		}
	}
}

// TestDockerHubOfFlux looks for docker.io by its other name, and for no host whose name begins with it.
func TestDockerHubOfFlux(t *testing.T) {
	for reference, want := range map[string]string{"docker.io": "index.docker.io", "docker.io/acme/app": "index.docker.io",
		"docker.io.test/app": "docker.io.test"} {
		choice := parse(t, auths("index.docker.io", "docker.io.test", "index.docker.io.test")).Lookup(Keychain, reference)
		if keys := keysOf(choice); len(keys) != 1 || keys[0] != want {
			t.Errorf("%s: %q, want %q", reference, keys, want)
		}
	}
}

// TestDockerHubOfKubelet is docker.io by both names, and every reference whose host looks like none.
func TestDockerHubOfKubelet(t *testing.T) {
	for reference, want := range map[string]bool{"docker.io/a": true, "index.docker.io/a": true, "acme/a": true, "r.test/a": false,
		"localhost:5000/a": false} {
		if got := isDockerHub(reference); got != want {
			t.Errorf("%s: %t", reference, got)
		}
	}
}
