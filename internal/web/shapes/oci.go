package shapes

import (
	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/regcheck"
)

// OCIInput returns what a request stores. All kinds of registries can be stored in this shape.
func OCIInput(sent *api.OCIRegistryRequest) registries.RegistryInput {
	return registries.RegistryInput{
		Name: sent.Metadata.Name, Annotations: sent.Metadata.Annotations, Labels: sent.Metadata.Labels, Definition: sent.Spec.Definition,
		Scope: sent.Spec.Scope, SyncSupported: sent.Spec.IsSyncSupported, SpectroManifest: sent.Spec.ContainsSpectroManifest,
		Private: sent.Spec.IsPrivate,
	}
}

// OCI returns a stored registry of any kind.
func OCI(r registries.Registry) api.OCIRegistry {
	d := r.Definition
	return api.OCIRegistry{Metadata: metadata(r), Status: status(r), Spec: api.OCIRegistrySpec{
		Kind: string(d.Kind), Endpoint: d.Endpoint, ProviderType: providerType(d.ProviderType), BasePath: d.BasePath,
		BaseContentPath: d.BaseContentPath, References: d.References, Scope: Scope(r.Scope), IsSyncSupported: r.SyncSupported,
		ContainsSpectroManifest: r.SpectroManifest, IsPrivate: r.Private, Auth: auth(*d.Auth),
	}}
}

// OCIEntity returns what the types of OCI registries have in common.
func OCIEntity(r registries.Registry) api.OCIRegistryEntity {
	d := r.Definition
	return api.OCIRegistryEntity{Type: registryType(r.Kind), Endpoint: d.Endpoint, ProviderType: providerType(d.ProviderType),
		Scope: Scope(r.Scope), DefaultRegion: region(r.Kind, d.Endpoint), Auth: auth(*d.Auth)}
}

// registryType returns the type of a registry in lists.
func registryType(kind registries.Kind) string {
	if kind == registries.AnyKind {
		return "basic"
	}
	return string(kind)
}

// region returns the region of a registry of Amazon, "" for others.
func region(kind registries.Kind, endpoint string) string {
	if kind != registries.ECRKind {
		return ""
	}
	return new(regcheck.AWSKey).Region(endpoint)
}

// OCISummary returns a registry of any kind in a list.
func OCISummary(r registries.Summary) api.OCIRegistrySummary {
	kind := registries.Kind(r.Kind)
	return api.OCIRegistrySummary{Metadata: summaryMetadata(r), Status: summaryStatus(r),
		Spec: api.OCIRegistrySummarySpec{RegistryType: registryType(kind), DefaultRegion: region(kind, r.Endpoint), Endpoint: r.Endpoint,
			ProviderType: providerType(regcheck.ProviderType(r.ProviderType)), Scope: Scope(r.Scope),
			IsSyncSupported: r.SyncSupported, ContainsSpectroManifest: r.SpectroManifest, IsPrivate: r.Private}}
}
