// Package shapes converts registries between the domain and the shapes of the API, which has one for each kind of registries. Here is what
// the kinds have in common.
package shapes

import (
	"cmp"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/contentsync"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/regcheck"
)

func metadata(r registries.Registry) api.OCIRegistryMetadata {
	return api.OCIRegistryMetadata{UID: r.UID, Name: r.Name, CreationTimestamp: r.CreatedAt, LastModifiedTimestamp: r.UpdatedAt,
		Annotations: r.Annotations, Labels: r.Labels, Origin: r.Origin}
}

func status(r registries.Registry) api.OCIRegistryStatus {
	return api.OCIRegistryStatus{SyncStatus: Sync(contentsync.StatusOf(r.SyncSupported, r.Sync)), Health: health(r.Health)}
}

func summaryStatus(r registries.Summary) api.OCIRegistrySummaryStatus {
	return api.OCIRegistrySummaryStatus{Sync: Sync(contentsync.StatusOf(r.SyncSupported, r.Sync)), Health: health(r.Health)}
}

func summaryMetadata(r registries.Summary) api.OCIRegistryMetadata {
	return api.OCIRegistryMetadata{UID: r.UID, Name: r.Name, CreationTimestamp: r.CreatedAt, LastModifiedTimestamp: r.UpdatedAt}
}

// What was not sent is returned with its default: Terraform shows a missing value as a change.

func providerType(sent regcheck.ProviderType) string { return string(cmp.Or(sent, regcheck.Helm)) }

// Scope returns the scope of a registry.
func Scope(sent string) string { return cmp.Or(sent, "tenant") }

func auth(a regcheck.Auth) api.OCIRegistryAuth {
	return api.OCIRegistryAuth{Type: string(a.Kind()), Username: a.Username, Password: a.Password, Token: a.Token,
		AWS: a.AWS, GCP: a.GCP, Azure: a.Azure, GitHub: a.GitHub, TLS: *tls(a.TLS), PassCredentials: a.PassCredentials}
}

func tls(t regcheck.TLS) *api.OCIRegistryTLS {
	return &api.OCIRegistryTLS{Enabled: t.Enabled, InsecureSkipVerify: t.InsecureSkipVerify, CA: t.CA, Certificate: t.Certificate,
		Key: t.Key}
}

// Sync returns the state of a synchronization.
func Sync(s contentsync.Status) api.SyncStatus {
	return api.SyncStatus{IsSyncSupported: s.Supported, Status: string(s.Status), Message: s.Message, LastRunTime: s.LastRunAt,
		LastSyncedTime: s.LastEndedAt,
		Repositories:   s.Repositories, Tags: s.Tags}
}

// health returns the health of a registry.
func health(h watch.HealthStatus) api.RegistryHealth {
	v := &h.State
	return api.RegistryHealth{
		State: string(h.Word()), Since: orNull(&h.Since), Code: orNull(&v.Code), Stage: orNull(&v.Stage), Reason: orNull(&v.Reason),
		Field:   orNull(&v.Field),
		Message: orNull(&v.Message), Hint: orNull(&v.Hint), LastCheck: orNull(&h.LastAt), NextCheck: orNull(&h.NextAt),
		CertificateExpiresSoon: v.CertificateExpiresSoon, CredentialsExpireSoon: v.CredentialsExpireSoon, Unconfirmed: h.Unconfirmed,
		CertificateNotAfter: orNull(&v.CertificateNotAfter), CredentialsNotAfter: orNull(&v.CredentialsNotAfter)}
}

// orNull returns nil, which is null in JSON, for the zero value.
func orNull[T comparable](value *T) *T {
	var zero T
	if *value == zero {
		return nil
	}
	return value
}
