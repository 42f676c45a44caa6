package api

import "github.com/regwarden/regwarden/regcheck"

// HelmRegistryRequest is the body that stores or replaces a chart repository.
type HelmRegistryRequest struct {
	Metadata OCIRegistryName         `json:"metadata"`
	Spec     HelmRegistryRequestSpec `json:"spec"`
}

// HelmRegistryRequestSpec describes a chart repository, a server with an index.yaml. CreateOption is for PathHelmRegistries alone.
type HelmRegistryRequestSpec struct {
	HelmRegistryDefinition
	CreateOption *HelmCreateOption `json:"createOption,omitempty"`
}

// HelmRegistryDefinition is a chart repository to validate.
type HelmRegistryDefinition struct {
	Endpoint    string         `json:"endpoint"`
	Auth        *regcheck.Auth `json:"auth"`
	IsPrivate   bool           `json:"isPrivate"`
	Name        string         `json:"name,omitempty"` // used if the metadata has none
	Scope       string         `json:"scope,omitempty"`
	RegistryUID string         `json:"registryUid,omitempty"` // of the stored registry whose secrets are used
}

// HelmCreateOption has what happens when a chart repository is stored. It is stored only if all Charts can be read.
type HelmCreateOption struct {
	SkipSync bool        `json:"skipSync,omitempty"`
	Charts   []HelmChart `json:"charts,omitempty"`
}

// HelmChart is a version of a chart.
type HelmChart struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// HelmRegistry is the response of PathHelmRegistry. Secrets are masked.
type HelmRegistry struct {
	Metadata OCIRegistryMetadata `json:"metadata"`
	Spec     HelmRegistrySpec    `json:"spec"`
	Status   HelmRegistryStatus  `json:"status"`
}

// HelmRegistrySpec is a stored chart repository.
type HelmRegistrySpec struct {
	Name      string          `json:"name"`
	Endpoint  string          `json:"endpoint"`
	IsPrivate bool            `json:"isPrivate"`
	Scope     string          `json:"scope"`
	Auth      OCIRegistryAuth `json:"auth"`
}

// HelmRegistryStatus has the contents of OCIRegistryStatus, the synchronization under another name.
type HelmRegistryStatus struct {
	HelmSyncStatus SyncStatus     `json:"helmSyncStatus"`
	Health         RegistryHealth `json:"health"`
}

// HelmRegistries is the response of PathHelmRegistries. It has all registries, whatever limit the query has: public clients never
// continue.
type HelmRegistries struct {
	Items    []HelmRegistry `json:"items"`
	ListMeta ListMeta       `json:"listmeta"`
}

// HelmRegistrySummaries is the response of PathHelmRegistrySummary.
type HelmRegistrySummaries struct {
	Items    []HelmRegistrySummary `json:"items"`
	ListMeta ListMeta              `json:"listmeta"`
}

// HelmRegistrySummary is a chart repository in a list.
type HelmRegistrySummary struct {
	Metadata OCIRegistryMetadata      `json:"metadata"`
	Spec     HelmRegistrySummarySpec  `json:"spec"`
	Status   OCIRegistrySummaryStatus `json:"status"`
}

// HelmRegistrySummarySpec has what a list shows of a chart repository.
type HelmRegistrySummarySpec struct {
	Endpoint  string `json:"endpoint"`
	IsPrivate bool   `json:"isPrivate"`
	Scope     string `json:"scope"`
}
