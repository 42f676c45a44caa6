// Package credentials reads the credentials of a definition: those that it has, or what they are obtained with, and its settings of TLS.
package credentials

import (
	"slices"

	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/source"
	"github.com/regwarden/regwarden/secret"
)

// Type is how to authenticate to the registry.
type Type string

// Types; an empty one is derived from the credentials that are there.
const (
	NoAuth Type = "noAuth"
	Basic  Type = "basic"
	Token  Type = "token"

	// With these, a check obtains a username and password from the provider of the registry; Auth has what they need for it.
	ECR    Type = "ecr"
	GCP    Type = "gcp"
	Azure  Type = "azure"
	GitHub Type = "github"

	// Those of a command line, which no definition in a request or a file can have.
	Exec Type = "exec"
	File Type = "file"
)

// Auth are the credentials of a registry.
type Auth struct {
	Type     Type                `json:"type,omitempty"`
	Username string              `json:"username,omitempty"`
	Password secret.String       `json:"password,omitempty"`
	Token    secret.String       `json:"token,omitempty"`
	AWS      *source.AWSKey      `json:"aws,omitempty"`
	GCP      *source.GCPKey      `json:"gcp,omitempty"`
	Azure    *source.AzureClient `json:"azure,omitempty"`
	GitHub   *source.GitHubApp   `json:"github,omitempty"`
	TLS      TLS                 `json:"tls,omitzero"`

	// PassCredentials sends the credentials of a chart repository to other hosts that its index names, as helm --pass-credentials does.
	PassCredentials bool `json:"passCredentials,omitempty"`

	Exec *source.CredentialHelper `json:"-"`
	File *source.RenewedFile      `json:"-"`
}

// TLS has the trusted certificates and the client certificate. Unless Enabled, the rest has no effect.
type TLS struct {
	CA                 string        `json:"ca,omitempty"`
	Certificate        string        `json:"certificate,omitempty"`
	Enabled            bool          `json:"enabled,omitempty"`
	InsecureSkipVerify bool          `json:"insecureSkipVerify,omitempty"`
	Key                secret.String `json:"key,omitempty"`
}

// Kind returns the type, derived from the credentials if none is written.
func (a *Auth) Kind() Type {
	switch {
	case a.Type != "":
		return a.Type
	case a.Exec != nil:
		return Exec
	case a.File != nil:
		return File
	case a.Token != "":
		return Token
	case a.Username != "" || a.Password != "":
		return Basic
	default:
		return NoAuth
	}
}

// Secret is a secret field of an Auth.
type Secret struct {
	Field string // its JSON path
	Type  Type   // to which it belongs; "" for the key of the client certificate
	Value *secret.String
}

// Secrets returns all secrets that a can have, whatever its type is, without those of members that it does not have.
func (a *Auth) Secrets() []Secret {
	all := []Secret{{"auth.password", Basic, &a.Password}, {"auth.token", Token, &a.Token}, {"auth.tls.key", "", &a.TLS.Key}}
	if a.AWS != nil {
		all = append(all, Secret{"auth.aws.secretKey", ECR, &a.AWS.SecretKey}, Secret{"auth.aws.sessionToken", ECR, &a.AWS.SessionToken})
	}
	if a.GCP != nil {
		all = append(all, Secret{"auth.gcp.serviceAccount", GCP, &a.GCP.ServiceAccount})
	}
	if a.Azure != nil {
		all = append(all, Secret{"auth.azure.clientSecret", Azure, &a.Azure.ClientSecret})
	}
	if a.GitHub != nil {
		all = append(all, Secret{"auth.github.privateKey", GitHub, &a.GitHub.PrivateKey})
	}
	return all
}

// Clone returns a copy that shares nothing with a.
func (a *Auth) Clone() *Auth {
	c := *a
	c.AWS, c.GCP, c.Azure, c.GitHub = clone(a.AWS), clone(a.GCP), clone(a.Azure), clone(a.GitHub)
	c.Exec, c.File = clone(a.Exec), clone(a.File)
	return &c
}

func clone[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}

// member is a part of auth that belongs to one type.
type member struct {
	name     string
	kind     Type
	given    bool
	settings source.Settings
}

func (a *Auth) members() []member {
	return []member{{"aws", ECR, a.AWS != nil, a.AWS}, {"gcp", GCP, a.GCP != nil, a.GCP}, {"azure", Azure, a.Azure != nil, a.Azure},
		{"github", GitHub, a.GitHub != nil, a.GitHub}, {"exec", Exec, a.Exec != nil, a.Exec}, {"file", File, a.File != nil, a.File}}
}

// IsObtained reports whether a check obtains the credentials.
func (t Type) IsObtained() bool {
	return t.IsLocal() || slices.Contains([]Type{ECR, GCP, Azure, GitHub}, t)
}

// IsLocal reports whether a check obtains the credentials on the machine, for any registry.
func (t Type) IsLocal() bool { return t == Exec || t == File }

// ObtainedBy returns the type with which credentials for the registry of an endpoint can be obtained, "" if there is none.
func ObtainedBy(written string) Type {
	base, problem := endpoint.Read(written)
	for _, m := range new(Auth).members() {
		if problem == "" && m.settings.Serves(base.Host) {
			return m.kind
		}
	}
	return ""
}
