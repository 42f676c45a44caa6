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
func Secrets(a *regcheck.Auth) []string {
	secrets := []string{a.Password.Reveal(), a.Token.Reveal(), a.TLS.Key.Reveal()}
	if a.AWS != nil {
		secrets = append(secrets, a.AWS.SecretKey.Reveal(), a.AWS.SessionToken.Reveal())
	}
	if a.GCP != nil {
		secrets = append(secrets, a.GCP.ServiceAccount.Reveal())
	}
	if a.Azure != nil {
		secrets = append(secrets, a.Azure.ClientSecret.Reveal())
	}
	if a.GitHub != nil {
		secrets = append(secrets, a.GitHub.PrivateKey.Reveal())
	}
	return secrets
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
