package forms

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// Definition returns the fields of a form with a definition, which the template definition-fields shows. Secrets are left out. A
// definition with secrets is a stored one, whose secrets stay as they are unless others are entered.
func Definition(d regcheck.Definition) []Field {
	var a regcheck.Auth
	if d.Auth != nil {
		a = *d.Auth
	}
	if !a.TLS.Enabled {
		a.TLS = regcheck.TLS{}
	}
	return slices.Concat([]Field{
		{Name: "kind", Label: "Kind", Type: "select", Value: string(cmp.Or(d.Kind, regcheck.KindOCI)),
			Options: Options(string(regcheck.KindOCI), "OCI registry", string(regcheck.KindChartRepository), "Chart repository"),
			Hint:    "A chart repository is what helm repo add takes"},
		{Name: "endpoint", Label: "Endpoint", Value: d.Endpoint, Hint: "For example https://harbor.example.com", Required: true},
		{Name: "basePath", Label: "Base path", Value: d.BasePath, Hint: "Path of the API before /v2/. Empty: none"},
		{Name: "baseContentPath", Label: "Content path", Value: d.BaseContentPath,
			Hint: "Repository or prefix of repositories that must be readable, or repository:tag; " +
				"of a chart repository chart or chart:version. Empty: no repository has to be readable"},
		{Name: "references", Label: "References", Type: "textarea", Value: strings.Join(d.References, "\n"),
			Hint: "repository:tag or chart:version, one a line, that must be complete. Empty: none"},
		{Name: "providerType", Label: "Provider type", Type: "select", Value: string(cmp.Or(d.ProviderType, regcheck.Helm)),
			Options: Options(string(regcheck.Helm), "Helm", string(regcheck.Zarf), "Zarf", string(regcheck.Pack), "Pack")},
		{Name: "authType", Path: "auth.type", Label: "Authentication", Type: "select", Value: string(a.Kind()),
			Options: Options(string(regcheck.NoAuth), "None, without credentials", string(regcheck.Basic), "Basic",
				string(regcheck.Token), "Token",
				string(regcheck.ECR), "Amazon ECR, by an access key", string(regcheck.GCP), "Google Cloud, by a service account",
				string(regcheck.Azure), "Azure, by an application", string(regcheck.GitHub), "GitHub Packages, by an app")},
		{Name: "username", Path: "auth.username", Label: "Username", Value: a.Username, Types: types(regcheck.Basic, regcheck.Token)},
		{Name: "password", Path: "auth.password", Label: "Password", Type: "password", Hint: unchanged(a.Password),
			Types: types(regcheck.Basic)},
		{Name: "token", Path: "auth.token", Label: "Token", Type: "password", Hint: unchanged(a.Token), Types: types(regcheck.Token)},
		{Name: "passCredentials", Path: "auth.passCredentials", Label: "Send credentials to other hosts", Type: "checkbox",
			Value: Truth(a.PassCredentials), Hint: "Those that the index of a chart repository names, as helm --pass-credentials does",
			Types: types(regcheck.Basic, regcheck.Token)},
	}, append(obtainedWith(a), []Field{
		{Name: "ca", Path: "auth.tls.ca", Label: "CA certificate", Type: "textarea", File: true, Value: a.TLS.CA,
			Hint: "PEM, trusted in addition to the certificates of the system. Empty: only those"},
		{Name: "certificate", Path: "auth.tls.certificate", Label: "Client certificate", Type: "textarea", File: true,
			Value: a.TLS.Certificate, Hint: "PEM. Empty: no certificate is sent"},
		{Name: "key", Path: "auth.tls.key", Label: "Client key", Type: "textarea", Secret: true, File: true,
			Hint: unchanged(a.TLS.Key)},
		{Name: "insecureSkipVerify", Path: "auth.tls.insecureSkipVerify", Label: "Skip TLS verification", Type: "checkbox",
			Value: Truth(a.TLS.InsecureSkipVerify),
			Hint:  "Insecure: another server can then receive the credentials"},
	}...))
}

// Credentials returns the fields of the credentials of a, without its secrets, which must be entered.
func Credentials(a *regcheck.Auth) (fields []Field) {
	for _, f := range Definition(regcheck.Definition{Auth: a}) {
		if f.Name == "passCredentials" || !slices.Contains(strings.Fields(f.Types), types(a.Kind())) {
			continue
		}
		f.File = false
		if f.Hidden() {
			f.Hint = strings.TrimSpace(strings.TrimSuffix(f.Hint, unchanged("x")))
		}
		fields = append(fields, f)
	}
	return fields
}

