package api

import (
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// OCIRegistryRequest is the body that stores or replaces a registry definition.
type OCIRegistryRequest struct {
	Metadata OCIRegistryName        `json:"metadata"`
	Spec     OCIRegistryRequestSpec `json:"spec"`
}

// OCIRegistryName is the metadata of a registry to be stored. Public clients send more, which is ignored.
type OCIRegistryName struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	Labels      map[string]string `json:"labels"`
}

// OCIRegistryDefinition is a definition to validate, with fields that only this service uses.
type OCIRegistryDefinition struct {
	regcheck.Definition
	RegistryUID string `json:"registryUid,omitempty"` // of the stored registry whose secrets are used
	Scope       string `json:"scope,omitempty"`
}

// OCIRegistryRequestSpec is a definition and how it is used.
type OCIRegistryRequestSpec struct {
	OCIRegistryDefinition
	IsSyncSupported         bool `json:"isSyncSupported"`
	ContainsSpectroManifest bool `json:"containsSpectroManifest"`
	IsPrivate               bool `json:"isPrivate"`
}

// OCIRegistry is the response of PathOCIRegistry. Spec and Status are always present: public clients dereference them.
type OCIRegistry struct {
	Metadata OCIRegistryMetadata `json:"metadata"`
	Spec     OCIRegistrySpec     `json:"spec"`
	Status   OCIRegistryStatus   `json:"status"`
}

// OCIRegistryMetadata is the metadata of a stored registry.
type OCIRegistryMetadata struct {
	UID                   string            `json:"uid"`
	Name                  string            `json:"name"`
	CreationTimestamp     time.Time         `json:"creationTimestamp"`
	LastModifiedTimestamp time.Time         `json:"lastModifiedTimestamp"`
	Annotations           map[string]string `json:"annotations,omitempty"`
	Labels                map[string]string `json:"labels,omitempty"`
	Origin                string            `json:"origin,omitempty"` // cluster/namespace/kind/name of the object that it is read from
}

// OCIRegistrySpec is the definition exactly as it was sent, except that stored secrets are masked. ProviderType, Scope and the type of
// Auth have their defaults if they were not sent: "helm", "tenant", and the type that follows from the credentials.
type OCIRegistrySpec struct {
	Kind                    string          `json:"kind,omitempty"` // "chartRepository"; empty for an OCI registry
	Endpoint                string          `json:"endpoint"`
	ProviderType            string          `json:"providerType"`
	BasePath                string          `json:"basePath,omitempty"`
	BaseContentPath         string          `json:"baseContentPath,omitempty"`
	References              []string        `json:"references,omitempty"`
	Scope                   string          `json:"scope"`
	IsSyncSupported         bool            `json:"isSyncSupported"`
	ContainsSpectroManifest bool            `json:"containsSpectroManifest"`
	IsPrivate               bool            `json:"isPrivate"`
	Auth                    OCIRegistryAuth `json:"auth"`
}

// OCIRegistryAuth has the credentials of a stored registry. TLS is always present: old public clients dereference it.
type OCIRegistryAuth struct {
	Type     string                `json:"type"`
	Username string                `json:"username,omitempty"`
	Password secret.String         `json:"password,omitempty"`
	Token    secret.String         `json:"token,omitempty"`
	AWS      *regcheck.AWSKey      `json:"aws,omitempty"`
	GCP      *regcheck.GCPKey      `json:"gcp,omitempty"`
	Azure    *regcheck.AzureClient `json:"azure,omitempty"`
	GitHub   *regcheck.GitHubApp   `json:"github,omitempty"`
	TLS      OCIRegistryTLS        `json:"tls"`

	PassCredentials bool `json:"passCredentials,omitempty"` // of a chart repository
}

// OCIRegistryTLS has the TLS settings of a stored registry.
type OCIRegistryTLS struct {
	Enabled            bool          `json:"enabled"`
	InsecureSkipVerify bool          `json:"insecureSkipVerify"`
	CA                 string        `json:"ca,omitempty"`
	Certificate        string        `json:"certificate,omitempty"`
	Key                secret.String `json:"key,omitempty"`
}

// OCIRegistryStatus has the status of the last synchronization, and the health.
type OCIRegistryStatus struct {
	SyncStatus SyncStatus     `json:"syncStatus"`
	Health     RegistryHealth `json:"health"`
}

// Words of RegistryHealth.State.
const (
	HealthHealthy = "healthy"
	HealthFailing = "failing"
	HealthUnknown = "unknown" // no check has counted yet, or the provider of the credentials is down
)

// RegistryHealth is the health of a stored registry. Values that are not known or do not apply are nil, and null in JSON.
type RegistryHealth struct {
	State                  string     `json:"state"`
	Since                  *time.Time `json:"since"` // of state and code
	Code                   *string    `json:"code"`
	Stage                  *string    `json:"stage"`
	Reason                 *string    `json:"reason"`
	Field                  *string    `json:"field"`
	Message                *string    `json:"message"`
	Hint                   *string    `json:"hint"`
	LastCheck              *time.Time `json:"lastCheck"`
	NextCheck              *time.Time `json:"nextCheck"`
	CertificateExpiresSoon bool       `json:"certificateExpiresSoon"`
	CredentialsExpireSoon  bool       `json:"credentialsExpireSoon"` // or they have expired
	CertificateNotAfter    *time.Time `json:"certificateNotAfter"`
	CredentialsNotAfter    *time.Time `json:"credentialsNotAfter"`
	Unconfirmed            bool       `json:"unconfirmed"` // the last check failed, maybe temporarily, and is repeated before it counts
}

