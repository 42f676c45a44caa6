package dockerauth

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// kubelet tries all matching entries, the most specific first. Keys are patterns: * in each label of the host, and the path is a
// bare prefix.
func (l *lookup) kubelet(reference string) {
	if l.config.HasHelpers() {
		l.step("kubelet ignores credsStore and credHelpers.")
	}
	patterns := l.match(reference)
	for _, e := range l.choice.Entries {
		l.step("The key %q matches as %q.", Show(e.Key), Show(patterns[e]))
	}
	if len(l.choice.Entries) == 0 && isDockerHub(reference) {
		l.kubeletHub(patterns)
	}
	if len(l.choice.Entries) > 1 {
		l.step("kubelet tries these entries in this order until one works.")
	}
}

// match chooses the entries whose pattern matches, in reverse order of the patterns. It returns the patterns of all entries.
func (l *lookup) match(reference string) map[*Entry]string {
	patterns := map[*Entry]string{}
	for _, e := range l.entries {
		pattern, ok := kubeletPattern(e.Key)
		if !ok {
			l.step("%s ignores the entry %q: its key is not a URL.", l.rules, Show(e.Key))
			continue
		}
		patterns[e] = pattern
		if kubeletMatch(pattern, reference) {
			l.choose(e)
		}
	}
	slices.SortStableFunc(l.choice.Entries, func(a, b *Entry) int { return strings.Compare(patterns[b], patterns[a]) })
	return patterns
}

// keychain uses only the first pattern that matches; docker.io is index.docker.io.
func (l *lookup) keychain(reference string) {
	if l.config.HasHelpers() {
		l.step("Flux ignores credsStore and credHelpers.")
	}
	if rest, ok := strings.CutPrefix(reference, "docker.io"); ok && (rest == "" || rest[0] == '/') {
		reference = "index.docker.io" + rest
		l.step("Flux looks for %s, its name of Docker Hub.", Show(reference))
	}
	patterns := l.match(reference)
	matching := l.choice.Entries
	for i, e := range matching {
		if patterns[e] != patterns[matching[0]] {
			l.choice.Entries = matching[:i]
			break
		}
		l.step("The key %q matches as %q.", Show(e.Key), Show(patterns[e]))
	}
	if slices.ContainsFunc(l.choice.Entries, func(e *Entry) bool { return l.rules.differ(e, l.choice.Entries[0]) }) {
		l.choice.Ambiguous = true
		l.step("The credentials differ, and %s uses any one of these entries, by chance.", l.rules)
	}
}

// kubeletHub uses the entries of index.docker.io for Docker Hub if nothing else matches.
func (l *lookup) kubeletHub(patterns map[*Entry]string) {
	for _, e := range l.entries {
		if patterns[e] == HubPattern {
			l.choose(e)
			l.step("The reference is on Docker Hub, for which kubelet uses the key %q.", Show(e.Key))
		}
	}
}

func isDockerHub(reference string) bool {
	host, _, _ := strings.Cut(reference, "/")
	return host == "docker.io" || host == "index.docker.io" || !strings.ContainsAny(host, ".:")
}

// kubeletPattern returns host and path of a key as kubelet compares them: without scheme, and without /v1 or /v2. It returns false
// if kubelet ignores the entry.
func kubeletPattern(key string) (string, bool) {
	if !strings.HasPrefix(key, "https://") && !strings.HasPrefix(key, "http://") {
		key = "https://" + key
	}
	u, err := url.Parse(key)
	if err != nil {
		return "", false
	}
	p := u.Path
	if strings.HasPrefix(p, "/v1/") || strings.HasPrefix(p, "/v2/") {
		p = p[len("/v1"):]
	}
	if p == "/" {
		p = ""
	}
	return u.Host + p, true
}

// kubeletMatch reports whether a pattern of kubeletPattern matches a reference.
func kubeletMatch(pattern, reference string) bool {
	glob, err := url.Parse("https://" + pattern)
	if err != nil {
		return false
	}
	target, err := url.Parse("https://" + reference)
	if err != nil || !strings.HasPrefix(target.Path, glob.Path) {
		return false
	}
	globLabels, globPort := labels(glob.Host)
	targetLabels, targetPort := labels(target.Host)
	return globPort == targetPort && matchLabels(globLabels, targetLabels)
}

func labels(hostport string) (labels []string, port string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = hostport, ""
	}
	return strings.Split(host, "."), port
}
