package dockerauth

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// HubKey is docker's key for Docker Hub, after the address of the index of the first version of the API.
const HubKey = "https://index.docker.io/v1/"

// Lookup returns what a consumer with these rules would use for a reference, which is host[:port][/path] without tag and digest.
// Docker Hub is docker.io, and its images of one word are in docker.io/library.
func (c *Config) Lookup(rules Rules, reference string) Choice {
	l := &lookup{config: c, rules: rules, decoded: c.as(rules)}
	if rejected := l.rejected; rejected != nil {
		l.choice.Rejected = rejected.Message
		l.step("%s", rejected.Message)
		l.step("For this reason %s rejects the whole file.", rules)
		return l.choice
	}
	host, _, _ := strings.Cut(reference, "/")
	switch rules {
	case Kubelet:
		l.kubelet(reference)
	case Keychain:
		l.keychain(reference)
	case Podman:
		l.podman(reference, host)
	case GitLabRunner:
		l.gitlabRunner(reference, host)
	default:
		l.docker(host)
	}
	l.conclude(reference)
	if l.leftOut > 0 {
		l.choice.Steps = append(l.choice.Steps, fmt.Sprintf("The other %d steps are not shown.", l.leftOut))
	}
	return l.choice
}

// lookup is one call of Lookup.
type lookup struct {
	*decoded
	config *Config
	rules  Rules
	choice Choice

	leftOut int // steps
}

// maxSteps limits the reasoning about one reference: a hostile file has many entries for a host.
const maxSteps = 20

func (l *lookup) step(format string, args ...any) {
	if len(l.choice.Steps) == maxSteps {
		l.leftOut++
		return
	}
	l.choice.Steps = append(l.choice.Steps, fmt.Sprintf(format, args...))
}

// docker is for docker and oras-go: an exact key, or else any key with this host.
func (l *lookup) docker(host string) {
	key := l.serverAddress(host)
	if key != host {
		l.step("%s looks for %q, its name of Docker Hub.", l.rules, key)
	}
	if l.rules != DockerEnv && l.useHelper(key) {
		return
	}
	if e := l.byKey[key]; e != nil {
		l.choose(e)
		l.step("The key %q is the same.", Show(e.Key))
		return
	}
	if l.rules == DockerEnv {
		l.step("docker compares keys of DOCKER_AUTH_CONFIG as they are written, and then uses its config.json.")
		return
	}
	l.chooseHost(key, "The host of the key %[1]q is the same; %[2]s ignores scheme and path.")
}

// serverAddress returns the key by which docker and oras-go look for a host.
func (l *lookup) serverAddress(host string) string {
	names := []string{"docker.io", "index.docker.io"}
	if l.rules == ORAS { // which connects to registry-1.docker.io for docker.io
		names = []string{"docker.io", "registry-1.docker.io"}
	}
	if slices.Contains(names, host) {
		return HubKey
	}
	return host
}

// hostOf returns the host that the consumer sees in a key when no key is exactly what it looks for.
func (r Rules) hostOf(key string, legacy bool) string {
	switch {
	case r == Podman || r == GitLabRunner:
		return podmanHost(key, legacy)
	case r == ORAS:
		key = strings.TrimPrefix(strings.TrimPrefix(key, "http://"), "https://")
	case strings.Contains(key, "://"):
		if u, err := url.Parse(key); err == nil && u.Hostname() != "" {
			if u.Port() == "" {
				return u.Hostname()
			}
			return net.JoinHostPort(u.Hostname(), u.Port())
		}
	}
	host, _, _ := strings.Cut(key, "/")
	return host
}

// useHelper chooses the helper of the host, or else the store.
func (l *lookup) useHelper(key string) bool {
	name, found := l.config.helpers[key]
	switch {
	case name != "":
		l.helper(name, key, "credHelpers has %q for %q.", Show(name), Show(key))
		return true
	case found && l.rules == ORAS:
		l.step("The empty credential helper of %q has no effect.", Show(key))
	case found:
		l.step("credHelpers disables credential helpers for %q.", Show(key))
		return false
	}
	if l.config.Store == "" {
		return false
	}
	l.helper(l.config.Store, key, "credsStore is %q, and is used for all registries without a credential helper.", Show(l.config.Store))
	l.choice.FromStore = true
	return true
}

func (l *lookup) helper(name, server, why string, args ...any) {
	l.choice.Helper, l.choice.HelperServer = name, server
	l.step(why, args...)
}

func (l *lookup) choose(e *Entry) { l.choice.Entries = append(l.choice.Entries, e) }

// chooseHost chooses all entries of a host, with a step for each. The consumer, which walks a Go map, uses any of them.
func (l *lookup) chooseHost(host, why string) {
	same := l.byHost[host]
	if same == nil {
		return
	}
	l.choice.Entries, l.choice.ofHost, l.choice.Ambiguous = same.entries, same, same.ambiguous
	l.hostSteps(same, why)
	if same.ambiguous {
		l.step("The credentials differ, and %s uses any one of these entries, by chance.", l.rules)
	}
}

// hostSteps adds a step for each of the entries. Many choices share the texts.
func (l *lookup) hostSteps(same *hostEntries, why string) {
	if same.steps == nil {
		for _, e := range firstOf(same.entries) {
			same.steps = append(same.steps, fmt.Sprintf(why, Show(e.Key), l.rules))
		}
		same.steps = slices.Clip(same.steps)
	}
	if len(l.choice.Steps) == 0 {
		l.choice.Steps = same.steps
	} else {
		for _, step := range same.steps {
			l.step("%s", step)
		}
	}
	l.leftOut += len(same.entries) - len(same.steps)
}

// firstOf returns the entries that have a step each.
func firstOf(entries []*Entry) []*Entry { return entries[:min(len(entries), maxSteps)] }

// conclude adds the last steps.
func (l *lookup) conclude(reference string) {
	switch c := &l.choice; {
	case c.Rejected != "":
	case c.Helper != "":
		l.step("%s asks docker-credential-%s for %q.", l.rules, Show(c.Helper), Show(c.HelperServer))
	case len(c.Entries) == 0:
		l.step("No entry matches %s: %s connects without credentials.", Show(reference), l.rules)
	default:
		for _, e := range firstOf(c.Entries) {
			if e.Problem != "" {
				l.step("%s", e.Message)
			} else if e.Empty() {
				l.step("The entry %q is empty: %s connects without credentials.", Show(e.Key), l.rules)
			}
		}
	}
}
