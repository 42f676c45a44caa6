package regcheck

import (
	"cmp"
	"slices"

	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/source"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
	"github.com/regwarden/regwarden/secret"
)

// ProviderType is the kind of artifact that the registry is for.
type ProviderType string

// Provider types; an empty one means Helm.
const (
	Helm ProviderType = "helm"
	Zarf ProviderType = "zarf"
	Pack ProviderType = "pack"
)

// Kind is what a definition describes.
type Kind string

// Kinds; an empty one means OCI. A chart repository is a web server with an index.yaml, as "helm repo add" takes it: its BaseContentPath
// is a chart, name or name:version, and its References are name:version.
const (
	KindOCI             Kind = "oci"
	KindChartRepository Kind = "chartRepository"
)

// AuthType is how to authenticate to the registry.
type AuthType string

// Auth types; an empty one is derived from the credentials that are there.
const (
	NoAuth AuthType = "noAuth"
	Basic  AuthType = "basic"
	Token  AuthType = "token"

	// With these, a check obtains a username and password from the provider of the registry; Auth has what they need for it.
	ECR    AuthType = "ecr"
	GCP    AuthType = "gcp"
	Azure  AuthType = "azure"
	GitHub AuthType = "github"
)

// Definition describes a registry as users write it. The zero value is not valid: Parse returns what is missing.
type Definition struct {
	Kind            Kind         `json:"kind,omitempty"`
	Endpoint        string       `json:"endpoint"`
	BasePath        string       `json:"basePath,omitempty"`
	BaseContentPath string       `json:"baseContentPath,omitempty"`
	References      []string     `json:"references,omitempty"` // artifacts that must be complete, as BaseContentPath may name one
	ProviderType    ProviderType `json:"providerType,omitempty"`
	Auth            *Auth        `json:"auth"`

	// Unknown lists sent members that do not exist (NoteUnknown). A check warns of each.
	Unknown []Problem `json:"-"`
}

// Auth are the credentials of a registry.
type Auth struct {
	Type     AuthType      `json:"type,omitempty"`
	Username string        `json:"username,omitempty"`
	Password secret.String `json:"password,omitempty"`
	Token    secret.String `json:"token,omitempty"`
	AWS      *AWSKey       `json:"aws,omitempty"`
	GCP      *GCPKey       `json:"gcp,omitempty"`
	Azure    *AzureClient  `json:"azure,omitempty"`
	GitHub   *GitHubApp    `json:"github,omitempty"`
	TLS      TLS           `json:"tls,omitzero"`

	// PassCredentials sends the credentials of a chart repository to other hosts that its index names, as helm --pass-credentials does.
	PassCredentials bool `json:"passCredentials,omitempty"`
}

// What credentials are obtained with, by type.
type (
	AWSKey      = source.AWSKey      // ECR
	GCPKey      = source.GCPKey      // GCP
	AzureClient = source.AzureClient // Azure
	GitHubApp   = source.GitHubApp   // GitHub
)

// TLS has the trusted certificates and the client certificate. Unless Enabled, the rest has no effect.
type TLS struct {
	CA                 string        `json:"ca,omitempty"`
	Certificate        string        `json:"certificate,omitempty"`
	Enabled            bool          `json:"enabled,omitempty"`
	InsecureSkipVerify bool          `json:"insecureSkipVerify,omitempty"`
	Key                secret.String `json:"key,omitempty"`
}

// Problem is one thing wrong with one field. Field is its JSON path.
type Problem struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`

	Text Text `json:"-"` // for Show; empty if the problem was decoded from JSON
}

// Show returns the problem for an audience.
func (p Problem) Show(a Audience) string { return cmp.Or(a.Show(p.Text), p.Problem) }

// Registry returns the base URL of the API, as a Report has it, and "" if endpoint or basePath cannot be used.
func (d Definition) Registry() string {
	p := Plan{kind: d.Kind}
	var found problems
	if p.readBase(d.Endpoint, d.BasePath, &found); len(found) > 0 {
		return ""
	}
	return p.base.String()
}

// FileProblems returns the problems of a definition in a file, which can have many: a private key is recognized, but only Parse parses it.
func (d Definition) FileProblems() []Problem { _, problems := d.read(false); return problems }

// Kind returns the type, derived from the credentials if none is written.
func (a *Auth) Kind() AuthType {
	switch {
	case a.Type != "":
		return a.Type
	case a.Token != "":
		return Token
	case a.Username != "" || a.Password != "":
		return Basic
	default:
		return NoAuth
	}
}

// TextProblem returns why a text is not valid in a field, "" if it is. The problem completes a sentence that begins with the field.
func TextProblem(value string) string { return Audience{}.Show(endpoint.TextProblem(value)) }

// NoteUnknown adds members that were sent and that do not exist to Unknown, each with the nearest name of a known one. known
// are paths such as "auth.tls.ca".
func (d *Definition) NoteUnknown(unknown, known []string) {
	for _, path := range unknown {
		path = wire.CleanText(path)
		d.Unknown = append(d.Unknown, Problem{Field: path, Problem: "is not a field of a definition" + spelling.Hint(path, known)})
	}
}

// IsObtained reports whether a check obtains the credentials.
func (t AuthType) IsObtained() bool { return slices.Contains([]AuthType{ECR, GCP, Azure, GitHub}, t) }

// ObtainedBy returns the type with which credentials for the registry of an endpoint can be obtained, "" if there is none.
func ObtainedBy(written string) AuthType {
	base, problem := endpoint.Read(written)
	for _, m := range new(Auth).members() {
		if problem == "" && m.settings.Serves(base.Host) {
			return m.kind
		}
	}
	return ""
}
