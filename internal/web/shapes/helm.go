package shapes

import (
	"cmp"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/regcheck"
)

// HelmRequest is an api.HelmRegistryRequest that has which members of auth were sent.
type HelmRequest struct {
	api.HelmRegistryRequest
	Spec helmRequestSpec `json:"spec"`
}

type helmRequestSpec struct {
	api.HelmRegistryRequestSpec
	Auth *helmAuth `json:"auth"`
}

// helmAuth has the members that Terraform's provider does not know, nil if they were not sent.
type helmAuth struct {
	regcheck.Auth
	TLS             *regcheck.TLS `json:"tls"`
	PassCredentials *bool         `json:"passCredentials"`
}

// HelmInput returns what a request stores.
func HelmInput(sent *HelmRequest) registries.RegistryInput {
	s := &sent.Spec
	return registries.RegistryInput{
		Kind: registries.HelmKind, Name: cmp.Or(sent.Metadata.Name, s.Name), Annotations: sent.Metadata.Annotations,
		Labels: sent.Metadata.Labels, Definition: s.over(regcheck.Definition{Auth: &regcheck.Auth{}}), Over: s.over, Scope: s.Scope,
		Private: s.IsPrivate, SyncSupported: true, // which this shape cannot say
		SkipSync: s.CreateOption != nil && s.CreateOption.SkipSync,
	}
}

// over returns the definition that was sent, with what this shape does not have from another one.
func (s *helmRequestSpec) over(d regcheck.Definition) regcheck.Definition {
	stored := d.Auth
	d.Kind, d.Endpoint, d.Auth = regcheck.KindChartRepository, s.Endpoint, nil
	if s.Auth == nil {
		return d
	}
	d.Auth = s.Auth.Clone()
	d.Auth.TLS, d.Auth.PassCredentials = stored.TLS, stored.PassCredentials
	if s.Auth.TLS != nil {
		d.Auth.TLS = *s.Auth.TLS
	}
	if s.Auth.PassCredentials != nil {
		d.Auth.PassCredentials = *s.Auth.PassCredentials
	}
	return d
}

// HelmDefinition returns the definition that a spec describes.
func HelmDefinition(s *api.HelmRegistryDefinition) registries.SentDefinition {
	return registries.SentDefinition{RegistryUID: s.RegistryUID, Scope: s.Scope,
		Definition: regcheck.Definition{Kind: regcheck.KindChartRepository, Endpoint: s.Endpoint, Auth: s.Auth}}
}

// HelmCharts returns the charts that must be readable for a repository to be stored, as references of its definition.
func HelmCharts(option *api.HelmCreateOption) (references []string) {
	if option == nil {
		return nil
	}
	for _, chart := range option.Charts {
		references = append(references, chart.Name+":"+chart.Version)
	}
	return references
}

// Helm returns a stored chart repository.
func Helm(r registries.Registry) api.HelmRegistry {
	s := status(r)
	return api.HelmRegistry{Metadata: metadata(r), Status: api.HelmRegistryStatus{HelmSyncStatus: s.SyncStatus, Health: s.Health},
		Spec: api.HelmRegistrySpec{Name: r.Name, Endpoint: r.Definition.Endpoint, IsPrivate: r.Private, Scope: Scope(r.Scope),
			Auth: auth(*r.Definition.Auth)}}
}

// HelmSummary returns a chart repository in a list.
func HelmSummary(r registries.Summary) api.HelmRegistrySummary {
	return api.HelmRegistrySummary{Metadata: summaryMetadata(r), Status: summaryStatus(r),
		Spec: api.HelmRegistrySummarySpec{Endpoint: r.Endpoint, IsPrivate: r.Private, Scope: Scope(r.Scope)}}
}
