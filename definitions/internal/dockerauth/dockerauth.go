// Package dockerauth reads docker's files of credentials (config.json, .dockercfg, auth.json) and chooses the entry that a consumer would
// use. Consumers disagree: on which entries match, on whether one bad entry makes the whole file unusable, and on helpers.
package dockerauth

import "github.com/regwarden/regwarden/secret"

// Rules are those of one kind of consumer.
type Rules int

// Docker is docker/cli, ORAS is oras-go (Helm), Podman is containers/image, Kubelet is k8s.io/kubernetes/pkg/credentialprovider.
const (
	Docker Rules = iota
	ORAS
	Podman
	Kubelet
)

// Credential is what an entry has. At most one of Password, IdentityToken and RegistryToken is used, see the consumer's rules.
type Credential struct {
	Username      string
	Password      secret.String
	IdentityToken secret.String // OAuth2 refresh token
	RegistryToken secret.String // bearer token
}

// Entry is one entry of "auths".
type Entry struct {
	Key        string
	Line       int
	Credential Credential
	Problem    string // word of definitions.ProblemReason, "" if the entry can be used
}

// Config is a file of credentials.
type Config struct {
	Entries []Entry           // in the order of the file
	Helpers map[string]string // credHelpers: name of the helper by host
	Store   string            // credsStore
}

// Choice is what a consumer would use for a reference.
type Choice struct {
	Entries   []*Entry // in the order in which they are tried; none: the consumer connects without credentials
	Helper    string   // the helper that would be started instead, as in docker-credential-HELPER
	Ambiguous bool     // the consumer uses any one of Entries
	Rejected  string   // why the consumer rejects the whole file, "" if it does not
	Steps     []string // the reasoning, one sentence per step, for --explain
}
