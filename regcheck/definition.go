package regcheck

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
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

// AuthType is how to authenticate to the registry.
type AuthType string

// Auth types; an empty one is derived from the credentials that are there.
const (
	NoAuth AuthType = "noAuth"
	Basic  AuthType = "basic"
	Token  AuthType = "token"
)

// Definition describes a registry as users write it. The zero value is not valid: Problems returns what is missing.
type Definition struct {
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
	TLS      TLS           `json:"tls,omitzero"`
}

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

// DefinitionError means that a definition cannot be checked. It lists all problems.
type DefinitionError struct {
	Problems []Problem `json:"problems"`
}

func (e *DefinitionError) Error() string {
	var text strings.Builder
	text.WriteString("definition is not valid")
	for _, p := range e.Problems {
		fmt.Fprintf(&text, "; %s: %s", p.Field, p.Problem)
	}
	return text.String()
}

// Registry returns the base URL of the API, as a Report has it, and "" if endpoint or basePath cannot be used.
func (d Definition) Registry() string {
	var p plan
	var found problems
	if p.readBase(d.Endpoint, d.BasePath, &found); len(found) > 0 {
		return ""
	}
	return p.base.String()
}

// Problems returns everything that prevents the definition from being checked, empty if nothing does.
func (d Definition) Problems() []Problem { _, problems := d.read(true); return problems }

// FileProblems is Problems for a file, which can have many definitions: a private key is recognized, but only the check parses it.
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
