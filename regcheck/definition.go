package regcheck

import (
	"cmp"

	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/credentials"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/source"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
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
type AuthType = credentials.Type

// Auth types; an empty one is derived from the credentials that are there. With those of clouds, a check obtains a username and password
// from the provider of the registry; Auth has what they need for it.
const (
	NoAuth = credentials.NoAuth
	Basic  = credentials.Basic
	Token  = credentials.Token

	ECR    = credentials.ECR
	GCP    = credentials.GCP
	Azure  = credentials.Azure
	GitHub = credentials.GitHub

	Exec = credentials.Exec // with Auth.Exec, which only programs can set
	File = credentials.File // with Auth.File, which only programs can set
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

// The credentials of a registry, and its settings of TLS.
type (
	Auth       = credentials.Auth
	AuthSecret = credentials.Secret // of Auth.Secrets
	TLS        = credentials.TLS
)

// What credentials are obtained with, by type.
type (
	AWSKey      = source.AWSKey      // ECR
	GCPKey      = source.GCPKey      // GCP
	AzureClient = source.AzureClient // Azure
	GitHubApp   = source.GitHubApp   // GitHub

	CredentialHelper = source.CredentialHelper // Exec
	RenewedFile      = source.RenewedFile      // File
)

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

// ObtainedBy returns the type with which credentials for the registry of an endpoint can be obtained, "" if there is none.
func ObtainedBy(endpoint string) AuthType { return credentials.ObtainedBy(endpoint) }
