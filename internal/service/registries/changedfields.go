package registries

import (
	"maps"
	"slices"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// changedFields returns the names of the fields in which a registry differs from what is stored, for the audit record. Secrets that could
// not be decrypted count as changed if there are others now.
func changedFields(old, now store.Registry) (fields []string) {
	for _, field := range []struct {
		name string
		same bool
	}{
		{"name", old.Name == now.Name}, {"kind", old.Kind == now.Kind}, {"endpoint", old.Endpoint == now.Endpoint},
		{"basePath", old.BasePath == now.BasePath},
		{"baseContentPath", old.BaseContentPath == now.BaseContentPath}, {"references", slices.Equal(old.References, now.References)},
		{"providerType", old.ProviderType == now.ProviderType}, {"auth.type", old.AuthType == now.AuthType},
		{"auth.username", old.Username == now.Username}, {"auth.password", old.Secrets.Password == now.Secrets.Password},
		{"auth.passCredentials", old.AuthSettings["passCredentials"] == now.AuthSettings["passCredentials"]},
		{"auth.token", old.Secrets.Token == now.Secrets.Token}, {"auth.tls.enabled", old.TLSEnabled == now.TLSEnabled},
		{"auth.tls.ca", old.CA == now.CA}, {"auth.tls.certificate", old.Certificate == now.Certificate},
		{"auth.tls.key", old.Secrets.Key == now.Secrets.Key}, {"auth.tls.insecureSkipVerify", old.TLSSkipVerify == now.TLSSkipVerify},
		{"isSyncSupported", old.SyncSupported == now.SyncSupported}, {"isPrivate", old.Private == now.Private},
		{"containsSpectroManifest", old.SpectroManifest == now.SpectroManifest}, {"scope", old.Scope == now.Scope},
		{"labels", maps.Equal(old.Labels, now.Labels)}, {"annotations", maps.Equal(old.Annotations, now.Annotations)},
	} {
		if !field.same {
			fields = append(fields, field.name)
		}
	}
	return fields
}
