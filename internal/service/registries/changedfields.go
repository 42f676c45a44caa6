package registries

import (
	"cmp"
	"maps"
	"slices"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// changedFields returns the names of the fields in which a registry differs from what is stored, for the audit record. Secrets that could
// not be decrypted count as changed if there are others now. A default that is written is the same as one that is not.
func changedFields(old, now store.Registry) (fields []string) {
	helm := string(regcheck.Helm)
	for _, field := range []struct {
		name string
		same bool
	}{
		{"name", old.Name == now.Name}, {"kind", old.Kind == now.Kind}, {"endpoint", old.Endpoint == now.Endpoint},
		{"basePath", old.BasePath == now.BasePath},
		{"baseContentPath", old.BaseContentPath == now.BaseContentPath}, {"references", slices.Equal(old.References, now.References)},
		{"providerType", cmp.Or(old.ProviderType, helm) == cmp.Or(now.ProviderType, helm)},
		{"auth.type", masked(old).Auth.Kind() == definitionOf(now).Auth.Kind()},
		{"auth.username", old.Username == now.Username}, {"auth.tls.enabled", old.TLSEnabled == now.TLSEnabled},
		{"auth.tls.ca", old.CA == now.CA}, {"auth.tls.certificate", old.Certificate == now.Certificate},
		{"auth.tls.key", old.Secrets.Key == now.Secrets.Key}, {"auth.tls.insecureSkipVerify", old.TLSSkipVerify == now.TLSSkipVerify},
		{"isSyncSupported", old.SyncSupported == now.SyncSupported}, {"isPrivate", old.Private == now.Private},
		{"containsSpectroManifest", old.SpectroManifest == now.SpectroManifest},
		{"scope", cmp.Or(old.Scope, "tenant") == cmp.Or(now.Scope, "tenant")},
		{"labels", maps.Equal(old.Labels, now.Labels)}, {"annotations", maps.Equal(old.Annotations, now.Annotations)},
	} {
		if !field.same {
			fields = append(fields, field.name)
		}
	}
	before, after := credentialFields(old), credentialFields(now)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			fields = append(fields, name)
		}
	}
	return fields
}

// credentialFields returns the fields of the credentials of a registry with their values, without those that are empty.
func credentialFields(r store.Registry) map[string]secret.String {
	a := &regcheck.Auth{Type: regcheck.AuthType(r.AuthType)}
	restore(a, r.AuthSettings, r.Secrets.Password, r.Secrets.Token)
	fields := map[string]secret.String{}
	for _, s := range a.Secrets() {
		if *s.Value != "" {
			fields[s.Field] = *s.Value
		}
	}
	for name, value := range r.AuthSettings {
		fields["auth."+memberOf[a.Type]+name] = secret.String(value)
	}
	return fields
}

// memberOf is the member of auth that has the settings of a type. Those of other types are in auth itself.
var memberOf = map[regcheck.AuthType]string{
	regcheck.ECR: "aws.", regcheck.GCP: "gcp.", regcheck.Azure: "azure.", regcheck.GitHub: "github.",
}