func unchanged(stored secret.String) string {
	if stored == "" {
		return ""
	}
	return "Leave empty to use the stored one."
}

// ReadDefinition reads the definition that a form with the fields of Definition sent. Credentials of another authentication are left out:
// the page does not show their fields.
func ReadDefinition(sent Values) regcheck.Definition {
	a := regcheck.Auth{Type: regcheck.AuthType(sent.PostFormValue("authType")), TLS: regcheck.TLS{
		CA: textarea(sent, "ca"), Certificate: textarea(sent, "certificate"), Key: secret.String(textarea(sent, "key")),
		InsecureSkipVerify: sent.PostFormValue("insecureSkipVerify") == "true",
	}}
	a.TLS.Enabled = a.TLS != regcheck.TLS{}
	if a.Type != regcheck.NoAuth && !a.Type.IsObtained() {
		a.Username, a.PassCredentials = sent.PostFormValue("username"), sent.PostFormValue("passCredentials") == "true"
	}
	if a.Type == regcheck.Basic {
		a.Password = secret.String(sent.PostFormValue("password"))
	}
	if a.Type == regcheck.Token {
		a.Token = secret.String(sent.PostFormValue("token"))
	}
	readObtained(sent, &a)
	kind := regcheck.Kind(sent.PostFormValue("kind"))
	if kind == regcheck.KindOCI {
		kind = "" // as it is stored
	}
	return regcheck.Definition{Kind: kind, Endpoint: sent.PostFormValue("endpoint"), BasePath: sent.PostFormValue("basePath"),
		BaseContentPath: sent.PostFormValue("baseContentPath"), References: strings.Fields(textarea(sent, "references")),
		ProviderType: regcheck.ProviderType(sent.PostFormValue("providerType")), Auth: &a}
}

// textarea returns the value of a textarea, in which browsers end lines with CRLF.
func textarea(sent Values, name string) string {
	return strings.ReplaceAll(sent.PostFormValue(name), "\r\n", "\n")
}

// Audience reads the texts of the engine on pages: they name the fields of a definition as its form does.
var Audience = regcheck.Audience{Program: "regwarden", Field: Label}

// Label returns the label of the field of a definition with a JSON path. "enabled" of the TLS settings is not in the form: it follows from
// the others.
func Label(path string) string {
	list, entry, isEntry := strings.Cut(path, "[")
	field, known := ofDefinition(list)
	switch {
	case path == "auth.tls.enabled":
		return ""
	case path == "auth.tls":
		return "the TLS settings"
	case !known:
		return path
	case isEntry:
		return field.Label + ", " + part(entry)
	}
	return field.Label
}

// Labels returns the labels of fields of a stored registry, separated by commas.
func Labels(paths []string) string {
	labels := make([]string, len(paths))
	for i, path := range paths {
		labels[i] = cmp.Or(ofRegistry[path], Label(path))
	}
	return strings.Join(labels, ", ")
}

// ofRegistry has the labels of what a stored registry has and a definition has not.
var ofRegistry = map[string]string{"name": "Name", "isSyncSupported": "Synchronize content", "labels": "Labels",
	"annotations":      "Annotations",
	"auth.tls.enabled": "TLS settings", "isPrivate": "Private", "containsSpectroManifest": "Contains a Spectro manifest", "scope": "Scope"}

// FieldID returns the id of the field with a JSON path, empty if the form does not have it.
func FieldID(path string) string {
	path, _, _ = strings.Cut(path, "[") // references[0]
	if field, known := ofDefinition(path); known {
		return field.ID()
	}
	return ""
}

// ofDefinition returns the field of the form of a definition with a JSON path, without a value. That of an object is its first one.
func ofDefinition(path string) (Field, bool) {
	for _, f := range Definition(regcheck.Definition{}) {
		if f.path() == path || strings.HasPrefix(f.path(), path+".") && path != "auth.tls" {
			return f, true
		}
	}
	return Field{}, false
}

// OptionLabel returns the label of an option of the field with a JSON path.
func OptionLabel(path string, value any) string {
	f, _ := ofDefinition(path)
	for _, o := range f.Options {
		if o.Value == fmt.Sprint(value) {
			return o.Label
		}
	}
	return fmt.Sprint(value)
}
