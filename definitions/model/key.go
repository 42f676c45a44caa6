package model

import (
	"encoding/json"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
)

// Key returns a text that two definitions share if they have the same registry, path, credentials and trust. It contains the secrets,
// and must not be shown.
func Key(d regcheck.Definition) string {
	a := *d.Auth
	a.Type = a.Kind()
	if !a.TLS.Enabled {
		a.TLS = regcheck.TLS{}
	}
	text, err := json.Marshal([]any{d.Kind, d.Registry(), strings.Trim(d.BaseContentPath, "/"), strings.Join(d.References, " "),
		d.ProviderType, a, Secrets(&a)})
	if err != nil {
		panic(err) // no type of a definition fails to marshal
	}
	return string(text)
}

// Secrets returns all secrets of a definition.
func Secrets(a *regcheck.Auth) (texts []string) {
	for _, s := range a.Secrets() {
		texts = append(texts, s.Value.Reveal())
	}
	return texts
}

// Address returns the host and the paths of a definition, with the scheme only if it is not https.
func Address(d regcheck.Definition) string {
	text := strings.TrimPrefix(d.Endpoint, "https://")
	for _, path := range []string{d.BasePath, d.BaseContentPath} {
		if path = strings.Trim(path, "/"); path != "" {
			text = strings.TrimRight(text, "/") + "/" + path
		}
	}
	return text
}
