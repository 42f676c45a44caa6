// Package dockerauth reads docker's files of credentials (config.json, .dockercfg, auth.json) and chooses the entry that a consumer would
// use. Consumers disagree: on which entries match, on whether one bad entry makes the whole file unusable, and on helpers.
package dockerauth

import (
	"slices"

	"github.com/regwarden/regwarden/secret"
)

// Rules are those of one kind of consumer.
type Rules int

// Docker is docker/cli, ORAS is oras-go (Helm), Podman is containers/image, Kubelet is k8s.io/kubernetes/pkg/credentialprovider.
// DockerEnv is docker/cli for the value of DOCKER_AUTH_CONFIG. GitLabRunner reads as docker/cli, and compares keys with paths.
// Keychain is that of go-containerregistry for pull Secrets (Flux's OCIRepository
// and ImageRepository), which has kubelet's patterns.
const (
	Docker Rules = iota
	ORAS
	Podman
	Kubelet
	DockerEnv
	GitLabRunner
	Keychain
)

// String returns the consumer as messages name it.
func (r Rules) String() string {
	return [...]string{"docker", "Helm (ORAS)", "podman", "kubelet", "docker", "GitLab's runner", "Flux"}[r]
}

// Credential is what an entry has. At most one of Password, IdentityToken and RegistryToken is used, see the consumer's rules.
type Credential struct {
	Username      string
	Password      secret.String
	IdentityToken secret.String // OAuth2 refresh token
	RegistryToken secret.String // bearer token
}

// Entry is one entry of "auths" as a consumer reads it. An entry without Problem and with the zero Credential is empty.
type Entry struct {
	Key        string
	Line       int
	Credential Credential
	Problem    string   // word of definitions.ProblemReason, "" if the entry can be used
	Message    string   // of Problem: a sentence without secrets
	Repeated   bool     // an earlier entry has the same key, and is not used
	Ignored    []string // members with a value that the consumer does not read

	sameHost *hostEntries
}

// Helper is a credential helper of "credHelpers". An empty Name means that none is used for the host.
type Helper struct {
	Host, Name string
	Line       int
}

// Config is a file of credentials.
type Config struct {
	Helpers   []Helper // credHelpers, in the order of the file
	Store     string   // credsStore
	StoreLine int

	Incomplete bool // whether there are more entries than those that are read

	legacy  bool
	most    int            // entries
	entries []rawEntry     // in the order of the file
	last    map[string]int // index in entries of the one that is used, by key
	helpers map[string]string
	shape   []wrongMember
	quirks  quirks
	decoded map[Rules]*decoded
}

// Rejection is why a consumer rejects a whole file.
type Rejection struct {
	Line    int
	Problem string // word of definitions.ProblemReason
	Message string // a sentence without secrets
}

// Choice is what a consumer would use for a reference.
type Choice struct {
	Entries      []*Entry // in the order in which they are tried; none: the consumer connects without credentials
	Helper       string   // the helper that would be started instead, as in docker-credential-HELPER
	HelperServer string   // what the helper is asked for
	FromStore    bool     // Helper is credsStore, not one of credHelpers
	Ambiguous    bool     // the consumer uses any one of Entries, which have different credentials
	Rejected     string   // why the consumer fails instead of connecting: mostly, it rejects the whole file; "" if it does not
	Steps        []string // the reasoning, one sentence per step, for --explain: the first 20, and how many there are

	ofHost *hostEntries // whose entries Entries are, nil if they are others
}

// Has reports whether the choice has an entry. Hostile files have many for one host.
func (c *Choice) Has(e *Entry) bool {
	if c.ofHost != nil {
		return e != nil && c.ofHost == e.sameHost
	}
	return slices.Contains(c.Entries, e)
}