// SyncStatus is Success, Failed, InProgress or Pending, or empty without synchronization: public clients treat any
// other word as an error.
type SyncStatus struct {
	IsSyncSupported bool      `json:"isSyncSupported"`
	Status          string    `json:"status"`
	Message         string    `json:"message"`
	LastRunTime     time.Time `json:"lastRunTime,omitzero"`
	LastSyncedTime  time.Time `json:"lastSyncedTime,omitzero"`
	Repositories    int64     `json:"repositories,omitzero"` // that the last finished synchronization found, as Tags; not in lists
	Tags            int64     `json:"tags,omitzero"`
}

// OCIRegistryEntity is the response of PathOCIRegistryOfAnyType: the type, "basic" or "ecr", and what the types have in common.
type OCIRegistryEntity struct {
	Type          string          `json:"type"`
	Endpoint      string          `json:"endpoint"`
	ProviderType  string          `json:"providerType"`
	Scope         string          `json:"scope"`
	DefaultRegion string          `json:"defaultRegion"` // of type ecr
	Auth          OCIRegistryAuth `json:"auth"`
}

// OCIRegistrySummaries is the response of PathOCIRegistrySummary. ListMeta is set if the query has name, health, sort, limit or continue;
// otherwise all registries are in Items.
type OCIRegistrySummaries struct {
	Items    []OCIRegistrySummary `json:"items"`
	ListMeta ListMeta             `json:"listmeta,omitzero"`
}

// RegistryHealthCounts is the response of PathOCIRegistryHealth: how many registries have each RegistryHealth.State, and the first expiry
// among their certificates and credentials.
type RegistryHealthCounts struct {
	Healthy int64 `json:"healthy"`
	Failing int64 `json:"failing"`
	Unknown int64 `json:"unknown"`

	CertificateNotAfter time.Time `json:"certificateNotAfter,omitzero"`
	CredentialsNotAfter time.Time `json:"credentialsNotAfter,omitzero"`
}

// OCIRegistrySummary is a stored registry in a list.
type OCIRegistrySummary struct {
	Metadata OCIRegistryMetadata      `json:"metadata"`
	Spec     OCIRegistrySummarySpec   `json:"spec"`
	Status   OCIRegistrySummaryStatus `json:"status"`
}

// OCIRegistrySummarySpec has the registry type, "basic" or "ecr", and in a search also "helm".
type OCIRegistrySummarySpec struct {
	RegistryType            string `json:"registryType"`
	DefaultRegion           string `json:"defaultRegion,omitempty"` // of type ecr
	Endpoint                string `json:"endpoint"`
	ProviderType            string `json:"providerType"`
	Scope                   string `json:"scope"`
	IsSyncSupported         bool   `json:"isSyncSupported"`
	ContainsSpectroManifest bool   `json:"containsSpectroManifest"`
	IsPrivate               bool   `json:"isPrivate"`
}

// OCIRegistrySummaryStatus has the contents of OCIRegistryStatus, the synchronization under another name.
type OCIRegistrySummaryStatus struct {
	Sync   SyncStatus     `json:"sync"`
	Health RegistryHealth `json:"health"`
}

// RequestedCheck is the response of PathOCIRegistryCheck without a report: the check has not ended, and Message is why.
type RequestedCheck struct {
	Message string `json:"message"`
}

// OCIRegistryImport is the body of PathOCIRegistryImport: definitions to store under names from their addresses.
// Places are optional: where each definition is from, such as "flux, apps.yaml:3", for the names of those with the same address.
type OCIRegistryImport struct {
	Items  []regcheck.Definition `json:"items"`
	Places []string              `json:"places,omitempty"`
}

// OCIRegistryImported is the response of PathOCIRegistryImport. It has the definitions in their order, up to one that failed.
type OCIRegistryImported struct {
	Items []ImportedRegistry `json:"items"`
}

// Words of ImportedRegistry.Result.
const (
	ImportStored   = "stored"
	ImportNew      = "new" // with dryRun
	ImportExists   = "exists"
	ImportNotValid = "notValid"
	ImportFailed   = "failed"
)

// ImportedRegistry is what happened to a definition: a word of Result, the name of its registry, and the reason if it was not stored.
type ImportedRegistry struct {
	Result string `json:"result"`
	Name   string `json:"name,omitempty"`
	UID    string `json:"uid,omitempty"`
	Detail string `json:"detail,omitempty"`

	DiffersFrom string `json:"differsFrom,omitempty"` // the name of a registry that is the same except for its secrets
}

// RegistryNames is the response of PathRegistryNames.
type RegistryNames struct {
	Items []RegistryName `json:"items"`
}

// RegistryName is one registry of any kind: "oci" or "helm". Scope is "tenant" if none was sent.
type RegistryName struct {
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Kind      string `json:"kind"`
	Scope     string `json:"scope"`
	IsDefault bool   `json:"isDefault"`
	IsPrivate bool   `json:"isPrivate"`
}

// NoRegistries is the response of PathPackRegistries and PathPackRegistrySummary. The list is always empty; public clients request it.
type NoRegistries struct {
	Items []struct{} `json:"items"`
}
