package console

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// definitionPaths has the JSON paths of the fields of a definition that are named differently in its form.
var definitionPaths = map[string]string{
	"auth.type": "authType", "auth.username": "username", "auth.password": "password", "auth.token": "token",
	"auth.tls.ca": "ca", "auth.tls.certificate": "certificate", "auth.tls.key": "key", "auth.tls.insecureSkipVerify": "insecureSkipVerify",
}

// definitionFields returns the fields of a form with a definition, which the template definition-fields shows. Secrets are
// left out. A definition with secrets is a stored one, whose secrets stay as they are unless others are entered.
func definitionFields(d regcheck.Definition) []field {
	var a regcheck.Auth
	if d.Auth != nil {
		a = *d.Auth
	}
	if !a.TLS.Enabled {
		a.TLS = regcheck.TLS{}
	}
	return []field{
		{Name: "endpoint", Label: "Endpoint", Value: d.Endpoint, Hint: "For example https://harbor.example.com", Required: true},
		{Name: "basePath", Label: "Base path", Value: d.BasePath, Hint: "Path of the API before /v2/, if it has one"},
		{Name: "baseContentPath", Label: "Content path", Value: d.BaseContentPath, Hint: "Repository or prefix of repositories that must be readable, or repository:tag"},
		{Name: "references", Label: "References", Type: "textarea", Value: strings.Join(d.References, "\n"), Hint: "repository:tag, one a line"},
		{Name: "providerType", Label: "Provider type", Type: "select", Value: string(d.ProviderType),
			Options: []option{{string(regcheck.Helm), "Helm"}, {string(regcheck.Zarf), "Zarf"}, {string(regcheck.Pack), "Pack"}}},
		{Name: "authType", Label: "Authentication", Type: "select", Value: string(a.Kind()),
			Options: []option{{string(regcheck.NoAuth), "None"}, {string(regcheck.Basic), "Basic"}, {string(regcheck.Token), "Token"}}},
		{Name: "username", Label: "Username", Value: a.Username},
		{Name: "password", Label: "Password", Type: "password", Hint: unchanged(a.Password)},
		{Name: "token", Label: "Token", Type: "password", Hint: unchanged(a.Token)},
		{Name: "ca", Label: "CA certificate", Type: "textarea", Value: a.TLS.CA, Hint: "PEM, trusted in addition to the certificates of the system"},
		{Name: "certificate", Label: "Client certificate", Type: "textarea", Value: a.TLS.Certificate, Hint: "PEM"},
		{Name: "key", Label: "Client key", Type: "textarea", Secret: true, Hint: unchanged(a.TLS.Key)},
		{Name: "insecureSkipVerify", Label: "Skip TLS verification", Type: "checkbox", Value: checked[a.TLS.InsecureSkipVerify], Hint: "Insecure: another server can then receive the credentials"},
	}
}

func unchanged(stored secret.String) string {
	if stored == "" {
		return ""
	}
	return "Leave empty to use the stored one."
}

// definition reads the definition that a form with definitionFields sent. Credentials of another authentication are left
// out: the page does not show their fields.
func (c *call) definition() regcheck.Definition {
	a := regcheck.Auth{Type: regcheck.AuthType(c.PostFormValue("authType")), TLS: regcheck.TLS{
		CA: c.text("ca"), Certificate: c.text("certificate"), Key: secret.String(c.text("key")),
		InsecureSkipVerify: c.PostFormValue("insecureSkipVerify") == "true",
	}}
	a.TLS.Enabled = a.TLS != regcheck.TLS{}
	if a.Type != regcheck.NoAuth {
		a.Username = c.PostFormValue("username")
	}
	if a.Type == regcheck.Basic {
		a.Password = secret.String(c.PostFormValue("password"))
	}
	if a.Type == regcheck.Token {
		a.Token = secret.String(c.PostFormValue("token"))
	}
	return regcheck.Definition{Endpoint: c.PostFormValue("endpoint"), BasePath: c.PostFormValue("basePath"), BaseContentPath: c.PostFormValue("baseContentPath"),
		References: strings.Fields(c.text("references")), ProviderType: regcheck.ProviderType(c.PostFormValue("providerType")), Auth: &a}
}

// text returns the value of a textarea, in which browsers end lines with CRLF.
func (c *call) text(name string) string {
	return strings.ReplaceAll(c.PostFormValue(name), "\r\n", "\n")
}

// inForm returns the fault of a definition with the names of its form instead of JSON paths, so that problems are shown at
// their fields.
func inForm(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(f.Fields) == 0 {
		return err
	}
	renamed := *f
	renamed.Fields = make([]fault.Field, len(f.Fields))
	for i, problem := range f.Fields {
		renamed.Fields[i] = fault.Field{Field: formName(problem.Field), Problem: inLabels(problem.Problem)}
	}
	return &renamed
}

// formName returns the name in the form of the field with a JSON path, also of a stored definition.
func formName(path string) string {
	path, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "spec."), "metadata."), "[") // references[0]
	if name, ok := definitionPaths[path]; ok {
		return name
	}
	return path
}

// definitionField returns a field of the form without a value.
func definitionField(name string) (field, error) {
	return newForm("", "", definitionFields(regcheck.Definition{})...).Field(name)
}

// fieldID returns the id of the field with a JSON path, empty if the form does not have it.
func fieldID(path string) string {
	f, err := definitionField(formName(path))
	if err != nil {
		return ""
	}
	return f.ID()
}

// optionLabel returns the label of an option of the form.
func optionLabel(name string, value any) (string, error) {
	f, err := definitionField(name)
	for _, o := range f.Options {
		if o.Value == fmt.Sprint(value) {
			return o.Label, err
		}
	}
	return fmt.Sprint(value), err
}

// inLabels returns a text about a definition with labels of the form instead of JSON paths.
func inLabels(text string) string { return pathLabels().Replace(text) }

var pathLabels = sync.OnceValue(func() *strings.Replacer {
	pairs := []string{" and auth.tls.enabled to true", ""} // the form has no such field: it follows from the others
	for _, f := range definitionFields(regcheck.Definition{}) {
		for path, name := range definitionPaths {
			if name == f.Name {
				pairs = append(pairs, path, f.Label)
			}
		}
		if strings.ToLower(f.Name) != f.Name { // "endpoint" may be the word
			pairs = append(pairs, f.Name, f.Label)
		}
	}
	return strings.NewReplacer(append(pairs, "auth.tls", "the TLS settings")...)
})
